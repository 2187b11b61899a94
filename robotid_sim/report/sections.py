"""Sections of reports, in the order of the flow; every page is made of these."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.excitation.design import Assessment
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.adaptive import smoother_of
from robotid_sim.preprocess.kalman_torque import KalmanTorque
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.report.figures.closed_loop import torque_unit
from robotid_sim.report.figures.excitation import excitation, tool_path
from robotid_sim.report.figures.parameters import base_parameters, correlation
from robotid_sim.report.figures.torques import LogRole, prediction, torque_filters
from robotid_sim.report.wording import relative_text, unit_text, units_of
from robotid_sim.section import Section, Table, number, percent
from robotid_sim.study.result import ComparedPreprocessor
from robotid_sim.trajectory.reference import Trajectory
from robotid_sim.validation.prediction import Prediction


def excitation_section(
    trajectory: Trajectory, nominal: Robot, assessed: Assessment, more: Sequence[tuple[str, str]]
) -> Section:
    """Return the excitation: use of the limits, tool path, condition numbers."""
    rows = [
        *more,
        ("condition number of the base regressor", number(assessed.cond_raw)),
        ("the same with columns of unit length", number(assessed.cond_normalized)),
        ("log det of the information per sample", number(assessed.log_det)),
        ("largest share of the position limits", percent(assessed.position_ratio)),
        ("largest share of the velocity limits", percent(assessed.velocity_ratio)),
        ("largest share of the acceleration limits", percent(assessed.acceleration_ratio)),
        ("largest share of the torque limits", percent(assessed.torque_ratio)),
    ]
    return Section(
        title="Excitation",
        text="The motion that makes the parameters visible, designed with the nominal model.",
        charts=(excitation(trajectory, nominal), tool_path(trajectory, nominal)),
        tables=(Table(columns=("quantity", "value"), rows=tuple(rows)),),
    )


def preprocessing_section(
    preprocessor: Preprocessor,
    log: Log,
    nominal: Robot,
    compared: Sequence[ComparedPreprocessor] = (),
) -> Section:
    """Return what was measured, what filters make of it, and how they compare."""
    name = PREPROCESSORS.name_of(preprocessor)
    motion = preprocessor(log, nominal)
    tables = [_noise_table(log)]
    if compared and log.truth is not None:
        tables.append(_filter_table(compared, np.std(log.tau_meas - log.truth.tau, axis=0)))
    return Section(
        title="Preprocessing",
        text=f"{log.t.size} samples at {1.0 / log.dt:g} Hz, {log.t[-1] - log.t[0]:.4g} s; "
        f"preprocessor '{name}'{_decided(preprocessor)}. Torque is not filtered alone: the "
        "regressor passes the same filter.",
        charts=(torque_filters(log, motion, _filtered(preprocessor, motion, log, nominal)),),
        tables=tuple(tables),
    )


def _decided(preprocessor: Preprocessor) -> str:
    """Return what a preprocessor that adapts has decided, in brackets."""
    return f" ({preprocessor.message})" if preprocessor.message else ""


def _filtered(
    preprocessor: Preprocessor, motion: Motion, log: Log, nominal: Robot
) -> dict[str, Float2D]:
    """Return torques after filters, to be shown beside the measured one."""
    smoother = smoother_of(preprocessor)
    if smoother is not None:
        kalman = KalmanTorque(motion=smoother, rows=smoother.rows).tuned(log, nominal)
        return {
            "Kalman filter": kalman.filtered(log, nominal),
            "Kalman smoother": replace(kalman, form="smoother").filtered(log, nominal),
        }
    if motion.tau.shape == log.tau_meas.shape and not np.array_equal(motion.tau, log.tau_meas):
        return {PREPROCESSORS.name_of(preprocessor): motion.tau}
    return {}


def _noise_table(log: Log) -> Table:
    rows = []
    for j, joint in enumerate(log.joint_names):
        unit = log.joint_units[j]
        size = float(np.sqrt((log.tau_meas[:, j] ** 2).mean()))
        row = [joint, number(size), number(float(np.abs(log.tau_meas[:, j]).max()))]
        if log.truth is not None:
            torque = float(np.std(log.tau_meas[:, j] - log.truth.tau[:, j]))
            encoder = float(np.std(log.q[:, j] - log.truth.q[:, j]))
            row += [number(torque, 3), percent(torque / size), f"{1e3 * encoder:.3g} m{unit}"]
        rows.append(tuple(row))
    unit = units_of(log.joint_units, "N m", "N")
    columns: tuple[str, ...] = ("joint", f"RMS torque [{unit}]", f"peak torque [{unit}]")
    if log.truth is not None:
        columns += (f"torque noise [{unit}]", "of RMS", "encoder noise")
    return Table(columns=columns, rows=tuple(rows), title="Measured")


def _filter_table(compared: Sequence[ComparedPreprocessor], noise: Float1D) -> Table:
    rows = []
    for entry in compared:
        shares = np.array(entry.torque_error_rms) / np.maximum(noise, np.finfo(float).tiny)
        rows.append(
            (
                entry.name,
                number(float(np.sqrt((shares**2).mean())), 3),
                number(entry.parameter_error_over_bound, 3),
                *(number(float(share), 3) for share in shares),
            )
        )
    joints = tuple(f"joint {j + 1}" for j in range(noise.size))
    columns = ("filter", "torque error / sensor noise", "parameter error / Cramér-Rao std")
    return Table(columns=columns + joints, rows=tuple(rows), title="Torque filters side by side")


def parameters_section(
    estimates: Sequence[Estimate],
    chosen: Estimate,
    basis: BaseParameters,
    nominal: Float1D,
    *,
    joint_units: Sequence[str],
    true: Float1D | None = None,
    bound: Float1D | None = None,
    estimator_rows: Table | None = None,
) -> Section:
    """Return estimators side by side, and the base parameters with intervals and groupings."""
    charts = [base_parameters(chosen, nominal, true, bound)] if chosen.cov is not None else []
    if chosen.cov is not None:
        charts.append(correlation(chosen))
    tables = [
        estimator_rows or _estimator_table(estimates, joint_units),
        _parameter_table(chosen, basis, nominal, true, bound),
    ]
    return Section(
        title="Identification",
        text=f"{chosen.rows} rows for {len(chosen.names)} base parameters; the estimate of "
        f"'{chosen.estimator}' is the one that goes on.",
        charts=tuple(charts),
        tables=tuple(tables),
    )


def _estimator_table(estimates: Sequence[Estimate], joint_units: Sequence[str]) -> Table:
    rows = []
    for estimate in estimates:
        state = "done" if estimate.success else estimate.message
        rms = (number(float(v), 3) for v in estimate.torque_rms)
        rows.append((estimate.estimator, state, f"{estimate.seconds:.3g} s", *rms))
    joints = tuple(
        f"residual {name} [{torque_unit(unit)}]"
        for name, unit in zip(estimates[0].joint_names, joint_units, strict=True)
    )
    columns = ("estimator", "state", "time")
    return Table(columns=columns + joints, rows=tuple(rows), text_columns=2, title="Estimators")


def _parameter_table(
    estimate: Estimate,
    basis: BaseParameters,
    nominal: Float1D,
    true: Float1D | None,
    bound: Float1D | None,
) -> Table:
    rows = []
    for k, name in enumerate(estimate.names):
        value, std = float(estimate.beta[k]), float(estimate.std[k])
        row = [
            name,
            basis.groupings[k],
            unit_text(estimate.units[k]),
            number(value, 5),
            number(std, 2),
        ]
        row += [relative_text(std, value), number(float(nominal[k]))]
        if true is not None:
            row += [number(float(true[k]), 5), number(abs(value - float(true[k])) / std, 2)]
        if bound is not None:
            row.append(number(std / float(bound[k]), 3))
        rows.append(tuple(row))
    columns: tuple[str, ...] = ("parameter", "grouping", "unit", "value", "std", "std [%]")
    columns += ("nominal",)
    columns += ("true", "|error| / std") if true is not None else ()
    columns += ("std / bound",) if bound is not None else ()
    return Table(columns=columns, rows=tuple(rows), text_columns=3, title="Base parameters")


def prediction_section(
    found: Prediction, before: Prediction, noise_std: Float1D, role: LogRole
) -> Section:
    """Return measured and predicted torque of a log, of the identification or another."""
    rows = []
    for j, joint in enumerate(found.joint_names):
        error = found.model_error_relative
        row = [joint, f"{found.torque_rms[j]:.3g} {found.torque_units[j]}"]
        row += [percent(float(found.torque_rms_relative[j]))]
        row += [percent(float(before.torque_rms_relative[j]))]
        row += [percent(None if error is None else float(error[j]))]
        rows.append(tuple(row))
    columns = ("joint", "RMS residual", "of RMS torque", "nominal model", "model error, noise-free")
    return Section(
        title="Fit" if role == "fitted" else "Prediction",
        charts=(prediction(found, before, noise_std, role),),
        tables=(Table(columns=columns, rows=tuple(rows)),),
    )
