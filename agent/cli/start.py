"""What happens before anything else is loaded? Ctrl-C must end the run cleanly from the very first moment."""

import os
import signal
import sys
from typing import NoReturn

INTERRUPTED = 130
_WHY = "interrupted before anything began"


def _end(*_: object) -> NoReturn:
    """Say what happened, with nothing loaded yet that could: the object of `output.put_json_failure`, and a line."""
    try:
        os.write(2, b"ackonce: %s\n" % _WHY.encode())
        if "--json" in sys.argv:
            os.write(
                1, b'{"schema": 1, "op": null, "outcome": "not_sent", "message": "%s"}\n' % _WHY.encode()
            )
    finally:  # whoever listened may have gone
        os._exit(INTERRUPTED)


signal.signal(signal.SIGINT, _end)


def main() -> NoReturn:
    """The console script."""
    from agent.cli.main import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
