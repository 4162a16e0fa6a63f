"""What happens before anything else is loaded? Ctrl-C must end the run quietly from the very first moment."""

import os
import signal
from typing import NoReturn

INTERRUPTED = 130
signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))


def main() -> NoReturn:
    """The console script."""
    from agent.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
