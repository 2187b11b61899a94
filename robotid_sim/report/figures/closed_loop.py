"""Figures of the closed loop: errors, torques, energy and path by model."""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Chart, Clock, Curve, Panel, Space, Style, sample_evenly
from robotid_sim.palette import LIGHT_HUES, joint_role
from robotid_sim.section import torque_unit
from robotid_sim.validation.closed_loop import ClosedLoop
from robotid_sim.validation.comparison import IDENTIFIED, NOMINAL, TRUE
from robotid_sim.validation.control_run import ControlRun, Trace

FIRST_FREE_HUE = 2
"""First hue of other models; earlier hues belong to the identified and the nominal model."""

MAX_SCENARIOS = 2
"""Largest number of scenarios in figures by joint."""

MAX_SAMPLES = 500
"""Largest number of samples of a curve, the width of a page in pixels."""

MILLI_FACTOR = 1e3

RowValue = Callable[[ControlRun, Trace, int], Float1D | None]
"""Function that returns the curve of a run in a row, or None."""


def select_lap(loop: ClosedLoop) -> str:
    """Select the task of the figures by joint: a fast path, where model errors matter most."""
    laps = loop.laps or tuple(dict.fromkeys(run.task for run in loop.runs))
    return next((lap for lap in laps if lap.endswith("fast")), laps[0])


def model_role(loop: ClosedLoop, model: str) -> str:
    """Return the color role of a model."""
    if model in (TRUE, NOMINAL, IDENTIFIED):
        return model
    others = [name for name in loop.models if name not in (TRUE, NOMINAL, IDENTIFIED)]
    free = len(LIGHT_HUES) - FIRST_FREE_HUE
    return joint_role(FIRST_FREE_HUE + others.index(model) % free)


def loop_motion(task: str, scenario: str) -> str:
    """Name the motion of a task in a scenario."""
    return f"{task}, {scenario}"


def joint_errors(loop: ClosedLoop, joint_names: Sequence[str], units: Sequence[str]) -> Chart:
    """Plot the tracking error of every joint by model and scenario."""
    return _grid(
        loop,
        _joint_rows(loop, joint_names, [f"error [m{unit}]" for unit in units]),
        lambda _, trace, j: MILLI_FACTOR * trace.error[:, j],
        name="joint-errors",
        title="Tracking error of the joints",
        caption=f"The {loop.controller} loop on {select_lap(loop)} by scenario. Only the model in "
        "the controller differs.",
    )


def torque_differences(loop: ClosedLoop, joint_names: Sequence[str], units: Sequence[str]) -> Chart:
    """Plot the applied torque with every model minus that with the true one."""
    return _grid(
        loop,
        _joint_rows(loop, joint_names, [f"difference [{torque_unit(unit)}]" for unit in units]),
        _subtract_true(loop, lambda trace: trace.tau),
        name="torque-differences",
        title="Torque against that of the true model",
        caption="Applied torque with every model minus that with the true model in the same loop: "
        "the effect of the model error on the drives.",
    )


def energy_differences(loop: ClosedLoop, joint_names: Sequence[str]) -> Chart:
    """Plot the energy that every drive exchanges, minus that with the true model."""
    return _grid(
        loop,
        _joint_rows(loop, joint_names, ["difference [J]"] * len(joint_names)),
        _subtract_true(loop, lambda trace: trace.energy),
        name="energy",
        title="Energy against that of the true model",
        caption=f"Integral of |torque x velocity| of every drive on {select_lap(loop)}, minus that "
        "of the true model in the same loop.",
    )


def _subtract_true(loop: ClosedLoop, channel: Callable[[Trace], Float2D]) -> RowValue:
    """Return a function for `_grid`: a channel of a run minus that with the true model."""
    lap = select_lap(loop)
    references = {
        run.scenario: channel(run.trace)
        for run in loop.runs
        if (run.model, run.task, run.controller) == (TRUE, lap, loop.controller) and run.trace
    }

    def difference(run: ControlRun, trace: Trace, j: int) -> Float1D | None:
        if run.model == TRUE or run.scenario not in references:
            return None
        return np.asarray(channel(trace)[:, j] - references[run.scenario][:, j])

    return difference


