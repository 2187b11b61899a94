"""The models that the closed loop compares beside the true and the nominal one."""

from collections.abc import Mapping, Sequence

from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import OptionError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.estimation.swarm import SwarmEstimator
from robotid_sim.model.catalog import published_parameters, with_published
from robotid_sim.model.robot import Robot
from robotid_sim.streams import named_stream
from robotid_sim.study.config import StudyConfig
from robotid_sim.study.robots import stage_rng
from robotid_sim.validation.closed_loop import IDENTIFIED

PUBLISHED = "published:"
"""Prefix of the models that a paper prints, as in ``published:table-3-qpso``."""

Models = Mapping[str, Robot | Sequence[Robot]]


def require_models(plant: Robot, names: Sequence[str], estimators: Sequence[str]) -> None:
    """Raise unless every model that the closed loop shall compare can be made.

    Parameters
    ----------
    plant : Robot
        For its name.
    names : sequence of str
        Estimators, or names of published sets after ``published:``.
    estimators : sequence of str
        Those whose estimates there are, or will be.

    Raises
    ------
    OptionError
        If a name is neither one of the estimators nor a published set.
    UnknownNameError
        If the robot has no such published set.
    """
    for name in names:
        if name.startswith(PUBLISHED):
            published_parameters(plant.name, name.removeprefix(PUBLISHED))
        elif name not in estimators:
            raise OptionError(
                f"the closed loop cannot compare the model '{name}'; known: estimates "
                f"({', '.join(estimators)}) and {PUBLISHED}SET"
            )


def compared_models(
    plant: Robot,
    nominal: Robot,
    identified: Robot,
    estimates: Sequence[Estimate],
    basis: BaseParameters,
    config: StudyConfig,
    problem: LinearProblem | None = None,
) -> dict[str, Robot | Sequence[Robot]]:
    """Return the models of a closed loop by name; see `closed_loop`.

    An estimate is taken as it is: its model has exactly the estimated base parameters, even where
    no rigid bodies can have them. With more than one run, a swarm estimator fits anew for every
    run, from a seed of its own.

    Parameters
    ----------
    plant, nominal, identified : Robot
        The truth (for its name), what was known, and the chosen model.
    estimates : sequence of Estimate
        What the estimators found.
    basis : BaseParameters
        Of the estimates.
    config : StudyConfig
        Sections `control`, `estimation`; the seed.
    problem : LinearProblem, optional
        What the estimates are of; without it every run has the same estimate.
    """
    models: dict[str, Robot | Sequence[Robot]] = {IDENTIFIED: identified}
    known = {estimate.estimator: estimate for estimate in estimates}
    for name in config.control.models:
        if name.startswith(PUBLISHED):
            published = published_parameters(plant.name, name.removeprefix(PUBLISHED))
            models[name] = with_published(plant, published)
            continue
        if name not in known or not known[name].success:
            continue  # a fit that failed has no model; the estimates say so
        fits = [known[name]]
        if problem is not None and _is_drawn(name):
            fits += _refits(name, problem, config)
        formal = [_formal(fit, nominal, basis) for fit in fits if fit.success]
        every_run = len(formal) == config.control.runs > 1
        models[name] = formal if every_run else formal[0]
    return models


def _is_drawn(name: str) -> bool:
    return issubclass(ESTIMATORS[name], SwarmEstimator)


def _refits(name: str, problem: LinearProblem, config: StudyConfig) -> list[Estimate]:
    """Return the fits of all runs but the first."""
    estimator = ESTIMATORS.build(name, **config.estimation.options.get(name, {}))
    rng = stage_rng(config.seed, "identify")
    runs = range(1, config.control.runs)
    return [estimator.fit(problem, named_stream(rng, f"run {run}")) for run in runs]


def _formal(estimate: Estimate, nominal: Robot, basis: BaseParameters) -> Robot:
    phi = basis.completed(estimate.beta, nominal.parameters())
    return nominal.with_parameters(phi, formal=True)
