"""Estimate a payload from logs without and with it, or drive gains with a known payload."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import OptionError
from robotid_sim.estimation.payload import (
    LOAD_SYMBOLS,
    PayloadEstimate,
    estimate_payload,
    payload_parameters,
)
from robotid_sim.estimation.torque_constants import TorqueConstants, estimate_torque_constants
from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config_tables import PayloadConfig
from robotid_sim.pipeline.fit_plan import EstimationConfig, PreprocessConfig, build_preprocessor
from robotid_sim.pipeline.identify import check_logs
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class PayloadResult:
    """The payload, or the drive gains for a known payload."""

    robot: str
    logs: Logs
    """The logs, with notes on their reading."""
    estimate: PayloadEstimate | TorqueConstants
    warning: str
    """Contradictions in the logs or to the known payload; empty if there are none."""

    @property
    def passed(self) -> bool:
        """Whether there is an estimate without warning."""
        return self.estimate.success and not self.warning

    def content(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""

        def numbers(values: Any) -> list[float | None]:
            return [float(v) if np.isfinite(v) else None for v in np.atleast_1d(values)]

        estimate = self.estimate
        if isinstance(estimate, PayloadEstimate):
            values: dict[str, Any] = {
                "message": estimate.message,
                "mass": numbers(estimate.mass)[0],
                "mass_std": numbers(estimate.mass_std)[0],
                "com": numbers(estimate.com),
                "com_std": numbers(estimate.com_std),
                "parameters": dict(zip(LOAD_SYMBOLS, numbers(estimate.phi), strict=True)),
                "parameters_std": dict(zip(LOAD_SYMBOLS, numbers(estimate.phi_std), strict=True)),
            }
        else:
            values = {
                "message": estimate.message,
                "joint_names": list(estimate.joint_names),
                "actual_over_assumed_gain": estimate.gains.tolist(),
                "std": estimate.std.tolist(),
                "shown": estimate.determined.tolist(),
            }
        content = {"robot": self.robot, "success": estimate.success, **values}
        return content | ({"warning": self.warning} if self.warning else {})


@one_blas_thread()
def payload(
    log: Logs | Log,
    loaded: Logs | Log,
    nominal: Robot,
    *,
    load: PayloadConfig | float | None = None,
    drive_gain_std: float | None = None,
    preprocessor: Preprocessor | str = "adaptive",
    joint_parameters: Sequence[str] = EstimationConfig().joint_parameters,
    force: bool = False,
) -> PayloadResult:
    """Estimate a payload from two logs, or the drive gains with a known payload.

    Parameters
    ----------
    log, loaded : Logs or Log
        Logs without and with the payload, of one robot cell; the motions may differ.
    nominal : Robot
        The nominal model.
    load : PayloadConfig or float, optional
        The known payload, or its mass [kg]: then the drive gains are estimated.
    drive_gain_std : float, optional
        Relative standard deviation of the drive gains.
    preprocessor : Preprocessor or str
        Computes motion and torque of a log.
    joint_parameters : sequence of str
        Estimated parameters of every joint, of Fv, Fc, Fo and Ia.
    force : bool
        Use logs that have an error.

    Returns
    -------
    result : PayloadResult
        The payload with standard deviations, or the drive gains.

    Raises
    ------
    LogError
        If a log is of another robot, has no torques, or has an error.
    OptionError
        If the known payload has no mass, or is given with `drive_gain_std`.
    """
    if isinstance(load, int | float):
        load = PayloadConfig(mass=load)
    if load is not None and not load.mass > 0.0:
        raise OptionError("a payload without mass determines no drive gain; give its mass")
    if load is not None and drive_gain_std is not None:
        raise OptionError("--load estimates the drive gains; remove --drive-gain-std")
    logs = Logs((*Logs.from_logs(log).read, *Logs.from_logs(loaded).read))
    logs.require_distinct()
    first, second = (each.require_torques() for each in logs)
    measured = first.torque_measured | second.torque_measured
    basis = base_parameters(nominal, tuple(joint_parameters), measured)
    warning = check_logs(logs.read, nominal, basis, refuse=not force).errors
    if isinstance(preprocessor, str):
        preprocessor = build_preprocessor(PreprocessConfig(name=preprocessor))
    unloaded, with_load = (
        preprocessor.tune(part, nominal)(part, nominal) for part in (first, second)
    )
    if load is None:
        gain_std = drive_gain_std or 0.0
        estimate = estimate_payload(unloaded, with_load, nominal, basis, gain_std=gain_std)
        return PayloadResult(nominal.name, logs, estimate, warning)
    phi: float | Float1D = load.mass
    if "com" in load.model_fields_set:
        xx, xy, yy, xz, yz, zz = load.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        phi = payload_parameters(nominal, load.mass, np.array(load.com), tensor)
    constants = estimate_torque_constants(unloaded, with_load, phi, nominal, basis)
    warning = "; ".join(filter(None, (warning, constants.load_warning)))
    return PayloadResult(nominal.name, logs, constants, warning)
