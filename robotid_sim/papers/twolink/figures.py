"""Figures 4 to 7 of the paper, and two that answer questions it leaves open."""

from collections.abc import Iterator

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Panel, Style
from robotid_sim.chart import Curve as Line
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.campaign import ROUNDING, SEARCHES, Results
from robotid_sim.papers.twolink.model import known_torque
from robotid_sim.papers.twolink.tables import errors_at, relative_parameter_error
from robotid_sim.papers.twolink.trials import checkpoints

COLORS = {"LS": "joint-3", "GA": "joint-2", "SPSO": "joint-1", "ELPIDSO": "joint-0"}
UNFAIR = "LS, differentiated"
UNFAIR_NOISE = 1e-6
"""Noise of the positions that least squares is given in the unfair comparison [rad]."""
SHOWN = 1.0
"""Time shown of a validation run [s]; the rest repeats it with slow changes."""
SMALLEST = 1e-17
"""Torque errors below are drawn here [N m]."""


def convergence(results: Results) -> Chart:
    """Return Figure 4: the median best cost against evaluations."""
    panels = []
    for k, rho in enumerate(model.FITTED):
        lines = []
        for method in SEARCHES:
            found = results.exact.searches[rho, method]
            median = np.maximum(np.median(found.curves, axis=0), ROUNDING)
            x = checkpoints(found.evaluations)
            lines.append(Line(x, median, method, COLORS[method], width=1.4))
        panels.append(
            Panel(
                marks=tuple(lines),
                x_label="evaluations [-]",
                y_label="J - J of LS [N² m²]" if k % 2 == 0 else "",
                title=f"({'abcde'[k]}) ρ = {rho:g}",
                x_scale="log",
                y_scale="log",
                y_range=(ROUNDING / 10.0, 30.0),
                levels=(ROUNDING,),
            )
        )
    return Chart(
        name="figure-4",
        title="Figure 4: median convergence",
        caption="Median over the runs of the best cost so far, above that of least squares, on "
        "exact data. Least squares lies at the dashed line, below which there is only rounding.",
        panels=tuple(panels),
        columns=2,
        panel_height=1.6,
    )


def validation(results: Results, rho: float, place: int) -> Chart:
    """Return one of Figures 5 to 7: torques predicted for an unseen trajectory.

    Parameters
    ----------
    results : Results
        What came out.
    rho : float
        The trajectory.
    place : int
        Number of the figure in the paper.
    """
    return Chart(
        name=f"figure-{place}",
        title=f"Figure {place}: measured and estimated torques, ρ = {rho:g}",
        caption="Torques predicted with the median parameters of the runs, mean over ρ (left), and "
        f"their errors (right), the first {SHOWN:g} s. '{UNFAIR}' got positions with "
        f"{UNFAIR_NOISE:g} rad of noise and their numerical derivatives, the others exact states.",
        panels=tuple(_validation_panels(results, rho)),
        columns=2,
        panel_height=1.7,
        share_x=True,
    )


def _validation_panels(results: Results, rho: float) -> Iterator[Panel]:
    """Yield torque and error of joint 1, then of joint 2."""
    run = results.driven[rho]
    kept = run.t <= SHOWN
    t, Y = run.t[kept], run.regressor().reshape(-1, 2, 4)[kept]
    measured, known = run.tau[kept], known_torque(run.q)[kept]
    estimates = {m: results.exact.final(m, "median") for m in COLORS}
    estimates[UNFAIR] = unfair_estimate(results)
    for j in (0, 1):
        torques = [Line(t, measured[:, j], "measured", "true", width=1.6)]
        errors = []
        for method, found in estimates.items():
            color = COLORS.get(method, "joint-4")
            style: Style = "dotted" if method == UNFAIR else "dashed"
            predicted = Y[:, j] @ found + known[:, j]
            error = np.maximum(np.abs(measured[:, j] - predicted), SMALLEST)
            torques.append(Line(t, predicted, method, color, style))
            errors.append(Line(t, error, method, color))
        letters = "abcd"[2 * j : 2 * j + 2]
        yield Panel(
            marks=tuple(torques),
            x_label="time [s]",
            y_label="torque [N m]",
            title=f"({letters[0]}) joint {j + 1}",
        )
        yield Panel(
            marks=tuple(errors),
            x_label="time [s]",
            y_label="error [N m]",
            title=f"({letters[1]}) joint {j + 1}",
            y_scale="log",
        )


def unfair_estimate(results: Results) -> Float1D:
    """Return what least squares finds in noisy, differentiated positions, mean over all draws."""
    draws = [
        draw["LS"]
        for (noise, _), found in results.differentiated.items()
        if noise == UNFAIR_NOISE
        for draw in found
    ]
    return np.asarray(np.mean(draws, axis=0))


def engine_gap(results: Results) -> Chart:
    """Return the difference of the motions in the engine and by integration."""
    panels = []
    for rho in (model.FITTED[0], model.FITTED[2], model.FITTED[-1]):
        found = results.engine[rho]
        lines = tuple(
            Line(np.array(found["t"]), 1e6 * np.array(gap), f"joint {j + 1}", f"joint-{j}")
            for j, gap in enumerate(found["gap"])
        )
        panels.append(
            Panel(
                marks=lines, x_label="time [s]", y_label="difference [µrad]", title=f"ρ = {rho:g}"
            )
        )
    return Chart(
        name="engine",
        title="Motion in the engine less analytic motion",
        caption="The engine holds the torque for 1 ms and steps four times in between; the "
        "analytic motion is a Runge-Kutta solution of fourth order with steps of 10 ms.",
        panels=tuple(panels),
        columns=3,
        panel_height=1.5,
    )


def differentiation(results: Results) -> Chart:
    """Return the parameter errors against the noise of differentiated positions."""
    marks: list[Line] = []
    noises = np.array(sorted({noise for noise, _ in results.differentiated if noise > 0.0}))
    compared: tuple[tuple[str, str, Style], ...] = (
        ("LS", "joint-3", "solid"),
        ("ELPIDSO", "joint-0", "dashed"),
    )
    for method, color, style in compared:
        errors = [errors_at(results, noise, method).mean() for noise in noises]
        label = f"{method}, same data"
        marks.append(Line(noises, 100.0 * np.array(errors), label, color, style, width=1.6))
    exact = 100.0 * relative_parameter_error(results.exact.final("ELPIDSO", "median"))
    marks.append(
        Line(noises, np.full(noises.size, exact), "ELPIDSO, exact states", "joint-0", "dotted")
    )
    return Chart(
        name="differentiation",
        title="What makes least squares look bad",
        caption="Error of the parameters against the noise of the positions: median of the draws, "
        "mean over ρ. Given the same "
        "data, ELPIDSO fails with least squares; only exact states save it.",
        panels=(
            Panel(
                marks=tuple(marks),
                x_label="noise of positions [rad]",
                y_label="error [%]",
                x_scale="log",
                y_range=(-5.0, 110.0),
            ),
        ),
        panel_height=2.2,
    )
