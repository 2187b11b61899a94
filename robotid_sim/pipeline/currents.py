"""Logs of motor currents without torque constants: ratios from the log, scale from the model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, readonly
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import FileFormatError, LogError, RobotIdError
from robotid_sim.estimation.torque_constants import estimate_constants_of_currents
from robotid_sim.importing.reading import Logs, ReadLog
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fitted_motion import smooth_positions
from robotid_sim.preprocess.adaptive import Adaptive

CONSTANTS_KEY = "torque_constants"
"""Key of an estimate file with the torque constants of its logs [N m/A or N/A]."""

NOTE = (
    "WARNING: torque constants are unknown; {} N m/A have their ratios from the log and their "
    "scale from the nominal model. Currents of the result do not depend on the scale"
)


def add_constants(logs: Logs, nominal: Robot, basis: BaseParameters, first: Logs) -> Logs:
    """Add torque constants to logs of currents; other logs are returned as they are.

    The constants are estimated from the first of the logs `first`. Raises `LogError` if that fails.
    """
    if not any(log.in_amperes for log in logs):
        return logs
    log = next(log for log in (*first, *logs) if log.in_amperes)
    motion = smooth_positions(Adaptive().tune(log, nominal))(log, nominal)
    estimate = estimate_constants_of_currents(motion, nominal, basis)
    if not estimate.success:
        raise LogError(
            f"the ratios of the torque constants are not identifiable ({estimate.message}); give "
            "torque_constant [N m/A] in a map"
        )
    return replace_constants(logs, estimate.gains)


def replace_constants(logs: Logs, constants: Float1D) -> Logs:
    """Give logs of currents torque constants [N m/A or N/A], shape (n,), with a note."""
    note = NOTE.format(" ".join(f"{value:.4g}" for value in constants))
    read = tuple(
        ReadLog(each.log.with_constants(constants), each.name, (*each.notes, note))
        if each.log.in_amperes
        else each
        for each in logs.whole().read
    )
    return replace(logs, read=read, long=None)


def read_constants(context: Mapping[str, Any], dof: int, name: str) -> Float1D | None:
    """Read the torque constants of an estimate file, shape (n,); None without any.

    Raises `FileFormatError` if they are no positive numbers, one per joint.
    """
    values = context.get(CONSTANTS_KEY)
    if values is None:
        return None
    try:
        constants = readonly(np.array(values, dtype=float), shape=(dof,), name=CONSTANTS_KEY)
    except (RobotIdError, TypeError, ValueError) as error:
        raise FileFormatError(f"{name}: {error}") from error
    if not (constants > 0.0).all():
        raise FileFormatError(f"{name}: '{CONSTANTS_KEY}' must be positive")
    return constants
