"""``robotid identify``: from a log to parameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.cli import logs, output
from robotid_sim.cli.study_options import recipe
from robotid_sim.errors import InconsistentInertiaError
from robotid_sim.estimation.estimate import save_estimates
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.files import require_writable
from robotid_sim.importing.reading import ReadLog
from robotid_sim.measurement.long_log import LongLog
from robotid_sim.model.joint_terms import checked_kinds
from robotid_sim.model.mass_comparison import unlikely_masses
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_fit import build_fit
from robotid_sim.pipeline.build_robot import build_basis, build_nominal_of_log, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.draws import drawn, folder_of_draws, model_error, write_draws
from robotid_sim.pipeline.fit_files import estimate_context, write_identified
from robotid_sim.pipeline.hold_out import HoldOut, identify_and_predict, training_logs
from robotid_sim.pipeline.identification import Identification, with_doubt
from robotid_sim.pipeline.long_logs import can_stream, identify_long
from robotid_sim.pipeline.parameter_file import table_beside, write_parameters
from robotid_sim.progress_display import progress_line
from robotid_sim.report.identification_report import identification_report
from robotid_sim.report.page import write_page
from robotid_sim.report.prediction_report import columns_of, log_prediction_table, remarks
from robotid_sim.report.tables import lack_table, parameter_table, residual_table, terms_table
from robotid_sim.report.trust_section import lack_of_fit
from robotid_sim.streams import Streams
from robotid_sim.validation.log_prediction import LogPrediction

MOST_OF_IT = 0.9
"""Share of a long log that the fit has where it is not of excerpts; edges are in no fit."""


def identify(
    *,
    robot: str,
    log: list[Path],
    out: Path,
    estimator: list[str] | None,
    torque_gain_std: float | None,
    terms: list[str] | None,
    mapping: Path | None,
    hold_out: str | None,
    urdf: Path | None,
    draws: tuple[int, Path] | None,
    meshes: MeshMode,
    parameters: Path | None,
    report: Path | None,
    no_replay: bool,
    force: bool,
    json: bool,
    study: StudyConfig,
) -> int:
    """Do ``robotid identify``; its words are in `cli.syntax.identify`."""
    study = _with_choices(study, estimator, torque_gain_std, terms)
    table = parameters or table_beside(out)
    _require_writable(out, table, urdf, report)
    model = build_robot(robot, study.robot)
    plan = build_fit(study)
    streamed = hold_out is None and can_stream(plan)
    with logs.opened(log, model, mapping, whole=not streamed) as (given, long):
        test = _test_logs(hold_out, given, model, mapping)
        held = _held_out(hold_out, test)
        nominal = build_nominal_of_log(model, given[0].log, study)
        measured = np.any([read.log.torque_measured for read in given], axis=0)
        basis = build_basis(nominal, study, measured)
        looked_at = [*(given if long is None else logs.excerpts(long, given[0])), *test]
        against = logs.contradicted(looked_at, nominal, basis, force=force)
        files = [] if draws is None else folder_of_draws(draws[1], draws[0])
        streams, names = Streams(study.seed), [read.name for read in given]
        with progress_line(enabled=not json) as progress:
            data, known = [read.log for read in given], (nominal, basis, plan, streams("identify"))
            if long is None:
                fit, predicted = identify_and_predict(data, held, *known, progress)
            else:
                fit, predicted = identify_long(long, *known, progress=progress), None
            fitted = training_logs(data, held)
            fit = with_doubt(fit, "; ".join(filter(None, against)))
            robots = drawn(fit, len(files), streams("draws"), progress) if files else []
    context = estimate_context(fit, names) | _told(given, long, hold_out, predicted)
    if robots or predicted is not None:
        context["model_error"] = model_error(fit, fitted, plan, predicted).content()
    _write(fit, context, (out, table, urdf), meshes)
    write_draws(robots, files, meshes)
    if report is not None:
        page = identification_report(nominal, fitted, fit, recipe(study), predicted)
        write_page(page, report, replay=not no_replay)
    if json:
        output.print_json(_content(model.name, context, fit))
    else:
        _print_reading(given, long, fit)
        _print_fit(model.name, fit, predicted, str(hold_out))
        _print_files([out, table, urdf, report], files)
    return 0 if fit.chosen.success and not fit.doubt else 1


def _content(name: str, context: Mapping[str, Any], fit: Identification) -> dict[str, Any]:
    estimates = [estimate.content() for estimate in fit.estimates]
    return {"robot": name, **context, "estimates": estimates}


def _require_lift(fit: Identification, urdf: Path | None) -> None:
    if urdf is not None and fit.lift is None:
        why = fit.chosen.message if not fit.chosen.success else "none is known near the estimate"
        raise InconsistentInertiaError(f"no robot to write to {urdf}: {why}")


def _require_writable(*paths: Path | None) -> None:
    for path in filter(None, paths):
        require_writable(path)


def _write(
    fit: Identification,
    context: Mapping[str, Any],
    files: tuple[Path, Path, Path | None],
    meshes: MeshMode,
) -> None:
    """Write estimates, table of parameters, and the identified robot if it is asked for."""
    out, table, urdf = files
    _require_lift(fit, urdf)  # before anything is written
    save_estimates(list(fit.estimates), out, **context)
    write_parameters(fit, table)
    if urdf is not None:
        write_identified(fit, urdf, meshes)


def _with_choices(
    study: StudyConfig,
    estimator: list[str] | None,
    torque_gain_std: float | None,
    terms: list[str] | None,
) -> StudyConfig:
    """Return the study with the choices of the command line."""
    chosen: dict[str, Any] = {}
    if estimator:
        chosen |= {"estimators": tuple(estimator), "chosen": estimator[-1]}
    if torque_gain_std is not None:
        chosen["torque_gain_std"] = torque_gain_std
    if terms:
        chosen["joint_terms"] = checked_kinds(terms)
    return study.model_copy(update={"estimation": study.estimation.model_copy(update=chosen)})


def _test_logs(
    text: str | None, given: Sequence[ReadLog], robot: Robot, mapping: Path | None
) -> list[ReadLog]:
    """Return the logs that are only predicted, if a file of them is held out.

    Raises `LogError` if any samples are given twice, of these and those of the fit.
    """
    test = logs.read([Path(text)], robot, mapping) if text and Path(text).exists() else []
    logs.require_distinct([*given, *test])
    return test


def _held_out(text: str | None, test: Sequence[ReadLog]) -> HoldOut | None:
    """Return what is held out, if anything: a part of every log, blocks, or logs of their own."""
    if test:
        return HoldOut(logs=tuple(read.log for read in test))
    return None if text is None else HoldOut.parse(text)


def _told(
    given: Sequence[ReadLog],
    long: LongLog | None,
    hold_out: str | None,
    predicted: LogPrediction | None,
) -> dict[str, Any]:
    """Return what an estimate file says of long or imported logs, and of data held out."""
    told: dict[str, Any] = {} if long is None else {"read_in_parts": long.samples}
    if notes := logs.notes_of(given):
        told["imported"] = notes
    if predicted is not None:
        told["held_out"] = {"what": hold_out, **predicted.content()}
    return told


def _print_reading(given: Sequence[ReadLog], long: LongLog | None, fit: Identification) -> None:
    logs.print_notes(given)
    if long is not None:
        output.print_line(_of_parts(long, fit.plain))


def _of_parts(log: LongLog, rows: LinearProblem) -> str:
    """Return what a long log means for what is printed."""
    reading = (
        f"The log has {log.samples} samples and is read in parts. The first {log.head.t.size} "
        "decide how they are smoothed and what pages show. What the model lacks is looked for in "
        "excerpts"
    )
    share = rows.samples * rows.dt / (log.samples * log.dt)
    if share < MOST_OF_IT:
        return f"{reading}, {share:.2g} of the log; as it lacks something, the fit is of them, too."
    return f"{reading}; all samples are in the fit."


def _print_draws(files: Sequence[Path]) -> None:
    if files:
        folder = output.shown(files[0].parent)
        output.print_line(f"{len(files)} robots, {files[0].name} on, are written in {folder}")


def _print_held_out(what: str, predicted: LogPrediction | None, fit: Identification) -> None:
    if predicted is None:
        return
    output.print_line()
    output.print_line(f"held out ({what}): {predicted.t.size} samples")
    output.print_table(log_prediction_table(predicted))
    for sentence in (columns_of(predicted), *remarks(predicted, fit.discrepancy.lacks)):
        output.print_line(sentence)


def _print_files(written: Sequence[Path | None], draws: Sequence[Path]) -> None:
    output.print_written(written)
    _print_draws(draws)


def _print_fit(
    name: str, fit: Identification, predicted: LogPrediction | None, hold_out: str
) -> None:
    _print(name, fit)
    _print_held_out(hold_out, predicted, fit)


def _print(name: str, fit: Identification) -> None:
    chosen, nominal = fit.chosen, fit.nominal
    output.print_line(f"{name}: {chosen.rows} rows, {len(chosen.names)} base parameters")
    for preprocessor in fit.preprocessors:
        if preprocessor.message:
            output.print_line(preprocessor.message)
    output.print_line()
    output.print_table(residual_table(fit.estimates, nominal.joint_units))
    if not chosen.success:
        output.print_line(f"{chosen.estimator}: {chosen.message}")
        output.print_line("`robotid diagnose` says what the log does not show.")
        return
    output.print_line()
    output.print_table(parameter_table(chosen, fit.basis, fit.basis.of(nominal.parameters())))
    if fit.structure.terms:
        output.print_line()
        output.print_table(terms_table(fit.structure, nominal))
    if fit.lift is not None:
        output.print_line(f"identified robot: {fit.lift.message}")
        for text in unlikely_masses(fit.lift.robot, nominal):
            output.print_line(f"  unlikely: {text}")
    if fit.discrepancy.notable:
        output.print_line()
        output.print_table(lack_table(fit.discrepancy, nominal))
        output.print_line(
            "Residuals above are what these functions leave. `robotid diagnose` looks for their "
            "cause; with --terms all the fit may choose terms of joints for them."
        )
        output.print_line()
    for sentence in lack_of_fit(fit):
        output.print_line(sentence)
    if fit.doubt:
        output.print_line(f"WARNING: {fit.doubt}")
