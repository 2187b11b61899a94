"""Compiled functions that are loaded before a study asks for them."""

import gc

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from robotid_sim.pipeline.build import build_setup, load_kernels
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.simulate import run_experiment


def compiled():
    """Return the names of our compiled functions with the types that they are compiled for.

    What a weak proxy stands for is not asked for its class: it may be gone.
    """
    return {
        (function.py_func.__module__, function.py_func.__name__, signature)
        for function in gc.get_objects()
        if issubclass(type(function), Dispatcher)
        and function.py_func.__module__.startswith("robotid")
        for signature in function.signatures
    }


@pytest.mark.slow
def test_experiment_and_filters_find_their_functions_loaded():
    setup = build_setup("irb140", StudyConfig().quick())
    load_kernels()
    before = compiled()
    assert {"smooth_steps", "kalman_filter"} <= {name for _, name, _ in before}
    log = run_experiment(setup.cell, setup.unseen, np.random.default_rng(0))
    setup.fit.preprocessor(log, setup.nominal)
    assert compiled() == before
