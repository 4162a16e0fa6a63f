"""`python -m tests.mutants` hunts every deliberate fault and prints the table; `--rewrite` keeps it."""

import sys
from concurrent.futures import ThreadPoolExecutor

from tests.mutants.hunt import hunt
from tests.mutants.table import MUTANTS, rewrite, row

if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        rows = [row(mutant, caught) for mutant, caught in zip(MUTANTS, pool.map(hunt, MUTANTS), strict=True)]
    print("\n".join(rows))
    if "--rewrite" in sys.argv[1:]:
        rewrite(rows)
