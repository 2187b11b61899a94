"""Causes named by the diagnosis, and false alarms, over robots, faults, presets and seeds.

Faults are injected into sound logs of 30 s with the default sensors, or sit in the plant: another
gravity, a load, friction of another law on one joint. Joints are drawn among those whose fault at
least doubles the model error of a weighted least-squares fit of the log (worst joint, against the
torque of the sound robot on the true motion); faults that the preprocessor repairs count on any.
A fault is `named` if its kind is, or a rival that is said to explain the log as well, with the
right joint; `alone` if nothing else is. Sound logs come from all presets of sensors; what a preset
injects on purpose, such as an offset or a delay, is no false alarm if it is called by its name.

Run as ``python bench/diagnosis.py [--seeds 5] [--sound 20] [--workers N]``.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pybullet_data

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation.design import torque_scale
from robotid_sim.experiment.cell import Cell
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.presets import PRESETS
from robotid_sim.measurement.sensors import measure
from robotid_sim.model import parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.friction_laws import (
    Asymmetric,
    FrictionLaw,
    LoadDependent,
    Stribeck,
    coefficients_of,
)
from robotid_sim.model.robot import Robot
from robotid_sim.parallel import map_tasks
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.study.build import build_basis, build_nominal, build_sensors
from robotid_sim.study.build_design import build_design
from robotid_sim.study.config import load_config
from robotid_sim.study.excitation import design
from robotid_sim.study.stages import simulate
from robotid_sim.threads import one_blas_thread
from robotid_sim.trajectory.reference import Excitation
from robotid_sim.validation.prediction import clean_log, exact_problem, rms

ROBOTS = ("irb140", "ur10", "twolink", "scara", "iiwa")
"""Of the catalog; of example-robot-data; of the catalog; with a prismatic joint; of 7 joints."""

LOADS = {"irb140": 5.0, "ur10": 6.0, "twolink": 6.0, "scara": 2.0, "iiwa": 6.0}
"""Mass of the load that the model does not know [kg]."""

LEVEL = 0.08
"""Least Coulomb friction of the robots, over the typical torque of the joint."""

STUDY = {
    "preset": "ideal",
    "design": {"candidates": 30, "iterations": 15, "starts": 1, "period": 10.0, "periods": 3},
}

LAWS: dict[str, FrictionLaw] = {
    "stribeck": Stribeck(static=1.6, velocity=0.15, prismatic_velocity=0.05),
    "asymmetric-friction": Asymmetric(coulomb=0.3, viscous=0.3),
    "load-dependent-friction": LoadDependent(share=0.1),
}

INJECTED = {
    "default": set(),
    "ideal": set(),
    "lab": {"torque-offset"},
    "industrial": {"torque-offset", "torque-scale", "torque-delay"},
    "harsh": {"torque-offset", "torque-scale", "torque-delay", "lost-samples", "torque-outliers"},
}
"""By preset: kinds of causes that it has on purpose."""


@dataclass(frozen=True, slots=True)
class OneJoint(FrictionLaw):
    """A friction law of one joint; the others have that of the model."""

    law: FrictionLaw
    joint: int

    def coefficients(self, robot: Robot) -> Float2D:
        """Return the coefficients; see `FrictionLaw`."""
        rows = coefficients_of(robot)
        rows[self.joint] = self.law.coefficients(robot)[self.joint]
        return rows


def robot_of(name: str) -> Robot:
    """Return a robot with friction and rotors on every joint."""
    match name:
        case "ur10":
            file = "cmeel.prefix/share/example-robot-data/robots/ur_description/urdf/ur10_robot.urdf"
            robot = Robot.from_urdf(str(distribution("example-robot-data").locate_file(file)))
        case "scara":
            robot = Robot.from_urdf(Path(__file__).parents[1] / "tests" / "data" / "scara.urdf")
        case "iiwa":
            robot = Robot.from_urdf(Path(pybullet_data.getDataPath()) / "kuka_iiwa" / "model.urdf")
        case _:
            robot = load_robot(name)
    phi, size = robot.parameters(), torque_scale(robot)
    for j in range(robot.dof):
        Fv, Fc, Fo, Ia = phi[parameters.joint_slice(j, robot.dof)]
        least = np.array([0.05, LEVEL, 0.0, 0.01]) * size[j]
        phi[parameters.joint_slice(j, robot.dof)] = np.maximum([Fv, Fc, Fo, Ia], least)
    return robot.with_parameters(phi)


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """A robot with its nominal model and its excitation."""

    plant: Robot
    nominal: Robot
    basis: BaseParameters
    path: Excitation

    @classmethod
    def of(cls, name: str) -> "Bench":
        """Return the bench of a robot, designed cheaply."""
        plant, config = robot_of(name), load_config(None, STUDY)
        nominal = build_nominal(plant, config)
        basis = build_basis(nominal, config)
        plan = build_design(nominal, basis, config)
        path = design(nominal, basis, plan, np.random.default_rng(0)).trajectories[0]
        return cls(plant, nominal, basis, path)

    def log(self, plant: Robot | None = None, friction: FrictionLaw | None = None) -> Log:
        """Return the log of an experiment without noise."""
        controller = ComputedTorque(self.nominal, 2500.0, 100.0)
        cell = Cell(plant=plant or self.plant, controller=controller, friction=friction)
        return clean_log(simulate(cell, self.path, np.random.default_rng(0)))

    def model_error(self, log: Log, sound: Log) -> float:
        """Return the model error of a fit of a log, worst joint, against the sound robot."""
        motion = RtsSmoother()(log, self.nominal)
        problem = build_problem(motion, self.nominal, self.basis)
        beta = WeightedLeastSquares().fit(problem, np.random.default_rng(0)).beta
        exact = exact_problem(sound, self.nominal, self.basis, 0.0)
        torque = exact.by_joint(exact.y)
        return float((rms(torque - exact.by_joint(exact.W @ beta)) / rms(torque)).max())
