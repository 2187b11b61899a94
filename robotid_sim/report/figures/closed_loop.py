"""Figures of the closed loop: errors, torques and energy with three models, and the trade-off."""

from collections.abc import Callable, Sequence

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.report.chart import Chart, Line, Panel, Points, Style, Symbol
from robotid_sim.validation.closed_loop import ClosedLoop, ControlRun, ModelName
from robotid_sim.validation.prediction import rms

MODELS: tuple[ModelName, ...] = ("nominal", "true", "identified")
"""In the order of drawing: the identified model lies on top of the true one."""

SCENARIOS = ("undisturbed", "disturbed")
SYMBOLS: dict[str, Symbol] = {
    "sliding-mode": "circle",
    "computed-torque": "square",
    "gravity-pd": "diamond",
}
MILLI = 1e3


def _lap(loop: ClosedLoop) -> str:
    """Return the lap that is drawn joint by joint: the fast one, where models matter most."""
    return next((lap for lap in loop.laps if lap.endswith("fast")), loop.laps[0])


def joint_errors(loop: ClosedLoop, joint_names: Sequence[str], units: Sequence[str]) -> Chart:
    """Return the tracking error of every joint with the three models, disturbed and not."""
    return _by_joint(
        loop,
        joint_names,
        lambda run, j: MILLI * run.trace.error[:, j],
        [f"error [m{unit}]" for unit in units],
        name="joint-errors",
        title="Tracking error of the joints",
        caption="Sliding mode on the fast lap, undisturbed (left) and under the disturbance "
        "(right). Only the model inside the controller differs.",
    )


def joint_torques(loop: ClosedLoop, joint_names: Sequence[str], units: Sequence[str]) -> Chart:
    """Return the applied torque of every joint with the three models, disturbed and not."""
    return _by_joint(
        loop,
        joint_names,
        lambda run, j: run.trace.tau[:, j],
        [f"torque [{'N' if unit == 'm' else 'N m'}]" for unit in units],
        name="joint-torques",
        title="Torque in the loop",
        caption="Applied torques on the fast lap, undisturbed (left) and under the disturbance "
        "(right): the plant decides them, so that all models need nearly the same.",
    )


def tool_errors(loop: ClosedLoop) -> Chart:
    """Return the distance of the tool from its path with the three models, lap by lap."""
    return _by_lap(
        loop,
        lambda run: MILLI * run.trace.tip_error,
        "tool error [mm]",
        name="tool-errors",
        title="Tracking error of the tool",
        caption="Distance of the tool from where it should be, for every lap.",
    )


def energies(loop: ClosedLoop) -> Chart:
    """Return the energy that the drives exchange with the arm, lap by lap."""
    return _by_lap(
        loop,
        lambda run: run.trace.energy,
        "energy [J]",
        name="energy",
        title="Energy",
        caption="Integral of |torque x velocity| over all joints, for every lap.",
    )


def pareto(loop: ClosedLoop, units: Sequence[str]) -> Chart:
    """Return tracking error against effort of every run on the fast lap."""
    lap, panels = _lap(loop), []
    unit = units[0]
    kept = [u == unit for u in units]
    for scenario in SCENARIOS:
        marks = []
        for run in loop.runs:
            if (run.task, run.scenario) == (lap, scenario):
                effort = float(run.torque_variation[kept].mean())
                error = MILLI * float(rms(run.rms_error[kept]))
                marks.append(
                    Points(
                        np.array([effort]),
                        np.array([error]),
                        f"{run.controller}, {run.model}",
                        run.model,
                        symbol=SYMBOLS.get(run.controller, "circle"),
                        size=6.0,
                    )
                )
        panels.append(
            Panel(
                marks=tuple(marks),
                x_label=f"mean RMS rate of torque [{'N' if unit == 'm' else 'N m'}/s]",
                y_label=f"RMS error [m{unit}]",
                y_scale="log",
                title=scenario,
            )
        )
    return Chart(
        name="pareto",
        title="Tracking against effort",
        caption="Every controller and model on the fast lap: low is accurate, left is gentle on "
        "the drives.",
        panels=tuple(panels),
        columns=2,
        panel_height=2.2,
    )


def _by_joint(
    loop: ClosedLoop,
    joint_names: Sequence[str],
    value: Callable[[ControlRun, int], Float1D],
    labels: Sequence[str],
    *,
    name: str,
    title: str,
    caption: str,
) -> Chart:
    lap = _lap(loop)
    panels = []
    for j, joint in enumerate(joint_names):
        for scenario in SCENARIOS:
            runs = [loop.find(model, scenario, lap) for model in MODELS]
            panels.append(
                Panel(
                    marks=tuple(_line(run, value(run, j)) for run in runs),
                    x_label="time [s]",
                    y_label=labels[j] if scenario == "undisturbed" else "",
                    title=f"{joint}, {scenario}",
                )
            )
    return Chart(
        name=name,
        title=title,
        caption=caption,
        panels=tuple(panels),
        columns=len(SCENARIOS),
        panel_height=0.85,
    )


def _by_lap(
    loop: ClosedLoop,
    value: Callable[[ControlRun], Float1D],
    label: str,
    *,
    name: str,
    title: str,
    caption: str,
) -> Chart:
    panels = []
    for lap in loop.laps:
        for scenario in SCENARIOS:
            runs = [loop.find(model, scenario, lap) for model in MODELS]
            panels.append(
                Panel(
                    marks=tuple(_line(run, value(run)) for run in runs),
                    x_label="time [s]",
                    y_label=label if scenario == "undisturbed" else "",
                    title=f"{lap}, {scenario}",
                )
            )
    return Chart(
        name=name,
        title=title,
        caption=caption,
        panels=tuple(panels),
        columns=len(SCENARIOS),
        panel_height=1.3,
    )


def _line(run: ControlRun, y: Float1D) -> Line:
    style: Style = "dashed" if run.model == "true" else "solid"
    width = 1.6 if run.model == "true" else 1.0
    return Line(run.trace.t, y, run.model, run.model, style=style, width=width)
