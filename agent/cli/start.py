"""What happens before anything else is loaded? Ctrl-C must end the run quietly from the very first moment."""

import sys
from typing import NoReturn

INTERRUPTED = 130


def main() -> NoReturn:
    """The console script."""
    try:
        from agent.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    run()


if __name__ == "__main__":
    main()
