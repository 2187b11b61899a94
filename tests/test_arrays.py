"""Read-only arrays: what is copied, and what need not be."""

import numpy as np
import pytest

from robotid_sim.arrays import readonly


def frozen(x):
    x.setflags(write=False)
    return x


def test_only_an_array_that_nobody_else_can_change_is_taken_as_it_is():
    mine = frozen(np.ones((3, 2)))
    assert readonly(mine, shape=(3, 2), name="x") is mine


@pytest.mark.parametrize(
    "theirs",
    [
        np.ones((3, 2)),
        frozen(np.ones((6, 2))[::2]),
        frozen(np.ones((2, 3)).T),
        frozen(np.ones((3, 2), order="F")),
        frozen(np.ones((3, 2), dtype=int)),
        np.broadcast_to(np.ones(2), (3, 2)),
        [[1.0, 1.0]] * 3,
    ],
)
def test_all_else_is_copied(theirs):
    array = readonly(theirs, shape=(3, 2), name="x")
    assert not np.shares_memory(array, np.asarray(theirs))
    assert array.flags.owndata
    assert array.flags.c_contiguous
    assert not array.flags.writeable
