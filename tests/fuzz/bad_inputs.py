"""A corpus of bad inputs, drawn from a seed: damaged files of every format, words, and folders."""

import random
from collections.abc import Iterator

from bad_input import BadInput, Study
from bad_logs import hdf5, tables
from bad_texts import configurations, json_files, robots
from bad_words import folders, words


def corpus(study: Study, seed: int) -> Iterator[BadInput]:
    """Yield the bad inputs of all families; the same for one seed."""
    for k, family in enumerate((robots, configurations, tables, hdf5, json_files, words, folders)):
        yield from family(study, random.Random(f"{seed} {k}"))
