"""Estimation: problems, estimators, estimates, and the limit they are measured by."""

from robotid_sim.estimation.consistent import Consistent
from robotid_sim.estimation.estimator import Estimator
from robotid_sim.estimation.extended_kalman import ExtendedKalman
from robotid_sim.estimation.input_error import InputError
from robotid_sim.estimation.instrumental import InstrumentalVariables
from robotid_sim.estimation.least_squares import OrdinaryLeastSquares, WeightedLeastSquares
from robotid_sim.estimation.output_error import OutputError
from robotid_sim.estimation.recursive import RecursiveLeastSquares
from robotid_sim.estimation.restricted import NAME as RESTRICTED
from robotid_sim.estimation.restricted import RestrictedLeastSquares
from robotid_sim.estimation.robust import RobustLeastSquares
from robotid_sim.estimation.swarm import swarm_estimators, weighted_swarm
from robotid_sim.estimation.total_least_squares import TotalLeastSquares
from robotid_sim.optim.methods import OPTIMIZERS
from robotid_sim.registry import Registry

ESTIMATORS: Registry[Estimator] = Registry(
    "estimator",
    Estimator,
    {
        "consistent": Consistent,
        "extended-kalman": ExtendedKalman,
        "input-error": InputError,
        "instrumental-variables": InstrumentalVariables,
        "ols": OrdinaryLeastSquares,
        "output-error": OutputError,
        "recursive-least-squares": RecursiveLeastSquares,
        RESTRICTED: RestrictedLeastSquares,
        "robust": RobustLeastSquares,
        "total-least-squares": TotalLeastSquares,
        "wls": WeightedLeastSquares,
        **swarm_estimators(),
    },
)

OPTIMIZERS.follow(lambda name: ESTIMATORS.register(f"wls-{name}", weighted_swarm(name)))