def tool_errors(loop: ClosedLoop) -> Chart:
    """Plot the distance of the tool from its reference by model and task."""
    laps = loop.laps or (select_lap(loop),)
    return _grid(
        loop,
        [(lap, lap, "tool error [mm]") for lap in laps],
        lambda _, trace, __: MILLI_FACTOR * trace.tip_error,
        name="tool-errors",
        title="Tracking error of the tool",
        caption="Distance of the tool from its reference, for "
        + ("every path." if loop.laps else f"{laps[0]}."),
        panel_height=1.3,
    )


def plot_tool_path(loop: ClosedLoop) -> Chart:
    """Plot the path of the tool in space by model, with enlarged errors, and its reference."""
    lap, panels = select_lap(loop), []
    for scenario in loop.scenarios[:MAX_SCENARIOS]:
        curves: list[tuple[str, str, Float2D]] = []
        selected = _select_traces(loop, lap, scenario)
        size = max(float(np.ptp(trace.tip_reference, axis=0).max()) for _, trace, _ in selected)
        largest = max(float(trace.tip_error.max()) for _, trace, _ in selected)
        # The power of ten that makes the largest deviation visible.
        factor = float(10.0 ** np.floor(np.log10(0.3 * size / max(largest, 1e-12))))
        for run, trace, role in selected:
            if not curves:
                curves.append(("reference", "muted", trace.tip_reference))
            shown = trace.tip_reference + factor * (trace.tip - trace.tip_reference)
            curves.append((run.model, role, shown[sample_evenly(len(shown), MAX_SAMPLES)]))
        panels.append(Space(curves=tuple(curves), title=f"{scenario}, deviations x {factor:g}"))
    return Chart(
        name="driven-path",
        title="Path of the tool in the loop",
        caption=f"The tool on {lap} and its reference in gray. Deviations are enlarged to be "
        "visible.",
        panels=tuple(panels),
        columns=len(panels),
        panel_height=2.8,
    )


def _select_traces(
    loop: ClosedLoop, lap: str, scenario: str
) -> list[tuple[ControlRun, Trace, str]]:
    """Select the first runs of a task; the identified model is last, on top of the true one."""
    first = [loop.find(model, scenario, lap) for model in loop.models]
    runs = [run for run in first if run is not None]
    runs.sort(key=lambda run: {TRUE: 1, IDENTIFIED: 2}.get(run.model, 0))
    return [(run, run.trace, model_role(loop, run.model)) for run in runs if run.trace is not None]


def _joint_rows(
    loop: ClosedLoop, joint_names: Sequence[str], labels: Sequence[str]
) -> list[tuple[str, str, str]]:
    lap = select_lap(loop)
    return [(lap, joint, label) for joint, label in zip(joint_names, labels, strict=True)]


def _grid(
    loop: ClosedLoop,
    rows: Sequence[tuple[str, str, str]],
    value: RowValue,
    *,
    panel_height: float = 0.85,
    **options: Any,
) -> Chart:
    """Plot one column per scenario; `rows` are task, title and label of each row."""
    scenarios, panels = loop.scenarios[:MAX_SCENARIOS], []
    for (k, (task, title, label)), scenario in product(enumerate(rows), scenarios):
        marks = []
        for run, trace, role in _select_traces(loop, task, scenario):
            if (y := value(run, trace, k)) is not None:
                shown = sample_evenly(trace.t.size, MAX_SAMPLES)
                style: Style = "dashed" if run.model == TRUE else "solid"
                width = 1.6 if run.model == TRUE else 1.0
                marks.append(Curve(trace.t[shown], y[shown], run.model, role, style, width))
        panels.append(
            Panel(
                marks=tuple(marks),
                x_label="time [s]",
                y_label=label if scenario == scenarios[0] else "",
                title=f"{title}, {scenario}",
                clock=Clock(loop_motion(task, scenario)),
            )
        )
    columns = len(scenarios)
    return Chart(panels=tuple(panels), columns=columns, panel_height=panel_height, **options)
