"""What needs no search: direct solutions, and the printed columns of Table 5 as they stand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import random_states
from robotid_sim.dynamics.dynamics import mass_matrix
from robotid_sim.estimation.fitness import AbsoluteFitness
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import published_parameters
from robotid_sim.optim.bso import AnnealedBeetleSwarm
from robotid_sim.optim.settings import setting
from robotid_sim.papers.rs010n import excitation, model


@dataclass(frozen=True, slots=True, eq=False)
class PublishedSet:
    """A column of Table 5: its errors, and whether a robot can have it."""

    name: str
    beta: Float1D
    """As printed, shape (21,)."""
    mean_error: float
    """Mean absolute error against the theoretical column as printed."""
    largest_error: float
    best_rows: int
    """Rows in which its error is the smallest of the three."""
    least_inertia: float
    """Smallest eigenvalue of the mass matrix over random poses [kg m^2]."""
    second_moment: float
    """Second moment of link 3 along z, (L3xx + L3yy - L3zz) / 2; negative: no body [kg m^2]."""


@dataclass(frozen=True, slots=True, eq=False)
class DirectSolutions:
    """What needs no search."""

    least_squares: Float1D
    """Parameters by least squares on the data of the searches, shape (21,)."""
    direct: Mapping[str, tuple[float, float]]
    """Fitness and mean error of the linear program and of least squares there."""
    populations: Mapping[str, Float1D]
    """Beetles in every iteration, by the form of eq. (16)."""
    sets: Sequence[PublishedSet]
    costs: Mapping[str, float]
    """Fitness of the printed columns on the data of the searches [N m]."""
    impossible: Sequence[str]
    """Links of Table 2 that cannot exist, with reasons."""


def direct_solutions(x: Float1D) -> DirectSolutions:
    """Return what needs no search, on the data of the searches, along the excitation x."""
    motion = excitation.motion(x)
    W = model.regressor(*motion).reshape(-1, len(model.TABLE_5))
    fitness = AbsoluteFitness(W, W @ model.theoretical())
    least_squares = np.linalg.lstsq(W, fitness.y, rcond=None)[0]
    sets = published_sets()
    costs = fitness(np.array([column.beta for column in sets]))
    solutions = {"L1 optimum (LP)": fitness.minimum(), "least squares": least_squares}
    populations = {}
    for form in ("corrected", "literal"):
        optimizer = setting("kou-2022-sedsabso").build(form=form)
        assert isinstance(optimizer, AnnealedBeetleSwarm)
        populations[form] = optimizer.population_sizes(model.ITERATIONS).astype(float)
    return DirectSolutions(
        least_squares=least_squares,
        direct={
            name: (float(fitness(beta[None])[0]), float(np.abs(beta - model.theoretical()).mean()))
            for name, beta in solutions.items()
        },
        populations=populations,
        sets=sets,
        costs={column.name: float(cost) for column, cost in zip(sets, costs, strict=True)},
        impossible=impossible_links(),
    )


def published_sets() -> list[PublishedSet]:
    """Return the theoretical column and the three estimates, as printed."""
    truth = model.printed()
    columns = {method: model.printed(method) for method in model.PRINTED}
    errors = np.abs(np.array(list(columns.values())) - truth)
    best = np.argmin(errors, axis=0)
    return [
        _judged("theoretical", truth, np.zeros_like(truth), 0),
        *(
            _judged(method, beta, errors[k], int((best == k).sum()))
            for k, (method, beta) in enumerate(columns.items())
        ),
    ]


def _judged(name: str, beta: Float1D, errors: Float1D, best_rows: int) -> PublishedSet:
    labels = [row.label for row in model.TABLE_5]
    difference, yy = (beta[labels.index(label)] for label in ("L3xx - L3zz", "L3yy"))
    return PublishedSet(
        name=name,
        beta=beta,
        mean_error=float(errors.mean()),
        largest_error=float(errors.max()),
        best_rows=best_rows,
        least_inertia=least_inertia(beta),
        second_moment=float(0.5 * (difference + yy)),
    )


def least_inertia(beta: Float1D) -> float:
    """Return the smallest eigenvalue of the mass matrix with given base parameters [kg m^2].

    The mass matrix depends on base parameters alone, so that any full set with them will do, also
    an impossible one.
    """
    arm = model.arm()
    phi = np.zeros_like(arm.parameters())
    inertial = model.frames() @ np.linalg.pinv(model.combinations()) @ beta[model.inertial_rows()]
    phi[: inertial.size] = inertial
    formal = arm.with_parameters(phi, formal=True)
    poses = random_states(arm)[0]
    return float(np.linalg.eigvalsh(mass_matrix(formal, poses))[:, 0].min())


def impossible_links() -> list[str]:
    """Return which links of Table 2 no rigid body can be, with the reason."""
    phi = published_parameters("rs010n", "table-5").phi
    reasons = (inertia.inconsistency(phi[parameters.inertial_slice(k)]) for k in range(3))
    return [f"link {k + 1}: {reason}" for k, reason in enumerate(reasons) if reason]
