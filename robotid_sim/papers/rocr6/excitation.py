"""Excitation and verification: Fourier series of order 5 at 0.05 Hz, eq. (21)-(24)."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.fourier_space import FourierOptions
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.model.catalog import published_plant
from robotid_sim.model.robot import Robot
from robotid_sim.papers.rocr6.model import FRICTION, ROBOT, FirstThree
from robotid_sim.pipeline.nominal import perturbed_nominal
from robotid_sim.streams import Streams, named_stream
from robotid_sim.trajectory.fourier import FourierTrajectory

OPTIONS = FourierOptions(harmonics=5, period=20.0, periods=1)
SAMPLES = 2000
"""Samples of the identification, of the 20,000 that are recorded."""
CANDIDATES = 60
"""Random series, of which the best one is improved."""


def sample_times() -> Float1D:
    """Return the times of the samples that are used [s], shape (2000,)."""
    return np.asarray(np.arange(SAMPLES) * (OPTIONS.period / SAMPLES))


def nominal_six(seed: int) -> Robot:
    """Return what is known of the six joints before the identification."""
    return perturbed_nominal(published_plant(ROBOT), Streams(seed)("nominal"))


def design(joints: int, iterations: int, seed: int) -> dict[str, Any]:
    """Design the excitation of three or six joints, and draw a trajectory for the verification.

    The condition number of the observation matrix is minimized within position, velocity,
    acceleration and torque limits, eq. (24), by sequential quadratic programming as in fmincon;
    without iterations it is the best random series. Three joints have the parameters of Table 2,
    six those of a nominal model.
    """
    robot = FirstThree.from_catalog().robot if joints == 3 else nominal_six(seed)
    stream, criterion = f"{joints} joints", CRITERIA.build("condition-number")
    search = GradientSearch(
        starts=1 if iterations else 0, candidates=CANDIDATES, iterations=max(iterations, 1)
    )
    plan = DesignPlan(family=OPTIONS, criterion=criterion, search=search)
    rng = named_stream(seed, ROBOT, "design", stream)
    best = optimal_design(robot, base_parameters(robot, FRICTION), rng, plan)
    unseen = random_feasible(robot, named_stream(seed, ROBOT, "unseen", stream), OPTIONS)
    return {
        "excitation": best.trajectory.content(),
        "verification": unseen.content(),
        "condition_of_best_draw": float(np.exp(best.value_before)),
        "condition": float(np.exp(best.value_after)),
    }


def trajectory_of(content: Mapping[str, Any]) -> FourierTrajectory:
    """Return the trajectory of its JSON form."""
    return FourierTrajectory.of_content({k: v for k, v in content.items() if k != "family"})
