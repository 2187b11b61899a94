"""A small made-up log."""

import numpy as np
import pytest

from robotid_sim.measurement.log import Log, Truth

SAMPLES, JOINTS = 200, 3


@pytest.fixture
def log_values():
    """Everything that a log can hold, for three joints, one of them prismatic."""
    rng = np.random.default_rng(0)
    q, dq, ddq, tau, tau_cmd = rng.standard_normal((5, SAMPLES, JOINTS))
    return {
        "t": (np.arange(SAMPLES) - 50) * 1e-3,
        "q": q,
        "tau_meas": tau,
        "joint_names": ("base", "arm", "slide"),
        "joint_units": ("rad", "rad", "m"),
        "torque_time_offset": 3.75e-4,
        "period": 1.0 / 7.0,
        "dq": dq,
        "tau_cmd": tau_cmd,
        "seed": 12345678901,
        "truth": Truth(q + 0.1, dq, ddq, tau),
        "provenance": {"engine": "none", "substeps": 4, "nested": {"list": [1, 2.5, None]}},
    }


@pytest.fixture
def log(log_values):
    return Log(**log_values)
