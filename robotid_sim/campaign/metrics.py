"""Metrics of a trial, of its estimate and of its closed loop."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from robotid_sim.arrays import rms
from robotid_sim.docstrings import document_attributes
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.pipeline.result import EstimateResult
from robotid_sim.section import number, percent
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.comparison import NOMINAL, UNDISTURBED_NAME

INTERVAL_QUANTILE = 1.96
"""Half width of a 95 % interval in standard deviations."""


@document_attributes
@dataclass(frozen=True, slots=True)
class Metric:
    """A number of every trial."""

    label: str
    """Label in tables and figures."""
    unit: str = ""
    """Unit; ``%`` for shares."""
    of_loop: bool = False
    """Whether it needs the closed loop."""

    def format_value(self, value: float | None) -> str:
        """Format a value with its unit."""
        if self.unit == "%":
            return percent(value, 3)
        text = number(value, 3)
        return f"{text} {self.unit}" if self.unit and text != "-" else text


METRICS: Mapping[str, Metric] = {
    "model_error": Metric("model error on the validation motion, worst joint", "%"),
    "parameter_error": Metric("RMS error of the base parameters over their RMS value", "%"),
    "std": Metric("RMS standard deviation of the base parameters over their RMS value", "%"),
    "nees": Metric("squared error over variance (NEES)"),
    "coverage": Metric("parameters within their 95 % intervals", "%"),
    "residual": Metric("residual over the torque, worst joint", "%"),
    "cost": Metric("cost of the estimate over the cost of least squares"),
    "fit_seconds": Metric("time of the fit", "s"),
    "tracking_error": Metric("tracking error with the model, RMS", "rad", of_loop=True),
    "tracking_gap": Metric("remaining tracking gap to the true model", "%", of_loop=True),
    "tracking_gain": Metric("tracking error over that of the nominal model", "%", of_loop=True),
}
"""Metrics by their names in a plan and in the store."""


def metrics_of(result: EstimateResult, estimate: Estimate) -> dict[str, float | None]:
    """Compute the metrics of a scored estimate, None where unknown."""
    true = np.array([p.true for p in result.base_parameters], dtype=float)
    error, std = estimate.beta - true, estimate.std
    size = float(rms(true))
    spread = float(rms(std)) / size
    predicted = result.validation.model_error_relative if result.validation else []
    has_std = np.isfinite(std) & (std > 0.0)
    covered = np.abs(error[has_std]) <= INTERVAL_QUANTILE * std[has_std]
    return {
        "model_error": max((e for e in predicted if e is not None), default=None),
        "parameter_error": float(rms(error)) / size,
        "std": spread if np.isfinite(spread) else None,
        "nees": result.nees,
        "coverage": float(covered.mean()) if has_std.any() else None,
        "residual": max(result.torque_rms_relative),
        "cost": result.fitness_over_ls,
        "fit_seconds": result.seconds,
    }


def loop_metrics(loop: ClosedLoop, model: str, units: tuple[str, ...]) -> dict[str, float | None]:
    """Compute the metrics of the closed loop with a model.

    The error is that of the first lap in the first scenario with a disturbance, else without one;
    the gap is that of the undisturbed laps.
    """
    lap = loop.laps[0] if loop.laps else loop.tasks[0].name
    scenario = next((name for name in loop.scenarios if name != UNDISTURBED_NAME), UNDISTURBED_NAME)
    run, nominal_run = (loop.find(m, scenario, lap) for m in (model, NOMINAL))
    if run is None:
        return {"tracking_error": None, "tracking_gap": None, "tracking_gain": None}
    error = float(rms(run.rms_error))
    return {
        "tracking_error": error,
        "tracking_gap": loop.gap_left(units, model),
        "tracking_gain": None if nominal_run is None else error / float(rms(nominal_run.rms_error)),
    }
