"""Tables of pages and of the terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Float1D, rms
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.measurement.log import Log
from robotid_sim.model.joint_terms import unit_of
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.result import (
    CheckResult,
    ComparedPreprocessor,
    EstimateResult,
    StudyResult,
)
from robotid_sim.section import number, percent, torque_unit, unit_text
from robotid_sim.table import Table
from robotid_sim.validation.prediction import Prediction

if TYPE_CHECKING:
    from robotid_sim.diagnostics.intervals import Intervals
    from robotid_sim.estimation.discrepancy import Discrepancy
    from robotid_sim.estimation.estimate import Estimate
    from robotid_sim.estimation.structure import Structure
    from robotid_sim.excitation.design import ExcitationQuality

NEES_CHECK = "covariance_matches_error"
CAUSE_CHECK = "no_fault_found"

CHECK_MEANINGS = {
    "motion_within_limits": "largest motion value over its limit",
    "no_link_contact": "pairs of links in contact",
    "all_base_parameters_excited": "base parameters excited above the noise",
    "written_urdf_matches_model": "relative torque error of the reloaded URDF",
    "model_predicts_validation_motion": "model error on the validation motion / RMS torque",
    "residual_matches_noise": "residual / expected sensor noise",
    CAUSE_CHECK: "faults found by the diagnosis",
    "no_torque_saturation": "samples with saturated torque",
    NEES_CHECK: "normalized estimation error squared (NEES) of WLS",
    "consistent_fit_matches_least_squares": "increase of the squared residual by the constraints",
    "tracking_gap_closed": "remaining tracking gap to the true model",
    "torque_error_reduced": "torque error / torque error of the nominal model",
    "all_closed_loops_completed": "failed closed-loop runs",
    "model_predicts_other_engine": "model error over RMS torque, unseen motion of the other engine",
    "tracking_gap_closed_in_other_engine": "remaining tracking gap in the other engine",
    "estimates_agree_jointly": "normalized squared difference of the estimates",
    "differences_within_intervals": "share of differences within their 95 % intervals",
}


MAX_DECIMALS = 6
"""Largest number of decimals of a value that is printed without an exponent."""

SHARE_CHECKS = frozenset(
    (
        *(
            "motion_within_limits",
            "model_predicts_validation_motion",
            "tracking_gap_closed",
            "torque_error_reduced",
        ),
        *(
            "model_predicts_other_engine",
            "tracking_gap_closed_in_other_engine",
            "differences_within_intervals",
        ),
    )
)
"""Checks whose values are shares."""


def relative_text(std: float, value: float) -> str:
    """Format a standard deviation in percent of its value, '> 100' if it exceeds the value."""
    return "> 100" if std >= abs(value) else number(100.0 * std / abs(value), 2)


def number_within(value: float, std: float) -> str:
    """Format a value to the second significant digit of its standard deviation."""
    if not (np.isfinite(value) and np.isfinite(std) and std > 0.0):
        return number(value)
    decimals = 1 - int(np.floor(np.log10(std)))
    if decimals <= MAX_DECIMALS:
        return f"{value:z.{max(decimals, 0)}f}"
    if value == 0.0:
        return "0"
    leading = int(np.floor(np.log10(abs(value))))
    return f"{value:.{max(leading + decimals, 0)}e}"


def units_of(joint_units: Sequence[str], revolute: str, prismatic: str) -> str:
    """Return the units of a column of joints: two if there are both kinds of joints."""
    kinds = dict.fromkeys(prismatic if unit == "m" else revolute for unit in joint_units)
    return ", ".join(kinds)


def _numbers(values: Iterable[float], digits: int = 4) -> list[str]:
    return [number(float(value), digits) for value in values]


def _percents(values: Iterable[float]) -> list[str]:
    return [percent(float(value)) for value in values]


def check_table(checks: Sequence[CheckResult]) -> Table:
    """Tabulate the checks of a verdict."""
    meanings = (" ".join(filter(None, (CHECK_MEANINGS.get(c.name, ""), c.message))) for c in checks)
    columns: dict[str, Iterable[str]] = {
        "check": [check.name for check in checks],
        "meaning": meanings,
        "value": [check_number(check, check.value) for check in checks],
        "limit": [check_limit(check) for check in checks],
    }
    return Table.from_columns(columns, text_columns=2, marks=[check.passed for check in checks])


def check_limit(check: CheckResult) -> str:
    """Format the limit of a check, or both limits."""
    if check.lower is not None:
        return f"{check_number(check, check.lower)} … {check_number(check, check.limit)}"
    return (
        f"{'=' if check.name == 'all_base_parameters_excited' else '≤'} "
        f"{check_number(check, check.limit)}"
    )


def check_number(check: CheckResult, value: float | None) -> str:
    """Format the value or the limit of a check, in percent if it is a share."""
    return percent(value) if check.name in SHARE_CHECKS else number(value, 3)


def nees_of(result: StudyResult) -> float | None:
    """Return the NEES of weighted least squares, None if it did not run."""
    return next((e.nees for e in result.estimates if e.estimator == "wls"), None)


def nees_band(result: StudyResult) -> str:
    """Format the expected range of the NEES, as the end of a phrase."""
    checks = [check for check in result.verdict.checks if check.name == NEES_CHECK]
    return f"expected {check_limit(checks[0])}" if checks else "expected: 1"


def model_errors(estimate: EstimateResult) -> list[float]:
    """Return the model errors of the joints on the validation motion, if they are known."""
    errors = [] if estimate.validation is None else estimate.validation.model_error_relative
    return [error for error in errors if error is not None]


def joint_table(result: StudyResult) -> Table:
    """Tabulate noise, fit and prediction of the chosen estimate by joint."""
    chosen, dash = result.selected_estimate, ["-"] * result.robot.dof
    units = [torque_unit(unit) for unit in result.robot.joint_units]

    def torques(values: Sequence[float | None]) -> list[str]:
        return [f"{number(v, 3)} {unit}" for v, unit in zip(values, units, strict=True)]

    validation = chosen.validation
    columns: dict[str, Iterable[str]] = {
        "joint": result.robot.joint_names,
        "sensor noise": torques(result.measurement.torque_noise_std),
        "fit residual": torques(chosen.torque_rms),
        "fit": map(percent, chosen.torque_rms_relative),
        "validation": map(percent, validation.torque_rms_relative) if validation else dash,
        "model error": map(percent, validation.model_error_relative) if validation else dash,
    }
    title = f"fit by '{chosen.estimator}' and prediction of the validation motion (% of RMS torque)"
    return Table.from_columns(columns, title)


def score_table(result: StudyResult) -> Table:
    """Compare the estimators of a study with the truth."""
    estimates = result.estimates
    columns: dict[str, Iterable[str]] = {
        "estimator": [e.estimator for e in estimates],
        "state": ["done" if e.success else f"failed: {e.message}" for e in estimates],
        "consistent": ["yes" if e.physically_consistent else "no" for e in estimates],
        "cost / LS cost": [number(e.fitness_over_ls, 6) for e in estimates],
        "cost / optimum": [number(e.criterion_over_optimum, 6) for e in estimates],
        "NEES": [number(e.nees, 3) for e in estimates],
        "fit": [percent(max(e.torque_rms_relative)) for e in estimates],
        "model error": [percent(max(model_errors(e), default=None)) for e in estimates],
        "time": [f"{e.seconds:.2g} s" for e in estimates],
    }
    return Table.from_columns(columns, "Estimators (fit, model error: worst joint)", text_columns=3)


def residual_table(estimates: Sequence[Estimate], joint_units: Sequence[str]) -> Table:
    """Compare the estimators of a fit, without the truth."""
    columns: dict[str, Iterable[str]] = {
        "estimator": [e.estimator for e in estimates],
        "state": ["done" if e.success else e.message for e in estimates],
        "time": [f"{e.seconds:.3g} s" for e in estimates],
    }
    for j, (name, unit) in enumerate(zip(estimates[0].joint_names, joint_units, strict=True)):
        measured = [float(e.torque_rms[j]) or None for e in estimates]
        residuals = [number(value, 3) for value in measured]
        columns[f"residual {name} [{torque_unit(unit)}]"] = residuals
    return Table.from_columns(columns, "Estimators", text_columns=2)


def filter_table(compared: Sequence[ComparedPreprocessor], noise: Sequence[float | None]) -> Table:
    """Compare torque filters; `noise` is the standard deviation of every joint torque [N m]."""
    shares = [
        [error / std if std else None for error, std in zip(c.torque_error_rms, noise, strict=True)]
        for c in compared
    ]
    together = [[share for share in row if share is not None] for row in shares]
    columns: dict[str, Iterable[str]] = {
        "filter": [entry.name for entry in compared],
        "torque error / sensor noise": [
            number(float(np.sqrt(np.mean(np.square(row)))) if row else None, 3) for row in together
        ],
        "parameter error / Cramér-Rao std": [
            number(entry.parameter_error_over_bound, 3) for entry in compared
        ],
    }
    for j in range(len(noise)):
        columns[f"joint {j + 1}"] = [number(row[j], 3) for row in shares]
    return Table.from_columns(columns, "Comparison of torque filters")


def noise_table(log: Log) -> Table:
    """Tabulate the measured torques and, if the log contains the true torques, the noise."""
    unit, size = units_of(log.joint_units, "N m", "N"), rms(log.tau_meas)
    columns: dict[str, Iterable[str]] = {
        "joint": log.joint_names,
        f"RMS torque [{unit}]": _numbers(size),
        f"peak torque [{unit}]": _numbers(np.abs(log.tau_meas).max(axis=0)),
    }
    if log.truth is not None:
        torque = np.std(log.tau_meas - log.truth.tau, axis=0)
        encoder = 1e3 * np.std(log.q - log.truth.q, axis=0)
        columns[f"torque noise [{unit}]"] = _numbers(torque, 3)
        columns["of RMS"] = _percents(torque / size)
        pairs = zip(encoder, log.joint_units, strict=True)
        columns["encoder noise"] = [f"{noise:.3g} m{u}" for noise, u in pairs]
    return Table.from_columns(columns, "Measured")


def terms_table(structure: Structure, robot: Robot) -> Table:
    """Tabulate the selected joint terms with their parameters and gains in log-likelihood."""
    units = dict(zip(robot.joint_names, robot.joint_units, strict=True))
    rows = []
    for fitted in structure.terms:
        term, unit = fitted.term, units[fitted.term.joint]
        where = term.joint if term.partner is None else f"{term.partner}, {term.joint}"
        rows.append(
            (
                where,
                term.kind,
                ", ".join(fitted.numbers(unit)),
                f"{number(fitted.torque, 3)} {unit_of('{t}', unit)}",
                f"{fitted.gain:.0f} ± {fitted.gain_std:.0f}",
            )
        )
    columns = ("joint", "term", "parameters", "RMS torque", "gain")
    return Table(columns, tuple(rows), "Additional joint terms", text_columns=3)


def tabulate_unmodeled(discrepancy: Discrepancy, robot: Robot) -> Table:
    """Tabulate the unmodeled torque: functions of the state, size and likely cause."""
    units = dict(zip(robot.joint_names, robot.joint_units, strict=True))
    functions = discrepancy.significant
    return Table.from_columns(
        {
            "joint": [f.joint for f in functions],
            "function of": [f.quantity for f in functions],
            "likely cause": [f.cause for f in functions],
            "RMS torque": [
                f"{number(f.torque, 3)} {torque_unit(units[f.joint])}" for f in functions
            ],
            "torque / noise": [number(f.over_noise, 3) for f in functions],
        },
        "Unmodeled torque",
        text_columns=3,
    )


def parameter_table(
    estimate: Estimate,
    basis: BaseParameters,
    nominal: Float1D,
    true: Float1D | None = None,
    bound: Float1D | None = None,
    intervals: Intervals | None = None,
) -> Table:
    """Tabulate base parameters with groupings and accuracy, and the truth if it is known.

    The last digit of a value is the second significant digit of its standard deviation.
    """
    beta, std = estimate.beta, estimate.std

    def texts(values: Float1D) -> list[str]:
        return list(map(number_within, values.tolist(), std.tolist()))

    columns: dict[str, Iterable[str]] = {
        "parameter": estimate.names,
        "grouping": basis.groupings,
        "unit": map(unit_text, estimate.units),
        "value": texts(beta),
        "std": _numbers(std, 2),
        "std [%]": map(relative_text, std.tolist(), beta.tolist()),
    }
    if intervals is not None:
        ends = zip(texts(intervals.lower), texts(intervals.upper), strict=True)
        name = f"{100.0 * intervals.level:g} % interval"
        columns[name] = [f"{lower} … {upper}" for lower, upper in ends]
    columns["nominal"] = texts(nominal)
    if true is not None:
        columns |= {"true": texts(true), "|error| / std": _numbers(abs(beta - true) / std, 2)}
    if bound is not None:
        columns["std / bound"] = _numbers(std / bound, 3)
    return Table.from_columns(columns, "Base parameters", text_columns=3)


def prediction_table(identified: Prediction, nominal: Prediction) -> Table:
    """Compare the predictions of the identified and the nominal model on a log."""
    error, dof = identified.model_error_relative, len(identified.joint_names)
    residuals = zip(identified.torque_rms, identified.torque_units, strict=True)
    columns: dict[str, Iterable[str]] = {
        "joint": identified.joint_names,
        "RMS residual": [f"{residual:.3g} {unit}" for residual, unit in residuals],
        "of RMS torque": _percents(identified.torque_rms_relative),
        "nominal model": _percents(nominal.torque_rms_relative),
        "model error, noise-free": ["-"] * dof if error is None else _percents(error),
    }
    return Table.from_columns(columns)


def accuracy_table(
    basis: BaseParameters, nominal: Float1D, std: Float1D, compared: Mapping[str, Float1D]
) -> Table:
    """Compare the expected accuracy of a design with that of designs by other criteria."""
    columns: dict[str, Iterable[str]] = {
        "parameter": basis.names,
        "grouping": basis.groupings,
        "unit": map(unit_text, basis.units),
        "nominal": _numbers(nominal),
        "expected std": _numbers(std, 2),
        "[%]": map(relative_text, std.tolist(), nominal.tolist()),
    }
    columns |= {f"by {name}": _numbers(other, 2) for name, other in compared.items()}
    return Table.from_columns(columns, text_columns=3)


def criteria_table(assessed: Mapping[str, ExcitationQuality], std: Mapping[str, Float1D]) -> Table:
    """Compare designs by several criteria."""
    designs = assessed.values()
    columns: dict[str, Iterable[str]] = {
        "criterion": assessed,
        "log det": _numbers(design.log_det for design in designs),
        "condition number": _numbers(design.cond_raw for design in designs),
        "with unit columns": _numbers(design.cond_normalized for design in designs),
        "geometric mean of the expected std": _numbers(
            np.exp(np.log(std[name]).mean()) for name in assessed
        ),
        "worst": _numbers(std[name].max() for name in assessed),
    }
    return Table.from_columns(columns)


def limits_table(robot: Robot) -> Table:
    """Tabulate limits, friction and rotor inertia of the joints."""
    joints, kinds = robot.joints, robot.joint_units
    torque = units_of(kinds, "N m", "N")
    pairs = list(zip(joints, kinds, strict=True))
    columns: dict[str, Iterable[str]] = {
        "joint": robot.joint_names,
        "position": [f"{j.lower:.4g} … {j.upper:.4g} {unit}" for j, unit in pairs],
        "velocity": [f"{j.velocity:.4g} {unit}/s" for j, unit in pairs],
        "acceleration": [f"{j.acceleration:.4g} {unit}/s²" for j, unit in pairs],
        f"torque [{torque}]": [
            number(j.effort) if np.isfinite(j.effort) else "none" for j in joints
        ],
        f"Fv [{units_of(kinds, 'N m s/rad', 'N s/m')}]": _numbers(j.friction.Fv for j in joints),
        f"Fc [{torque}]": _numbers(j.friction.Fc for j in joints),
        f"Fo [{torque}]": _numbers(j.friction.Fo for j in joints),
        f"eps [{units_of(kinds, 'rad/s', 'm/s')}]": _numbers(j.friction.eps for j in joints),
        f"Ia [{units_of(kinds, 'kg m²', 'kg')}]": _numbers(j.rotor_inertia for j in joints),
    }
    return Table.from_columns(columns, "Limits and drives")
