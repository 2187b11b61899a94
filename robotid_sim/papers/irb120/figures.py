"""Figures 2 to 5 of the paper."""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Band, Chart, Mark, Panel, Points, Space, Style
from robotid_sim.chart import Curve as Line
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.palette import joint_role
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import Results, curves, values
from robotid_sim.papers.irb120.tables import LABELS

SAMPLES = 400
SIZE_RANGE = (25.0, 75.0)


def swarm_size(found: Results) -> Chart:
    """Return Figure 2: best cost and time by number of particles."""
    sizes = np.array(model.SWARM_SIZES, dtype=float)
    costs = [values(found.sizes[size]) for size in model.SWARM_SIZES]
    times = np.array([values(found.sizes[size], "seconds").mean() for size in model.SWARM_SIZES])
    every = np.concatenate([np.full(c.size, s) for s, c in zip(sizes, costs, strict=True)])
    printed = np.array(list(model.FIGURE_2), dtype=float)
    cost, seconds = (np.array([row[k] for row in model.FIGURE_2.values()]) for k in (0, 1))
    reference = model.SWARM_SIZES.index(model.POPULATION)
    means = np.array([c.mean() for c in costs])
    costs_of_runs = (
        Points(every, np.concatenate(costs), "a run", "raw"),
        Line(sizes, means, "mean", "identified"),
        Points(printed, cost, "paper", "nominal", size=5.0, symbol="diamond"),
    )
    relative_times = (
        Line(sizes, times / times[reference], "mean", "identified"),
        Points(printed, seconds / seconds[0], "paper", "nominal", size=5.0, symbol="diamond"),
    )
    particles = "particles [-]"
    return Chart(
        name="figure-2",
        title="Figure 2: swarm size",
        caption="Best condition number of every run and its mean (left), and CPU time of a run "
        "over that of 50 particles (right), by the number of particles.",
        panels=(
            Panel(
                marks=costs_of_runs,
                x_label=particles,
                y_label="condition number [-]",
                x_range=SIZE_RANGE,
            ),
            Panel(
                marks=relative_times,
                x_label=particles,
                y_label="time / that of 50 [-]",
                x_range=SIZE_RANGE,
            ),
        ),
        columns=2,
        panel_height=1.8,
    )


def convergence(found: Results) -> Chart:
    """Return Figure 3: mean convergence of all methods."""
    marks: list[Mark] = []
    for k, method in enumerate((*model.METHODS, "random")):
        x, y = curves(found.table_3[method])
        if method == "mupso":
            low, high = y.min(axis=0), y.max(axis=0)
            marks.append(Band(x / model.POPULATION, low, "MuPSO, all runs", "raw", upper=high))
        style: Style = "dashed" if method == "random" else "solid"
        marks.append(
            Line(x / model.POPULATION, y.mean(axis=0), LABELS[method], joint_role(k), style, 1.3)
        )
    best = values(found.table_3["gradient"]).min()
    return Chart(
        name="figure-3",
        title="Figure 3: mean convergence",
        caption="Best condition number so far, mean over the runs, with the range of MuPSO's runs; "
        "the horizontal line is the best of the gradient descents.",
        panels=(
            Panel(
                marks=tuple(marks),
                x_label="iteration, of 50 evaluations [-]",
                y_label="condition number [-]",
                levels=(float(best),),
            ),
        ),
        panel_height=2.8,
    )


def cartesian_path(found: Results) -> Chart:
    """Return Figure 4: the path of the wrist center."""
    curves_in_space = [("arm at the start", "muted", _skeleton(_motion(found.best)[0][0]))]
    gradient = min(found.table_3["gradient"], key=lambda row: float(row["condition"]))
    for label, role, x in (
        ("gradient", "nominal", np.array(gradient["x"])),
        ("MuPSO", "identified", found.best),
    ):
        q = _motion(x)[0]
        points = np.array([_wrist(row) for row in q])
        curves_in_space.append((label, role, points))
    return Chart(
        name="figure-4",
        title="Figure 4: Cartesian path",
        caption="Path of the wrist center by the best run of MuPSO (blue) and of the gradient "
        "descent (orange), its shadow on the lowest plane, and the arm where it starts (gray).",
        panels=(Space(curves=tuple(curves_in_space)),),
        panel_height=4.0,
    )


def joint_space(found: Results) -> Chart:
    """Return Figure 5: velocity and acceleration of the joints; their position too."""
    t = model.PERIOD * np.arange(SAMPLES) / SAMPLES
    labels = ("position [rad]", "velocity [rad/s]", "acceleration [rad/s²]")
    panels = []
    for label, part in zip(labels, _motion(found.best), strict=True):
        lines = (
            Line(t, part[:, j], name.replace("_", " "), joint_role(j))
            for j, name in enumerate(model.arm().joint_names)
        )
        panels.append(Panel(marks=tuple(lines), x_label="time [s]", y_label=label))
    return Chart(
        name="figure-5",
        title="Figure 5: joint space",
        caption="Position, velocity and acceleration of the three joints along the best motion of "
        "MuPSO; velocity and acceleration vanish at both ends, as eq. (48) demands.",
        panels=tuple(panels),
        panel_height=1.3,
        share_x=True,
    )


def _motion(x: Float1D) -> tuple[Float2D, Float2D, Float2D]:
    """Return position, velocity and acceleration of the joints along a motion."""
    return model.problem().space.on_grid(SAMPLES).motion(x)


def _wrist(q: Float1D) -> Float1D:
    """Return the wrist center in the base frame [m], shape (3,)."""
    last = link_poses(model.arm(), q)[-1]
    return np.asarray(last[:3, :3] @ np.array(model.WRIST) + last[:3, 3])


def _skeleton(q: Float1D) -> Float2D:
    """Return base, joints and wrist center as a chain of points."""
    return np.vstack([np.zeros(3), link_poses(model.arm(), q)[:, :3, 3], _wrist(q)])
