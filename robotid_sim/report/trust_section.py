"""How far to trust an estimate: intervals, residuals, what the data do not show."""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from robotid_sim.chart import Chart
from robotid_sim.diagnostics.directions import weakest_directions, worst_direction
from robotid_sim.diagnostics.essential import essential_parameters
from robotid_sim.diagnostics.intervals import Intervals, relative_std
from robotid_sim.diagnostics.residuals import cross_validate, residual_whiteness
from robotid_sim.errors import RobotIdError
from robotid_sim.estimation.discrepancy import widening
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.report.figures.trust import (
    information_over_time,
    residuals_over_state,
    singular_values,
)
from robotid_sim.report.finding import well_known
from robotid_sim.report.tables import lack_table, unit_text
from robotid_sim.section import Section, number
from robotid_sim.study.choosing import loop_noise_sentence
from robotid_sim.study.identification import Identification, intervals_of
from robotid_sim.table import Table
from robotid_sim.threads import one_blas_thread

WEAKEST = 5
"""Directions that are given in words."""

TWO_PERIODS = 1.9
"""Periods of rows that a comparison between periods needs."""


class Explained(Protocol):
    """A result that describes itself."""

    def sentences(self) -> list[str]:
        """Return the finding in words."""
        ...


def trust_section(fit: Identification, intervals: Intervals | None) -> tuple[Section, ...]:
    """Return how far to trust the chosen estimate; nothing if it has no intervals.

    Nothing here looks at any truth.
    """
    if intervals is None:
        return ()
    with one_blas_thread():
        notes = [*lack_of_fit(fit), *_uncertain(fit.chosen, intervals), *_checks(fit)]
        charts, tables = trust_charts(fit)
    if fit.discrepancy.notable:
        tables = (lack_table(fit.discrepancy, fit.nominal), *tables)
    section = Section(
        title="How far to trust the numbers",
        text="The 95 % intervals in the table of base parameters are made from the residuals of "
        f"the log, by Student's t with the {intervals.dof.min():.0f} to {intervals.dof.max():.0f} "
        "degrees of freedom that the blocks of correlated residuals leave. Their standard "
        "deviation has no bias; the one in the table errs on the large side, by some percent.",
        notes=tuple(notes),
        charts=charts,
        tables=tables,
    )
    return (section,)


def trust_charts(fit: Identification) -> tuple[tuple[Chart, ...], tuple[Table, ...]]:
    """Return residuals over the state, and what the motion shows, as far as it shows all."""
    try:
        weakest = weakest_directions(fit.problem, fit.chosen, WEAKEST)
    except np.linalg.LinAlgError:
        return (residuals_over_state(fit),), ()
    table = Table.of(
        {
            "direction": [direction.text for direction in reversed(weakest)],
            "best over it": [number(direction.ratio, 3) for direction in reversed(weakest)],
        },
        "What the data see least",
    )
    charts = (residuals_over_state(fit), singular_values(weakest), information_over_time(fit))
    return charts, (table,)


def lack_of_fit(fit: Identification) -> list[str]:
    """Return what the model lacks, how much wider intervals are for it, and what no log says.

    Nothing of it looks at any truth.
    """
    found, gain_std, chosen = fit.discrepancy, fit.torque_gain_std, fit.chosen
    without = ", ".join(np.array(fit.plain.joint_names)[~fit.plain.measured])
    sentences = [
        f"No torque of {without} was recorded: its rows are left out, and what only they show."
    ] * bool(without)
    if chosen.success and chosen.criterion == "restricted" and chosen.message:
        sentences.append(f"{chosen.message[0].upper()}{chosen.message[1:]}.")
    if found.notable:
        sentences.append(
            "The residuals are no noise: they hold the functions in the table of what the model "
            "lacks."
        )
    elif found.left_out is None and not found.repeats:
        sentences.append(
            "The residuals are noise: no function of speed, direction, load, position, time or lag "
            "of any joint explains them."
        )
    if found.left_out is not None:
        sentences.append(
            "Functions of the state explain residuals of the log, but do not predict blocks of it "
            "that are left out: the fit leaves them out, and its intervals allow for them."
        )
    if found.repeats:
        sentences.append(
            "What is left repeats from period to period, as torque ripple or an encoder's error "
            "does: intervals count the periods as one where that is so."
        )
    if fit.loop_noise is not None:
        sentences.append(loop_noise_sentence(fit.loop_noise, fit.chosen.estimator))
    if fit.problem.random is not None:
        wider = widening(fit.problem, fit.plain, fit.chosen.noise_std)
        names = np.array(fit.chosen.names)
        k = np.argsort(-wider, kind="stable")[:3]
        sentences.append(
            f"The intervals allow for it: they are {np.median(wider):.3g} times as wide as noise "
            "alone makes them (median), most of all those of "
            + ", ".join(
                f"{name} ({size:.3g} times)" for name, size in zip(names[k], wider[k], strict=True)
            )
            + "."
        )
    if gain_std:
        sentences.append(
            f"The torque constants are taken to be {gain_std:.2g} off (relative standard "
            "deviation), as given; the intervals hold that."
        )
    else:
        sentences.append(
            "The torque constants are taken as exact: an error that all joints share scales every "
            "parameter and shows in no log. State its size by --torque-gain-std."
        )
    return sentences + _limits_found(fit)


def _limits_found(fit: Identification) -> list[str]:
    """Say which constants of the model the log shows to be others, and what is at its bound."""
    sentences = [] if fit.eps is None else fit.eps.sentences()
    sentences += [] if fit.gravity is None else fit.gravity.sentences()
    zero = np.flatnonzero(fit.chosen.at_bound)
    intervals = intervals_of(fit) if zero.size else None
    if intervals is not None:
        sentences += [
            f"{intervals.names[k]} is at its bound of zero: less than {intervals.upper[k]:.2g} "
            f"{unit_text(intervals.units[k])} (95 %)."
            for k in zero
        ]
    return sentences


def _uncertain(chosen: Estimate, intervals: Intervals) -> list[str]:
    """Return the parameters that are uncertain by more than 10 %."""
    relative = relative_std(chosen.beta, chosen.std)
    bad = [int(k) for k in np.argsort(-relative, kind="stable") if not well_known(chosen)[k]]
    names = f": {', '.join(intervals.names[k] for k in bad)}" if bad else ""
    sentences = [
        f"{len(bad)} of {len(chosen.names)} base parameters have a standard deviation above 10 % "
        f"of their value{names}."
    ]
    if not intervals.unbiased:
        sentences.append("Constraints or a search moved this estimate: its intervals are a guide.")
    return sentences


def _checks(fit: Identification) -> list[str]:
    """Return what further checks of the fit say; one that is not possible says nothing."""
    chosen, problem, motion = fit.chosen, fit.problem, fit.motion
    sentences: list[str] = []
    checks: list[Callable[[], Explained]] = [
        lambda: worst_direction(problem, chosen),
        lambda: residual_whiteness(problem, chosen),
        lambda: essential_parameters(problem, chosen),
    ]
    period = motion.period
    if period is not None and problem.y.size / problem.dof * problem.dt > TWO_PERIODS * period:
        checks.append(lambda: cross_validate(problem, period))
    for check in checks:
        try:
            sentences += check().sentences()
        except (RobotIdError, np.linalg.LinAlgError):
            continue
    return sentences
