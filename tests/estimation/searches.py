"""Estimators for tests that do not need a search to end near its optimum."""

from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.problem import Estimator
from robotid_sim.estimation.swarm import SwarmEstimator

EVALUATIONS = 2000


def brief(name: str) -> Estimator:
    """Return a registered estimator; one that searches gets few evaluations."""
    searches = issubclass(ESTIMATORS[name], SwarmEstimator)
    return ESTIMATORS.build(name, **({"evaluations": EVALUATIONS} if searches else {}))
