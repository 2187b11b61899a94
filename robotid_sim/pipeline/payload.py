"""Estimate a payload from logs without and with it, or drive gains with a known payload."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.deployment.load_formats import LOAD_FORMATS, Load
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.errors import LogError, OptionError, UnknownNameError
from robotid_sim.estimation.payload import (
    LOAD_SYMBOLS,
    PayloadEstimate,
    estimate_payload,
    estimate_payload_of_log,
    payload_parameters,
)
from robotid_sim.estimation.torque_constants import TorqueConstants, estimate_torque_constants
from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.log import Log
from robotid_sim.model import inertia
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config_tables import PayloadConfig
from robotid_sim.pipeline.currents import add_constants, read_constants, replace_constants
from robotid_sim.pipeline.export import Format
from robotid_sim.pipeline.fit_plan import EstimationConfig, PreprocessConfig, build_preprocessor
from robotid_sim.pipeline.identify import check_logs
from robotid_sim.pipeline.predict import SavedEstimate
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import apply_saved_eps, apply_saved_gravity

CONTROLLERS = {"franka": Format.FRANKA, "kuka": Format.KUKA, "ros2": Format.ROS2, "ur": Format.UR}
"""Format of a load by the name of a controller."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class PayloadResult:
    """The payload, or the drive gains for a known payload."""

    nominal: Robot
    """The nominal model."""
    logs: Logs
    """The logs, with notes on their reading."""
    estimate: PayloadEstimate | TorqueConstants
    warning: str
    """Contradictions in the logs or to the known payload; empty if there are none."""

    @property
    def passed(self) -> bool:
        """Whether there is an estimate without warning."""
        return self.estimate.success and not self.warning

    @property
    def torque_constants(self) -> Float1D | None:
        """Torque constants from a known payload [N m/A], shape (n,); None without currents."""
        assumed = self.logs[0].torque_constant
        if not isinstance(self.estimate, TorqueConstants) or assumed is None:
            return None
        return np.asarray(self.estimate.gains * assumed)

    def format_for(self, name: str) -> str:
        """Return the payload in the form of a controller: ``ur``, ``franka``, ``kuka``, ``ros2``.

        Inertia that is not identifiable or not consistent is zero. Raises `UnknownNameError`
        for another controller, `OptionError` if mass or center of mass are not identifiable.
        """
        write, estimate = find_load_writer(name), self.estimate
        if not isinstance(estimate, PayloadEstimate) or not estimate.success:
            raise OptionError("there is no payload for a controller; remove --for")
        if not np.isfinite([estimate.mass, *estimate.com]).all():
            raise OptionError(
                "mass or center of mass are not identifiable; move more joints, or remove --for"
            )
        m, c = estimate.mass, estimate.com
        xx, xy, yy, xz, yz, zz = np.nan_to_num(estimate.phi[4:])
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        tensor -= m * (c @ c * np.eye(3) - np.outer(c, c))  # about the center of mass
        is_known = np.isfinite(estimate.phi).all()
        if not is_known or inertia.inconsistency(inertia.pack(m, c, tensor)):
            tensor = np.zeros((3, 3))
        return write(Load(m, c, tensor))

    def content(self, controller: str | None = None) -> dict[str, Any]:
        """Return the estimate as JSON values; with `controller`, also the payload in its form."""

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
            if (constants := self.torque_constants) is not None:
                values["torque_constants"] = constants.tolist()
        content = {"robot": self.nominal.name, "success": estimate.success, **values}
        if controller is not None:
            content["for_controller"] = self.format_for(controller)
        return content | ({"warning": self.warning} if self.warning else {})


def find_load_writer(controller: str) -> Callable[[Load], str]:
    """Find the writer of a load for a controller; raises `UnknownNameError` if there is none."""
    if controller not in CONTROLLERS:
        raise UnknownNameError.from_names("controller", controller, [*CONTROLLERS])
    return LOAD_FORMATS[CONTROLLERS[controller]]


