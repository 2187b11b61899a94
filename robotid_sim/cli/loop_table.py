"""The closed loop in a terminal."""

from collections.abc import Mapping, Sequence

import numpy as np

from robotid_sim.cli import output
from robotid_sim.study.result import ControlResult
from robotid_sim.validation.closed_loop import IDENTIFIED, NOMINAL, TRUE, UNDISTURBED


def print_control(runs: Sequence[ControlResult], units: Sequence[str]) -> None:
    """Print the tracking errors of the first controller on the paths, by model, mean over runs."""
    if not runs:
        return
    controller = runs[0].controller
    paths = [r for r in runs if r.rise_time_s is None and not r.task.endswith("-step")]
    shown = [run for run in paths if run.controller == controller]
    models = list(dict.fromkeys(run.model for run in shown))
    rows = []
    for task, scenario in dict.fromkeys((run.task, run.scenario) for run in shown):
        for unit in dict.fromkeys(units):
            means = {}
            for model in models:
                cases = [
                    r for r in shown if (r.task, r.scenario, r.model) == (task, scenario, model)
                ]
                if cases:
                    means[model] = _mean_error(cases, [u == unit for u in units])
            cells = [f"{1e3 * means[m]:.4g} m{unit}" if m in means else "-" for m in models]
            rows.append([task, scenario, *cells, _gap_closed(means, scenario)])
    output.print_line()
    output.print_table(
        f"{controller} in the engine: RMS tracking error of all joints, by the model in the loop",
        ["task", "scenario", *models, "gap closed"],
        rows,
        text_columns=2,
    )
    output.print_line()


def _mean_error(runs: Sequence[ControlResult], of_unit: Sequence[bool]) -> float:
    """Return the RMS error of all joints of one unit, mean over the runs."""
    errors = np.array([run.rms_error for run in runs])[:, np.array(of_unit)]
    return float(np.sqrt((errors**2).mean(axis=1)).mean())


def _gap_closed(errors: Mapping[str, float], scenario: str) -> str:
    """Return how much of the gap between nominal and true model the identified one closes."""
    if scenario != UNDISTURBED or not {TRUE, NOMINAL, IDENTIFIED} <= errors.keys():
        return "-"
    gap = errors[NOMINAL] - errors[TRUE]
    return output.percent((errors[NOMINAL] - errors[IDENTIFIED]) / gap) if gap > 0.0 else "-"
