"""A long run of the skipping laws: `python -m tests.soak --cases 1000000 --seed 7`.

A case is one zone judged for one predicate in one float order, with exact, looser and forgotten facts. Each batch has a
seed of its own, which is printed when a law breaks; `--only SEED` repeats that batch.
"""

from __future__ import annotations

import argparse
import sys
import time

from tests.support.skipping_laws import check_seeded

BATCHES_APART = 1_000_003  # seeds of two runs do not overlap


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", type=int, help="one batch by its own seed")
    options = parser.parse_args(arguments)
    if options.only is not None:
        return 0 if _run_batch(options.only) is not None else 1

    print(f"soak: seed {options.seed}, {options.cases:,} cases", flush=True)
    started, shown, count, batch = time.monotonic(), 0.0, 0, 0
    while count < options.cases:
        checked = _run_batch(options.seed * BATCHES_APART + batch)
        if checked is None:
            return 1
        count, batch = count + checked, batch + 1
        if time.monotonic() - shown > 5:
            shown = time.monotonic()
            print(f"  {count:>11,} cases in {batch:,} batches, {shown - started:.0f} s", flush=True)
    print(f"soak: seed {options.seed}, {count:,} cases, all laws hold, {time.monotonic() - started:.0f} s")
    return 0


def _run_batch(seed: int) -> int | None:
    """The number of cases, or None if a law broke or something raised, which is reported."""
    try:
        return check_seeded(seed)
    except Exception as failure:
        print(f"\nsoak: broken in batch seed {seed}: {type(failure).__name__}: {failure}", file=sys.stderr)
        print(f"repeat with: python -m tests.soak --only {seed}", file=sys.stderr)
        return None


if __name__ == "__main__":
    sys.exit(main())
