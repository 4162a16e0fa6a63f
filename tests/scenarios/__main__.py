"""Play stories: `python -m tests.scenarios [--rewrite] [NAME...]`.

Without `--rewrite` the stories are printed as they went. With it their files are written anew, but for those in which
a word is not true by the device's own ledger: these are left as they are.
"""

import argparse
import sys

from tests.scenarios.runner import played
from tests.scenarios.story import FOLDER, StoryError, stories


def main() -> int:
    """Play what is asked for; 1 where a story could not be played or is not true."""
    parser = argparse.ArgumentParser(prog="python -m tests.scenarios", description="Play stories.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="The file's name; all stories where absent.")
    parser.add_argument("--rewrite", action="store_true", help="Write the expected parts anew.")
    asked = parser.parse_args()
    failed = False
    for path in [FOLDER / f"{name.removesuffix('.txt')}.txt" for name in asked.names] or stories():
        try:
            text = played(path)
        except (AssertionError, StoryError, OSError) as problem:
            print(f"{path.name}: {problem}", file=sys.stderr)
            failed = True
            continue
        if not asked.rewrite:
            print(text)
        elif text != path.read_text(encoding="utf-8"):
            path.write_text(text, encoding="utf-8")
            print(f"{path.name}: written anew")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
