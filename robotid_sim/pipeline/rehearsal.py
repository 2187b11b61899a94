"""Rehearsal of a motion: planted parameters are identified from the log of the engine."""

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, linear_at
from robotid_sim.deployment.played_motion import PlayedMotion
from robotid_sim.deployment.target import Target
from robotid_sim.deployment.vendor_log import write_vendor_log
from robotid_sim.errors import InfeasibleError, OptionError
from robotid_sim.experiment.rollout import Cell
from robotid_sim.importing.import_map import ImportMap, JointMap
from robotid_sim.importing.importer import import_log
from robotid_sim.model.parameters import JOINT_COUNT, JOINT_SYMBOLS
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.simulate import clean_run, measure_clean_log
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.validation.fit_tests import nees_range

PLANTED_FRICTION = 0.1
"""Planted Coulomb and viscous friction, each over the peak torque of the joint."""

PLANTED_LOAD = 0.3
"""Planted payload over the mass of the last link with a mass."""

PEAK_CURRENT = 10.0
"""Current at the peak torque of a joint, which determines the planted torque constants [A]."""

FALSE_ALARM = 1e-3
"""Probability that a correct package is rejected."""


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Rehearsal:
    """Parameters that were planted in the engine, and parameters identified from its log.

    All arrays have shape (b,).
    """

    names: tuple[str, ...]
    planted: Float1D
    values: Float1D
    std: Float1D
    covered: Bool1D
    """Whether the 95 % interval of a base parameter contains the planted value."""
    nees: float
    """Normalized estimation error squared, per parameter."""
    max_nees: float
    """Largest value of `nees` that passes."""
    form: str
    """Format in which the log was written and read."""

    @property
    def worst(self) -> tuple[str, float]:
        """The base parameter with the largest error over its standard deviation."""
        z = np.abs(self.values - self.planted) / self.std
        k = int(z.argmax())
        return self.names[k], float(z[k])

    @property
    def passed(self) -> bool:
        """Whether the planted parameters are within their common confidence region."""
        return self.nees <= self.max_nees

    def content(self) -> dict[str, Any]:
        """Return the rehearsal as JSON values."""
        return {
            "passed": self.passed,
            "within_95_percent": int(self.covered.sum()),
            "base_parameters": len(self.names),
            "nees": self.nees,
            "max_nees": self.max_nees,
            "worst": self.worst[0],
            "worst_error_over_std": self.worst[1],
            "log": self.form,
        }


def rehearse(
    cell: Cell,
    nominal: Robot,
    target: Target,
    played: PlayedMotion,
    rng: np.random.Generator,
    progress: Progress = silent,
) -> Rehearsal:
    """Identify the plant of a cell from the log of the target's motion in the engine.

    The log is written in the form of the target's recorder and read by the importer.

    Raises `OptionError` if the rate of the cell is no multiple of that of the log, and
    `InfeasibleError` if the fit failed.
    """
    form = target.log
    stride = round(cell.rate / form.rate)
    if stride * form.rate != cell.rate:
        raise OptionError(
            f"experiment.rate is {cell.rate:g} Hz, no multiple of the {form.rate:g} Hz of the log "
            f"of {target.name}; remove that key"
        )
    clean = clean_run(cell, played, progress=progress)
    at_stamps = linear_at(clean.t, clean.action_times, clean.tau_meas)  # like a recorder
    clean = replace(clean, tau_meas=at_stamps, torque_time_offset=0.0)
    log = measure_clean_log(cell, clean.cut(slice(None, None, stride)), rng)
    constants = np.maximum(np.abs(log.tau_meas).max(axis=0), 1e-3) / PEAK_CURRENT
    entries = {}
    if "current" in form.columns:
        entries = {
            name: JointMap(torque_constant=float(constant))
            for name, constant in zip(nominal.joint_names, constants, strict=True)
        }
    with tempfile.TemporaryDirectory() as folder:
        file = write_vendor_log(log, target, Path(folder), constants)
        import_map = ImportMap(profile=target.profile, joints=entries)
        recorded = import_log([file], nominal, import_map).log
    progress("identify", 0.0)
    fit = identify(recorded, nominal)
    estimate = next((e for e in fit.estimates if e.unbiased and e.success), fit.chosen)
    intervals = fit.intervals(estimate)
    if intervals is None or estimate.cov is None:
        raise InfeasibleError("the fit of the rehearsal failed; design another motion")
    planted = fit.basis.project(cell.plant.parameters())
    error = estimate.beta - planted
    return Rehearsal(
        names=intervals.names,
        planted=planted,
        values=intervals.values,
        std=intervals.std,
        covered=intervals.covers(planted),
        nees=float(error @ np.linalg.solve(estimate.cov, error)) / len(error),
        max_nees=nees_range(fit.problem, estimate, 2.0 * FALSE_ALARM).upper,
        form=target.profile or form.form,
    )


def plant_changes(robot: Robot, played: PlayedMotion, torque: Float1D) -> Robot:
    """Add the planted friction and payload to a robot.

    Friction is a share of the peak `torque` of the joints [N m or N], shape (n,).
    """
    velocity = np.abs(np.diff(played.q, axis=0)).max(axis=0) / played.dt
    friction = np.zeros((robot.dof, JOINT_COUNT))
    friction[:, JOINT_SYMBOLS.index("Fc")] = PLANTED_FRICTION * torque
    friction[:, JOINT_SYMBOLS.index("Fv")] = PLANTED_FRICTION * torque / np.maximum(velocity, 1e-6)
    phi = np.array(robot.parameters())
    phi[-friction.size :] += friction.ravel()
    masses = [link.phi[0] for link in robot.links if link.phi[0] > 0.0]
    load = PLANTED_LOAD * masses[-1] if masses else 0.0
    return robot.with_parameters(phi, formal=True).with_payload(load)
