"""Random streams by name: what one stage draws does not depend on what others draw."""

import zlib

import numpy as np


def named_stream(source: int | np.random.Generator, *names: str) -> np.random.Generator:
    """Return the child stream of a seed or generator, by name; `source` is not advanced.

    Parameters
    ----------
    source : int or numpy.random.Generator
        A seed, or a generator made by `default_rng`.
    *names : str
        Path of names, as in ``named_stream(seed, "control", "run 3")``.
    """
    if isinstance(source, np.random.Generator):
        sequence = source.bit_generator.seed_seq
        assert isinstance(sequence, np.random.SeedSequence)
    else:
        sequence = np.random.SeedSequence(source)
    keys = tuple(zlib.crc32(name.encode()) for name in names)
    child = np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, *keys))
    return np.random.default_rng(child)