@one_blas_thread()
def payload(
    log: Logs | Log | SavedEstimate | str | Path,
    loaded: Logs | Log,
    nominal: Robot,
    *,
    load: PayloadConfig | float | None = None,
    drive_gain_std: float | None = None,
    preprocessor: Preprocessor | str = "adaptive",
    joint_parameters: Sequence[str] = EstimationConfig().joint_parameters,
    force: bool = False,
) -> PayloadResult:
    """Estimate a payload from a log with it, and a log or an estimate of the arm without it.

    Parameters
    ----------
    log : Logs, Log, SavedEstimate, str or Path
        Log without the payload, or the estimate of the arm without it, also as its file.
    loaded : Logs or Log
        Log with the payload, of the same robot cell; the motions may differ.
    nominal : Robot
        The nominal model.
    load : PayloadConfig or float, optional
        The known payload, or its mass [kg]: then the drive gains are estimated from two logs.
    drive_gain_std : float, optional
        Relative standard deviation of the drive gains.
    preprocessor : Preprocessor or str
        Computes motion and torque of a log.
    joint_parameters : sequence of str
        Joint parameters that are estimated: some of Fv, Fc, Fo and Ia.
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
    FileFormatError
        If the estimate is of another robot, or failed.
    OptionError
        If the known payload has no mass, or is given with `drive_gain_std` or an estimate.
    """
    if isinstance(load, int | float):
        load = PayloadConfig(mass=load)
    if load is not None and not load.mass > 0.0:
        raise OptionError("a payload without mass determines no drive gain; give its mass")
    if load is not None and drive_gain_std is not None:
        raise OptionError("--load estimates the drive gains; remove --drive-gain-std")
    if isinstance(preprocessor, str):
        preprocessor = build_preprocessor(PreprocessConfig(name=preprocessor))
    gain_std = drive_gain_std or 0.0
    if isinstance(log, SavedEstimate | str | Path):
        if load is not None:
            raise OptionError("--load needs two logs: give the log without the load, no estimate")
        saved, logs = SavedEstimate.from_estimate(log), Logs.from_logs(loaded)
        nominal = apply_saved_gravity(nominal, saved.context)
        measured = saved.find_measured_joints(nominal) & logs[0].torque_measured
        if (constants := read_constants(saved.context, nominal.dof, saved.name)) is not None:
            logs = replace_constants(logs, constants)
    else:
        logs = Logs((*Logs.from_logs(log).read, *Logs.from_logs(loaded).read))
        logs.require_distinct()
        measured = np.any([each.require_torques().torque_measured for each in logs], axis=0)
    basis = base_parameters(nominal, tuple(joint_parameters), measured)
    if load is None and any(each.is_in_amperes for each in logs):
        raise LogError(
            "the torque constants are unknown and scale the payload; give torque_constant in a "
            "map, or estimate the constants with a known --load"
        )
    (logs,) = add_constants(logs, nominal, basis)
    warning = check_logs(logs.read, nominal, basis, refuse=not force).errors
    if len(logs) == 1:
        nominal = apply_saved_eps(nominal, saved.context)
        basis = base_parameters(nominal, tuple(joint_parameters), measured)
        arm = saved.select_robot(nominal, basis).chosen
        motion = preprocessor.tune(logs[0], nominal)(logs[0], nominal)
        estimate = estimate_payload_of_log(arm, motion, nominal, basis, gain_std=gain_std)
        return PayloadResult(nominal, logs, estimate, warning)
    unloaded, with_load = (preprocessor.tune(part, nominal)(part, nominal) for part in logs)
    if load is None:
        estimate = estimate_payload(unloaded, with_load, nominal, basis, gain_std=gain_std)
        return PayloadResult(nominal, logs, estimate, warning)
    phi: float | Float1D = load.mass
    if "com" in load.model_fields_set:
        xx, xy, yy, xz, yz, zz = load.inertia
        tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        phi = payload_parameters(nominal, load.mass, np.array(load.com), tensor)
    gains = estimate_torque_constants(unloaded, with_load, phi, nominal, basis)
    warning = "; ".join(filter(None, (warning, gains.load_warning)))
    return PayloadResult(nominal, logs, gains, warning)
