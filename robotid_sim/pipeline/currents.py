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
from robotid_sim.pipeline.fitted_motion import use_positions
from robotid_sim.preprocess.adaptive import Adaptive

CONSTANTS_KEY = "torque_constants"
"""Key of an estimate file with the torque constants of its logs [N m/A or N/A]."""

NOTE = (
    "WARNING: torque constants are unknown; {} N m/A have their ratios from the log and their "
    "scale from the nominal model. Currents of the result do not depend on the scale"
)


def add_constants(
    logs: Logs, nominal: Robot, basis: BaseParameters, *others: Logs
) -> tuple[Logs, ...]:
    """Add torque constants to the logs of currents among `logs` and `others`; return all groups.

    The constants are estimated from the first log of currents. Raises `LogError` if that fails.
    """
    groups = (logs, *others)
    log = next((log for group in groups for log in group if log.is_in_amperes), None)
    if log is None:
        return groups
    motion = use_positions(Adaptive().tune(log, nominal))(log, nominal)
    estimate = estimate_constants_of_currents(motion, nominal, basis)
    if not estimate.success:
        raise LogError(
            f"the ratios of the torque constants are not identifiable ({estimate.message}); give "
            "torque_constant [N m/A] in a map"
        )
    return tuple(replace_constants(group, estimate.gains, estimate.std) for group in groups)


def replace_constants(logs: Logs, constants: Float1D, std: Float1D | None = None) -> Logs:
    """Convert logs of currents to torque by constants [N m/A or N/A], shape (n,); add a note.

    The note states the standard deviations of the ratios, too. Other logs are not changed.
    """
    if not any(log.is_in_amperes for log in logs):
        return logs
    errors = [""] * constants.size if std is None else [f" ± {s:.2g}" for s in std]
    note = NOTE.format(", ".join(f"{k:.4g}{e}" for k, e in zip(constants, errors, strict=True)))
    read = []
    for each in logs.whole().read:
        log, notes, recorded = each.log, each.notes, each.log.recorded_torques
        if log.is_in_amperes:
            notes = (*notes, note)
            log = replace(
                log,
                tau_meas=log.tau_meas * constants,
                recorded_torques=None if recorded is None else recorded * constants,
                torque_constant=constants,
            )
        read.append(ReadLog(log, each.name, notes))
    return replace(logs, read=tuple(read), long=None)


def read_constants(context: Mapping[str, Any], dof: int, name: str) -> Float1D | None:
    """Read the torque constants of an estimate file, shape (n,); None if it has none.

    Raises `FileFormatError` unless they are positive numbers, one per joint.
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
