"""Estimation: problems, estimators, estimates, and the bound of their accuracy."""

from typing import TYPE_CHECKING

from robotid_sim.optim.optimizer import OPTIMIZERS
from robotid_sim.registry import Alias, Registry

if TYPE_CHECKING:
    from robotid_sim.estimation.problem import Estimator

WLS_SWARM_PREFIX = "wls-"
"""Prefix of the names of swarms around weighted least squares, before the optimizer's name."""
POPULATION_OPTIONS = {name: {"population": 100} for name in ("pso", "rwpso")}


def find_swarm_alias(name: str) -> Alias | None:
    """Find the swarm estimator, with its options, that a published name means.

    ``wls-NAME`` is the optimizer of that name around weighted least squares, ``ls-pso`` a particle
    swarm around least squares with equal weights, and ``pso`` the same within physical bounds.
    """
    optimizer = name.removeprefix(WLS_SWARM_PREFIX)
    if optimizer != name and optimizer in OPTIMIZERS:
        options = {"optimizer": optimizer, "options": POPULATION_OPTIONS.get(optimizer, {})}
        return Alias("swarm", options)
    base = {"optimizer": "pso", "weights": "equal"}
    estimators = {"ls-pso": base, "pso": base | {"bounds": "physics"}}
    return Alias("swarm", estimators[name]) if name in estimators else None


ESTIMATORS: "Registry[Estimator]" = Registry(
    "estimator",
    "robotid_sim.estimation.problem:Estimator",
    {
        "consistent": "robotid_sim.estimation.consistent:Consistent",
        "extended-kalman": "robotid_sim.estimation.extended_kalman:ExtendedKalman",
        "input-error": "robotid_sim.estimation.output_error:InputError",
        "instrumental-variables": "robotid_sim.estimation.instrumental:InstrumentalVariables",
        "ols": "robotid_sim.estimation.least_squares:OrdinaryLeastSquares",
        "output-error": "robotid_sim.estimation.output_error:OutputError",
        "recursive-least-squares": "robotid_sim.estimation.recursive:RecursiveLeastSquares",
        "restricted-least-squares": "robotid_sim.estimation.restricted:RestrictedLeastSquares",
        "robust": "robotid_sim.estimation.robust:RobustLeastSquares",
        "swarm": "robotid_sim.estimation.swarm:SwarmEstimator",
        "total-least-squares": "robotid_sim.estimation.total_least_squares:TotalLeastSquares",
        "wls": "robotid_sim.estimation.least_squares:WeightedLeastSquares",
    },
    alias=find_swarm_alias,
)
