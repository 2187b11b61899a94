"""Figures 2 to 5 of the paper, and errors in the engine."""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.chart import Band, Chart, Curve, Mark, Points, Space, Style
from robotid_sim.kinematics.forward import link_poses
from robotid_sim.palette import joint_role
from robotid_sim.papers.charts import convergence_chart, drawing, motion_chart, plotted
from robotid_sim.papers.irb120 import model
from robotid_sim.papers.irb120.campaign import DRIVEN, MupsoResults
from robotid_sim.papers.irb120.engine_claims import LABEL
from robotid_sim.papers.irb120.tables import LABELS

SAMPLES = 400


def swarm_size(results: MupsoResults) -> Chart:
    """Return Figure 2: best cost and time by number of particles."""
    sizes = np.array(model.SWARM_SIZES, dtype=float)
    costs = [results.conditions(size, "size") for size in model.SWARM_SIZES]
    times = np.array([results.grid.mean(size, "seconds", "size") for size in model.SWARM_SIZES])
    every = np.concatenate([np.full(c.size, s) for s, c in zip(sizes, costs, strict=True)])
    printed = np.array(list(model.FIGURE_2), dtype=float)
    cost, seconds = (np.array([row[k] for row in model.FIGURE_2.values()]) for k in (0, 1))
    reference = model.SWARM_SIZES.index(model.POPULATION)
    costs_of_runs = (
        Points(every, np.concatenate(costs), "a run", "raw"),
        Curve(sizes, np.array([c.mean() for c in costs]), "mean", "identified"),
        Points(printed, cost, "paper", "nominal", size=5.0, symbol="diamond"),
    )
    relative_times = (
        Curve(sizes, times / times[reference], "mean", "identified"),
        Points(printed, seconds / seconds[0], "paper", "nominal", size=5.0, symbol="diamond"),
    )
    labels = {"condition number [-]": costs_of_runs, "time / that of 50 [-]": relative_times}
    panels = (
        plotted(marks, "particles [-]", label, x_range=(25.0, 75.0))
        for label, marks in labels.items()
    )
    return drawing("figure-2", *panels, columns=2, height=1.8)


def convergence(results: MupsoResults) -> Chart:
    """Return Figure 3: mean convergence of all methods."""
    marks: list[Mark] = []
    for k, method in enumerate((*model.METHODS, "random")):
        curves = results.grid.values(method, "curve", "table-3")
        x, y = curves[0, 0] / model.POPULATION, curves[:, 1]
        if method == "mupso":
            marks.append(Band(x, y.min(axis=0), "MuPSO, all runs", "raw", upper=y.max(axis=0)))
        style: Style = "dashed" if method == "random" else "solid"
        marks.append(Curve(x, y.mean(axis=0), LABELS[method], joint_role(k), style, 1.3))
    labels = ("iteration, of 50 evaluations [-]", "condition number [-]")
    best = float(results.conditions("gradient").min())
    return convergence_chart("figure-3", {"": marks}, labels, 2.8, levels=(best,))


def cartesian_path(results: MupsoResults) -> Chart:
    """Return Figure 4: the path of the wrist center."""
    gradient = results.grid.best("gradient", "condition", "table-3")
    paths = (
        (label, role, np.array([_wrist(q) for q in _motion(x)[0]]))
        for label, role, x in (
            ("gradient", "nominal", np.array(gradient["x"])),
            ("MuPSO", "identified", results.best),
        )
    )
    arm = ("arm at the start", "muted", _skeleton(_motion(results.best)[0][0]))
    return drawing("figure-4", Space(curves=(arm, *paths)), height=4.0)


def joint_space(results: MupsoResults) -> Chart:
    """Return Figure 5: velocity and acceleration of the joints; their position too."""
    t = model.PERIOD * np.arange(SAMPLES) / SAMPLES
    return motion_chart("figure-5", t, _motion(results.best), ("rad", "rad/s", "rad/s²"))


def driven(results: MupsoResults) -> Chart:
    """Return errors in the engine over condition numbers, a point a log."""

    def points(kind: str, what: str, role: str) -> Points:
        errors = results.grid.values(kind, what, "engine")
        conditions = results.grid.values(kind, "condition", "engine")
        x = np.repeat(conditions, errors.shape[1])
        return Points(x, errors.ravel(), LABEL[kind], role, size=3.0)

    roles = {kind: joint_role(k) for k, kind in enumerate(DRIVEN)}
    panels = (
        plotted(
            (points(kind, what, role) for kind, role in roles.items()),
            "condition number [-]",
            label,
            x_scale="log",
            y_scale="log",
        )
        for what, label in (
            ("relative", "parameter error [%]"),
            ("unseen", "unseen torque error [%]"),
        )
    )
    return drawing("engine", *panels, columns=2, height=2.2)


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


def all_charts(results: MupsoResults) -> tuple[Chart, ...]:
    """Return all figures."""
    charts = (swarm_size, convergence, cartesian_path, joint_space, driven)
    return tuple(chart(results) for chart in charts)
