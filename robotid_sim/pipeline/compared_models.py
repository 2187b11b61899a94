"""The models of a closed loop: identified, estimated, and estimated anew for every run."""

from collections.abc import Mapping, Sequence

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.model.robot import Robot
from robotid_sim.streams import named_stream
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.comparison import IDENTIFIED


def compared_models(
    identified: Robot,
    estimates: Sequence[Estimate],
    nominal: Robot,
    basis: BaseParameters,
    models: Mapping[str, Robot | None],
    refits: Mapping[str, Sequence[Estimate]] | None = None,
) -> dict[str, Robot | Sequence[Robot]]:
    """Return the models of a closed loop by name; see `closed_loop`.

    An estimate is taken as it is: its model has exactly the estimated base parameters, even where
    no rigid bodies can have them.

    None among the models stands for the estimate of that name. Estimators that draw have fits of
    the runs after the first, see `refits_of`: their list has a model for every run. Estimates that
    failed are left out.
    """
    by_name = {estimate.estimator: estimate for estimate in estimates}
    compared: dict[str, Robot | Sequence[Robot]] = {IDENTIFIED: identified}
    for name, model in models.items():
        if model is not None:
            compared[name] = model
        elif name in by_name and by_name[name].success:  # the estimates tell of a fit that failed
            more = (refits or {}).get(name, ())
            fits = [fit for fit in (by_name[name], *more) if fit.success]
            formal = [_formal(fit, nominal, basis) for fit in fits]
            every_run = len(more) > 0 and len(formal) == 1 + len(more)
            compared[name] = formal if every_run else formal[0]
    return compared


@one_blas_thread()
def refits_of(
    problem: LinearProblem,
    estimators: Mapping[str, Estimator],
    models: Mapping[str, Robot | None],
    runs: int,
    rng: np.random.Generator,
) -> dict[str, list[Estimate]]:
    """Return new fits for every run but the first, of the compared estimators that draw.

    None among the models stands for the estimate of that name; every run draws from a child of
    `rng`.
    """
    drawn = [name for name, model in models.items() if model is None and estimators[name].random]
    return {
        name: [
            estimators[name].fit(problem, named_stream(rng, f"run {run}")) for run in range(1, runs)
        ]
        for name in drawn
    }


def _formal(estimate: Estimate, nominal: Robot, basis: BaseParameters) -> Robot:
    phi = basis.completed(estimate.beta, nominal.parameters())
    return nominal.with_parameters(phi, formal=True)
