"""What trajectories and logs that exist already say about the parameters of a new design."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.excitation.information import Prior, planned_information
from robotid_sim.excitation.plan import DesignPlan
from robotid_sim.measurement.files import load_log
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.trajectory.trajectory_files import load_trajectory

TRAJECTORY_SUFFIX = ".json"


def prior_of_files(
    paths: Sequence[Path], nominal: Robot, basis: BaseParameters, plan: DesignPlan
) -> Prior | None:
    """Return the information of trajectories and logs; None if there are none.

    A trajectory counts with the log that it will have; a log with its rows and their residuals.
    """
    if not paths:
        return None
    prior = Prior.none(basis.rank)
    for path in paths:
        prior = prior + _information(path, nominal, basis, plan)
    return prior


def _information(path: Path, nominal: Robot, basis: BaseParameters, plan: DesignPlan) -> Prior:
    if path.suffix == TRAJECTORY_SUFFIX:
        trajectories = [load_trajectory(path, nominal)]
        return planned_information(
            nominal, basis, trajectories, noise_std=plan.noise_std, dt=plan.dt
        )
    log = load_log(path).require_robot(nominal)
    preprocessor = RtsSmoother().tuned(log, nominal)
    problem = build_problem(preprocessor(log, nominal), nominal, basis)
    estimate = WeightedLeastSquares().fit(problem, np.random.default_rng(0))
    return Prior.of_rows(problem.W, estimate.noise_std)
