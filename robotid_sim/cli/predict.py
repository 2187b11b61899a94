"""``robotid predict``: what an estimate predicts of a log."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from robotid_sim.arrays import Bool1D, readonly
from robotid_sim.cli import logs, output
from robotid_sim.cli.study_options import recipe
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.estimation.estimate import Estimate, load_chosen
from robotid_sim.estimation.state_functions import Lack, require_function_of
from robotid_sim.files import require_writable, write_json
from robotid_sim.model.joint_terms import JointTerm, require_terms_of
from robotid_sim.model.parameters import size
from robotid_sim.model.robot import Robot
from robotid_sim.report.page import write_page
from robotid_sim.report.prediction_report import (
    columns_of,
    log_prediction_table,
    prediction_report,
    remarks,
)
from robotid_sim.study.build import build_preprocessor
from robotid_sim.study.build_robot import build_basis, build_nominal_of_log, build_robot
from robotid_sim.study.config import StudyConfig
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import (
    LogPrediction,
    by_positions,
    predict_log,
    with_friction_velocity,
    with_gravity,
)
from robotid_sim.validation.predictive_band import ModelError, UncertainFunction

Parsed = TypeVar("Parsed")


def predict(
    *,
    robot: str,
    estimate: Path,
    log: Path,
    mapping: Path | None,
    out: Path | None,
    report: Path | None,
    no_replay: bool,
    force: bool,
    json: bool,
    study: StudyConfig,
) -> int:
    """Do ``robotid predict``; its words are in `cli.syntax.predict`."""
    given = (robot, estimate, log, mapping)
    return predict_file(
        *given, study, out=out, report=report, no_replay=no_replay, force=force, json=json
    )


def predict_file(
    robot: str,
    estimate: Path,
    log: Path,
    mapping: Path | None,
    study: StudyConfig,
    *,
    out: Path | None,
    report: Path | None,
    no_replay: bool,
    force: bool,
    json: bool,
) -> int:
    """Predict a log and write and print what comes of it; return the exit code."""
    outputs = [path for path in (out, report) if path is not None]
    for path in outputs:
        require_writable(path)
    model = build_robot(robot, study.robot)
    measured = _measured(estimate, model)
    read = logs.read_one(log, model, mapping)
    data = read.log
    nominal = with_gravity(build_nominal_of_log(model, data, study), load_chosen(estimate)[2])
    basis = build_basis(nominal, study, measured)
    _, chosen, context = estimates_of(estimate, model, basis)
    if not chosen.success:
        raise FileFormatError(f"{estimate}: the chosen fit failed: {chosen.message}")
    nominal = with_friction_velocity(nominal, context)
    against = logs.contradicted([read], nominal, basis, force=force).errors
    preprocessor = by_positions(build_preprocessor(study.preprocess), context.get("torque_delay"))
    lacks, terms = lacks_of(context, nominal), terms_of(context, nominal)
    error = _model_error(context, nominal, basis, measured)
    with one_blas_thread():
        given = (chosen.beta, data, nominal, basis, preprocessor, lacks, terms, error)
        predicted = predict_log(*given)
    of_robot = {"robot": model.name, "estimator": chosen.estimator}
    content = {**of_robot, "imported": logs.notes_of([read]), **predicted.content()}
    content |= {"doubt": against} if against else {}
    if out is not None:
        write_json(out, "prediction", 1, content)
    if report is not None:
        closing = recipe(study)
        page = prediction_report(nominal, data, chosen, predicted, lacks, closing)
        write_page(page, report, replay=not no_replay)
    if json:
        output.print_json(content)
    else:
        logs.print_notes([read])
        _print(model.name, chosen, predicted, lacks, context)
        logs.print_doubt(against)
        output.print_written([out, report])
    return 1 if against else 0


def _measured(path: Path, robot: Robot) -> Bool1D:
    """Return which torques of the robot the logs of an estimate have, as its file says."""
    known = load_chosen(path)[2].get("torque_measured")
    if known is None:
        return np.ones(robot.dof, dtype=bool)
    if not any(known):
        raise FileFormatError(f"{path}: its 'torque_measured' names no joint with a torque")
    if len(known) != robot.dof:
        raise FileFormatError(
            f"{path} is the estimate of another robot than '{robot.name}': of {len(known)} joints, "
            f"not {robot.dof}"
        )
    return np.array(known)


def _print(
    name: str,
    chosen: Estimate,
    predicted: LogPrediction,
    lacks: Sequence[Lack],
    context: Mapping[str, Any],
) -> None:
    output.print_line(f"{name}: {predicted.t.size} samples predicted by '{chosen.estimator}'")
    if predicted.message:
        output.print_line(predicted.message)
    output.print_line()
    output.print_table(log_prediction_table(predicted))
    for sentence in (columns_of(predicted), *remarks(predicted, lacks)):
        output.print_line(sentence)
    if context.get("doubt"):
        output.print_line(f"WARNING: of the estimate: {context['doubt']}")


def _model_error(
    context: Mapping[str, Any], nominal: Robot, basis: BaseParameters, measured: Bool1D
) -> ModelError | None:
    """Return how far predictions may be off, if the estimate file says so; NaN if not measured."""
    known = context.get("model_error")
    if known is None:
        return None
    with _of_identify("model_error"):
        std = readonly(known["std"], shape=measured.shape, name="std")
        functions = _read(tuple[UncertainFunction, ...], known.get("functions", ()))
        for function in functions:
            where = (function.joint, function.quantity)
            require_function_of(nominal, *where, function.knots, function.mean)
            if not function.knots:
                raise ValueError(f"the function of {function.quantity} has no knots")
        size = basis.rank + sum(len(function.knots) for function in functions)
        cov = readonly(known["cov"], shape=(size, size), name="cov")
        if (std < 0.0).any() or (np.diag(cov) < 0.0).any():
            raise ValueError("a standard deviation or a variance is negative")
    return ModelError(np.where(measured, std, np.nan), cov, functions)


def lacks_of(context: Mapping[str, Any], nominal: Robot) -> list[Lack]:
    """Return what the model lacked in the fit, as an estimate file says."""
    with _of_identify("lacks"):
        lacks = _read(list[Lack], context.get("lacks", ()))
        for lack in lacks:
            require_function_of(nominal, lack.joint, lack.quantity, lack.knots, lack.values)
    return lacks


def terms_of(context: Mapping[str, Any], nominal: Robot) -> list[JointTerm]:
    """Return the terms that the fit found joints to have, as an estimate file says."""
    keys = ("kind", "joint", "values", "shape", "partner")
    with _of_identify("terms"):
        own = [{key: term[key] for key in keys if key in term} for term in context.get("terms", ())]
        terms = _read(list[JointTerm], own)
        require_terms_of(terms, nominal.joint_names, nominal.name)
    return terms


@contextmanager
def _of_identify(name: str) -> Iterator[None]:
    """Raise `FileFormatError` where an entry of an estimate file is not as `identify` writes it."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        where, said = ".".join(map(str, first["loc"])), first["msg"]
        raise FileFormatError(f"{_OTHER.format(name)}: '{where}': {said}") from error
    except (AttributeError, KeyError, TypeError, ValueError, RobotIdError) as error:
        raise FileFormatError(f"{_OTHER.format(name)}: {error}") from error


