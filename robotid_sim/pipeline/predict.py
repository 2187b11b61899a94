"""Predict a log that was not used in the fit, and score the prediction."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from pydantic import ConfigDict, TypeAdapter, ValidationError

from robotid_sim.arrays import Bool1D, readonly
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.estimation.estimate import Estimate, load_chosen
from robotid_sim.estimation.state_functions import UnmodeledFunction, require_function_of
from robotid_sim.files import atomic_path
from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.log import Log
from robotid_sim.model.joint_terms import JointTerm, require_terms_of
from robotid_sim.model.parameters import size
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.currents import add_constants, read_constants, replace_constants
from robotid_sim.pipeline.fit_plan import EstimationConfig, PreprocessConfig, build_preprocessor
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.identify import check_logs
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.representation import public_value
from robotid_sim.threads import one_blas_thread
from robotid_sim.validation.log_prediction import (
    LogPrediction,
    apply_saved_eps,
    apply_saved_gravity,
    ignore_velocities,
    predict_log,
)
from robotid_sim.validation.predictive_band import ModelError, UncertainFunction

Parsed = TypeVar("Parsed")

PARAMETER_TOLERANCE = 1e-9
"""Relative rounding error of a base parameter in a file."""

_MISMATCH_MESSAGE = "'{}' of the estimate does not have the format of `identify`"


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class SavedEstimate:
    """Estimates of an identification, with the other content of their file."""

    name: str
    """Name of the file."""
    estimates: tuple[Estimate, ...]
    chosen: Estimate
    context: Mapping[str, Any]

    @classmethod
    def from_estimate(
        cls, estimate: "SavedEstimate | Identification | str | Path"
    ) -> "SavedEstimate":
        """Create from an estimate file or an identification.

        Raises `FileFormatError` if the file is not an estimate file.
        """
        if isinstance(estimate, SavedEstimate):
            return estimate
        if isinstance(estimate, Identification):
            name, context = "the identification", estimate.context()
            return cls(name, estimate.estimates, estimate.chosen, context)
        estimates, chosen, context = load_chosen(estimate)
        return cls(str(estimate), tuple(estimates), chosen, context)

    @property
    def warning(self) -> str:
        """Reason why the chosen estimate is untrusted; empty if it is trusted."""
        return str(self.context.get("warning") or "")

    def find_measured_joints(self, robot: Robot) -> Bool1D:
        """Find the joints whose torques were measured in the logs of the estimate, shape (n,).

        Raises `FileFormatError` if the estimate is of another robot.
        """
        measured = self.context.get("torque_measured")
        if measured is None:
            return np.ones(robot.dof, dtype=bool)
        if not any(measured):
            raise FileFormatError(f"{self.name}: 'torque_measured' contains no measured joint")
        if len(measured) != robot.dof:
            raise FileFormatError(
                f"{self.name} is the estimate of another robot than '{robot.name}': of "
                f"{len(measured)} joints, not {robot.dof}"
            )
        return np.array(measured)

    def select_robot(self, robot: Robot, basis: BaseParameters) -> "SavedEstimate":
        """Select the estimates whose base parameters are those of a robot.

        Parameters
        ----------
        robot : Robot
            The nominal model.
        basis : BaseParameters
            The base parameters of the robot.

        Returns
        -------
        saved : SavedEstimate
            The same content with the selected estimates only.

        Raises
        ------
        FileFormatError
            If the chosen estimate is not among them, or the file was edited or is of another robot.
        """
        chosen = self.chosen
        if chosen.names != basis.names:
            raise FileFormatError(
                f"{self.name} has other base parameters than '{robot.name}' ({len(chosen.names)}, "
                f"not {basis.rank}); give the robot and joint parameters of its fit"
            )
        estimates = tuple(each for each in self.estimates if each.names == basis.names)
        for each in estimates:
            if each.phi is None:
                continue
            if each.phi.size != size(robot.dof):
                raise FileFormatError(
                    f"{self.name}: 'phi' of '{each.estimator}' has {each.phi.size} numbers, a "
                    f"robot with {robot.dof} joints has {size(robot.dof)}"
                )
            projected, beta = basis.project(each.phi), each.beta
            differs = ~(np.abs(projected - beta) <= each.std + PARAMETER_TOLERANCE * np.abs(beta))
            for j in np.flatnonzero(differs)[:1]:
                raise FileFormatError(
                    f"{self.name}: '{basis.names[j]}' of '{each.estimator}' is {beta[j]:.4g} in "
                    f"'beta' and {projected[j]:.4g} from 'phi'; the file was edited or is of "
                    "another robot; repeat `identify`"
                )
        return replace(self, estimates=estimates)


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class ScoredPrediction:
    """Prediction of a log by an estimate, with scores by joint."""

    nominal: Robot
    """The nominal model, with the transition velocities of the estimate."""
    estimate: SavedEstimate
    logs: Logs
    """The log, with notes on its reading."""
    prediction: LogPrediction
    unmodeled: tuple[UnmodeledFunction, ...]
    """Unmodeled torque of the fit, which the prediction includes."""
    warning: str
    """Contradictions between log and nominal model; empty if there are none."""

    @property
    def passed(self) -> bool:
        """Whether the log has no warning."""
        return not self.warning

    def content(self) -> dict[str, Any]:
        """Return the prediction and its scores as JSON values."""
        content: dict[str, Any] = {
            "robot": self.nominal.name,
            "estimator": self.estimate.chosen.estimator,
        }
        content |= {"imported": self.logs.notes, **self.prediction.content()}
        return content | ({"warning": self.warning} if self.warning else {})

    def write_torques(self, path: str | Path) -> None:
        """Write measured and predicted torques at the times of the log as CSV.

        Parameters
        ----------
        path : str or Path
            File to write.
        """
        prediction, names = self.prediction, self.nominal.joint_names
        heads = ["t", *(f"{kind}.{name}" for name in names for kind in ("tau", "predicted"))]
        torques = np.stack([prediction.measured, prediction.predicted], axis=2).reshape(
            prediction.t.size, -1
        )
        with atomic_path(path) as temporary:
            options: dict[str, Any] = {"delimiter": ",", "comments": "", "fmt": "%.12g"}
            np.savetxt(
                temporary,
                np.column_stack([prediction.t, torques]),
                header=",".join(heads),
                **options,
            )


def predict(
    estimate: SavedEstimate | Identification | str | Path,
    log: Logs | Log,
    nominal: Robot,
    *,
    preprocessor: Preprocessor | str = "adaptive",
    joint_parameters: tuple[str, ...] = EstimationConfig().joint_parameters,
    force: bool = False,
) -> ScoredPrediction:
    """Predict the torques of a log from its positions, and score the prediction by joint.

    Parameters
    ----------
    estimate : SavedEstimate, Identification, str or Path
        File or identification, whose chosen estimate predicts.
    log : Logs or Log
        A log that was not used in the fit, as returned by `read_log`.
    nominal : Robot
        The nominal model, as for `identify`.
    preprocessor : Preprocessor or str
        Computes the motion of the log.
    joint_parameters : tuple of str
        Joint parameters that were estimated, as for `identify`.
    force : bool
        Use a log that has an error.

    Returns
    -------
    prediction : ScoredPrediction
        Torques, bands if the estimate has them, and scores.

    Raises
    ------
    FileFormatError
        If the estimate is of another robot, or its fit failed.
    LogError
        If the log is of another robot, has no torques, or has an error.
    """
    saved, logs = SavedEstimate.from_estimate(estimate), Logs.from_logs(log)
    measured = saved.find_measured_joints(nominal)
    with_gravity = apply_saved_gravity(nominal, saved.context)
    nominal = apply_saved_eps(with_gravity, saved.context)
    basis = base_parameters(nominal, joint_parameters, measured)
    if (constants := read_constants(saved.context, nominal.dof, saved.name)) is not None:
        logs = replace_constants(logs, constants)
    (logs,) = add_constants(logs, nominal, basis)
    saved = saved.select_robot(nominal, basis)
    chosen, context = saved.chosen, saved.context
    if not chosen.success:
        raise FileFormatError(f"{saved.name}: the chosen fit failed: {chosen.message}")
    warning = check_logs(logs.read, with_gravity, basis, refuse=not force).errors
    if isinstance(preprocessor, str):
        preprocessor = build_preprocessor(PreprocessConfig(name=preprocessor))
    preprocessor = ignore_velocities(preprocessor, context.get("torque_delay"))
    unmodeled, terms = read_unmodeled(context, nominal), terms_of(context, nominal)
    error = _model_error(context, nominal, basis, measured)
    with one_blas_thread():
        model = (nominal, basis, preprocessor, unmodeled, terms)
        predicted = predict_log(chosen.beta, logs[0], *model, error)
    return ScoredPrediction(nominal, saved, logs, predicted, tuple(unmodeled), warning)


def _model_error(
    context: Mapping[str, Any], nominal: Robot, basis: BaseParameters, measured: Bool1D
) -> ModelError | None:
    """Read the model error of an estimate file, if it has one; NaN for unmeasured joints."""
    saved = context.get("model_error")
    if saved is None:
        return None
    with _require_format("model_error"):
        std = readonly(saved["std"], shape=measured.shape, name="std")
        functions = _read(tuple[UncertainFunction, ...], saved.get("functions", ()))
        for function in functions:
            where = (function.joint, function.quantity)
            require_function_of(nominal, *where, function.knots, function.mean)
            if not function.knots:
                raise ValueError(f"the function of {function.quantity} has no knots")
        size = basis.rank + sum(len(function.knots) for function in functions)
        cov = readonly(saved["cov"], shape=(size, size), name="cov")
        if (std < 0.0).any() or (np.diag(cov) < 0.0).any():
            raise ValueError("a standard deviation or a variance is negative")
    return ModelError(np.where(measured, std, np.nan), cov, functions)


def read_unmodeled(context: Mapping[str, Any], nominal: Robot) -> list[UnmodeledFunction]:
    """Read the unmodeled torque from the content of an estimate file."""
    with _require_format("unmodeled_torque"):
        functions = _read(list[UnmodeledFunction], context.get("unmodeled_torque", ()))
        for f in functions:
            require_function_of(nominal, f.joint, f.quantity, f.knots, f.values)
    return functions


def terms_of(context: Mapping[str, Any], nominal: Robot) -> list[JointTerm]:
    """Read the joint terms from the content of an estimate file."""
    keys = ("kind", "joint", "values", "shape", "partner")
    with _require_format("terms"):
        items = [
            {key: term[key] for key in keys if key in term} for term in context.get("terms", ())
        ]
        terms = _read(list[JointTerm], items)
        require_terms_of(terms, nominal.joint_names, nominal.name)
    return terms


@contextmanager
def _require_format(name: str) -> Iterator[None]:
    """Raise `FileFormatError` if an entry of an estimate file does not have its format."""
    try:
        yield
    except ValidationError as error:
        first = error.errors()[0]
        location, reason = ".".join(map(str, first["loc"])), first["msg"]
        raise FileFormatError(
            f"{_MISMATCH_MESSAGE.format(name)}: '{location}': {reason}"
        ) from error
    except (AttributeError, KeyError, TypeError, ValueError, RobotIdError) as error:
        raise FileFormatError(f"{_MISMATCH_MESSAGE.format(name)}: {error}") from error


def _read(kind: type[Parsed], content: object) -> Parsed:
    """Convert JSON values to a dataclass; texts that are numbers become numbers."""
    return TypeAdapter(kind, config=ConfigDict(extra="forbid")).validate_python(content)
