"""Check whether a robot is physically consistent, and which parameters are identifiable."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import rms
from robotid_sim.dynamics.base_parameters import BaseParameters, light_joints, random_states
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.textbook_base import textbook_base
from robotid_sim.errors import MissingExtraError, RobotIdError
from robotid_sim.model.diagnosis import (
    BodyDiagnosis,
    RepairReport,
    diagnose,
    repair_report,
    summary,
)
from robotid_sim.model.perturb import unlikely_masses
from robotid_sim.model.plausibility import Fault, find_implausible
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.build_robot import build_basis, build_nominal, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.representation import public_value


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class RobotCheck:
    """Results of the check of a robot before a study."""

    robot: Robot
    """The robot of the file, physically consistent or not."""
    basis: BaseParameters
    bodies: Sequence[BodyDiagnosis]
    """Diagnosis of every movable body."""
    repaired: Robot | None
    """The nearest physically consistent robot, if requested."""
    repair: RepairReport | None
    """Changes by the repair."""
    unlikely_masses: Sequence[str] | None
    """Descriptions of masses that deviate from the nominal model; None without a nominal file."""
    implausible: Sequence[Fault]
    """Values that are implausible for the size of the robot, such as inertia in another unit."""
    prospect: Mapping[str, Any]
    """Reason for which a study would reject the robot (``refused``), else its assumptions."""

    @property
    def is_consistent(self) -> bool:
        """Whether every movable body is physically consistent."""
        return all(body.reason is None for body in self.bodies)

    @property
    def passed(self) -> bool:
        """Whether all bodies are physically consistent or repaired, so that a study can run."""
        possible = self.is_consistent or self.repaired is not None
        return possible and self.prospect["refused"] is None

    @property
    def finding(self) -> str:
        """Result for the bodies in one sentence."""
        before = ", before the repair" if self.repair is not None and not self.is_consistent else ""
        return "; ".join([summary(self.bodies) + before, *(f.finding for f in self.implausible)])

    def content(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        content = _report(self.robot, self.basis, self.bodies)
        content["implausible"] = [fault._asdict() for fault in self.implausible]
        if self.unlikely_masses is not None:
            content["unlikely_masses"] = list(self.unlikely_masses)
        if self.repair is not None:
            bodies = zip(self.robot.links, self.repair.distance.tolist(), strict=True)
            joints = zip(self.robot.joint_names, self.repair.torque.tolist(), strict=True)
            content["repair"] = {
                "metric": self.repair.metric,
                "distance": {link.name: distance for link, distance in bodies},
                "parameters": [
                    {"name": name, "before": before, "after": after}
                    for name, before, after in self.repair.changed
                ],
                "torque_change_relative": dict(joints),
            }
        return content | dict(self.prospect)


def check(
    robot: str | Path | Robot, config: StudyConfig | None = None, *, repair: bool | None = None
) -> RobotCheck:
    """Check physical consistency and identifiability of a robot, and whether a study can run.

    Parameters
    ----------
    robot : str, Path or Robot
        Catalog name, file, or a robot.
    config : StudyConfig, optional
        Settings of the robot, of the nominal model and of the study.
    repair : bool, optional
        Find the nearest physically consistent robot; by default as in the configuration.

    Returns
    -------
    check : RobotCheck
        Bodies, limits, base parameters, and reasons against a study.

    Raises
    ------
    UrdfError, UnknownNameError, OptionError
        If the robot is unknown, its file cannot be used, or a setting is invalid.
    """
    config = config or StudyConfig()
    repair = config.robot.repair if repair is None else repair
    read = build_robot(robot, config.robot.model_copy(update={"repair": False}), formal=True)
    nearest, report = None, None
    if repair:
        nearest, states = read.repair(), random_states(read)
        torque = joint_torque(read, *states)
        report = repair_report(read, nearest, joint_torque(nearest, *states) - torque, rms(torque))
    has_nominal, faults = config.nominal.file is not None, find_implausible(read)
    basis = None
    if faults:  # a wrong unit would cause all other findings
        refusal = "; ".join(f"{fault.finding}: {fault.remedy}" for fault in faults)
        prospect: dict[str, Any] = {"refused": refusal}
    else:
        try:
            setup = build_setup(robot, config, in_full=False)
            prospect = {"refused": None, "assumptions": setup.assumptions}
            basis = setup.basis  # of the nominal model: the plant has the same
        except MissingExtraError as error:  # no fault of the robot
            prospect = {"refused": None, "assumptions": [], "missing": str(error)}
        except RobotIdError as error:
            prospect = {"refused": str(error)}
    return RobotCheck(
        robot=read,
        basis=basis or build_basis(read, config),
        bodies=diagnose(read),
        repaired=nearest,
        repair=report,
        unlikely_masses=unlikely_masses(read, build_nominal(read, config)) if has_nominal else None,
        implausible=faults,
        prospect=prospect,
    )


def _report(robot: Robot, basis: BaseParameters, bodies: Sequence[BodyDiagnosis]) -> dict[str, Any]:
    links = [
        {
            "name": body.name,
            "consistent": body.reason is None,
            "reason": body.reason,
            "engine": body.engine,
            "mass": body.mass,
            "com": body.com.tolist(),
            "com_inside": body.com_inside,
            "principal_moments": body.moments.tolist(),
            "triangle_margin": body.triangle_margin,
            "pseudo_inertia_eigenvalues": body.pseudo_inertia.tolist(),
            "fused": [*link.fixed, *link.locked],
        }
        for link, body in zip(robot.links, bodies, strict=True)
    ]
    limits, friction = ("lower", "upper", "velocity", "acceleration"), ("Fv", "Fc", "Fo", "eps")
    joints = [
        {
            "name": joint.name,
            "unit": unit,
            **{name: getattr(joint, name) for name in limits},
            "effort": joint.effort if np.isfinite(joint.effort) else None,
            **{name: getattr(joint.friction, name) for name in friction},
            "Ia": joint.rotor_inertia,
        }
        for joint, unit in zip(robot.joints, robot.joint_units, strict=True)
    ]
    groups = ("identifiable_alone", "in_combination", "not_identifiable")
    return {
        "robot": robot.name,
        "dof": robot.dof,
        "links": links,
        "joints": joints,
        "light_joints": light_joints(robot),
        "assumptions": list(robot.assumptions),
        "inertial_rank": basis.inertial_rank,
        "rank": basis.rank,
        "groupings": list(basis.groupings),
        "textbook_groupings": list(textbook_base(robot, basis).groupings),
        **{name: list(getattr(basis, name)) for name in groups},
        "negligible": list(basis.negligible),
    }
