"""How often tests repeat what is left to chance."""

import os

SHARE = "ROBOTID_TEST_SHARE"
"""Variable with the share of the repetitions that are run; all of them without it."""


def repetitions(full: int) -> int:
    """Return how often a test repeats: `full`, or the share that there is time for, at least 4."""
    return max(4, round(full * float(os.environ.get(SHARE, "1"))))
