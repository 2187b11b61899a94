"""Random streams by name, so that the draws of one stage do not depend on other stages."""

import zlib
from dataclasses import dataclass

import numpy as np

from robotid_sim.docstrings import document_attributes


def make_stream(source: int | np.random.Generator, *names: str) -> np.random.Generator:
    """Make the child stream of a seed or generator, by name; `source` is not advanced.

    A generator must be made by `default_rng`; names are a path, as in ``make_stream(seed,
    "control", "run 3")``.
    """
    if isinstance(source, np.random.Generator):
        sequence = source.bit_generator.seed_seq
        assert isinstance(sequence, np.random.SeedSequence)
    else:
        sequence = np.random.SeedSequence(source)
    keys = tuple(zlib.crc32(name.encode()) for name in names)
    child = np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, *keys))
    return np.random.default_rng(child)


@document_attributes
@dataclass(frozen=True, slots=True)
class Streams:
    """Random generators of the stages of a study: children of one seed by the stage's name."""

    seed: int

    def __call__(self, stage: str) -> np.random.Generator:
        """Return the generator of a stage, at its start."""
        return make_stream(self.seed, stage)


def stream_of(rng: int | np.random.Generator, stage: str) -> np.random.Generator:
    """Return a generator unchanged, or the generator of a stage of a study with a seed."""
    return rng if isinstance(rng, np.random.Generator) else make_stream(rng, stage)