ROUNDING = 1e-9
"""Relative error of a base parameter that is none of the file."""

_OTHER = "the estimate's '{}' are not those of `identify`"


def _read(kind: type[Parsed], content: object) -> Parsed:
    """Return values of JSON as those of a dataclass; texts that are numbers become numbers."""
    return TypeAdapter(kind, config=ConfigDict(extra="forbid")).validate_python(content)


def estimates_of(
    path: Path, robot: Robot, basis: BaseParameters
) -> tuple[list[Estimate], Estimate, dict[str, Any]]:
    """Return all estimates of a file, the chosen one, and what the file says beside them."""
    estimates, chosen, context = load_chosen(path)
    if chosen.names != basis.names:
        raise FileFormatError(
            f"{path} has other base parameters than '{robot.name}' ({len(chosen.names)} against "
            f"{basis.rank}); is it of another robot, or of other joint parameters?"
        )
    estimates = [each for each in estimates if each.names == basis.names]
    for each in estimates:
        _require_one_robot(each, robot, basis, path)
    return estimates, chosen, context


def _require_one_robot(estimate: Estimate, robot: Robot, basis: BaseParameters, path: Path) -> None:
    """Raise `FileFormatError` if the standard parameters, if any, are not those of `beta`."""
    if (phi := estimate.phi) is None:
        return
    if phi.size != size(robot.dof):
        raise FileFormatError(
            f"{path}: 'phi' of '{estimate.estimator}' has {phi.size} numbers, a robot with "
            f"{robot.dof} joints has {size(robot.dof)}"
        )
    of_phi, beta = basis.of(phi), estimate.beta
    for j in np.flatnonzero(~(np.abs(of_phi - beta) <= estimate.std + ROUNDING * np.abs(beta)))[:1]:
        raise FileFormatError(
            f"{path}: '{basis.names[j]}' of '{estimate.estimator}' is "
            f"{beta[j]:.4g} in 'beta' and {of_phi[j]:.4g} from 'phi'; the file "
            "was edited, or is of another robot: repeat `identify`"
        )
