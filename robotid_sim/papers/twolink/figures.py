"""Figures 4 to 7 of the paper, and two that answer questions it leaves open."""

from collections.abc import Iterator

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.chart import Chart, Curve, Panel, Style
from robotid_sim.papers.charts import convergence_chart, drawing, plotted
from robotid_sim.papers.twolink import model
from robotid_sim.papers.twolink.campaign import ROUNDING, SEARCHES, ElpidsoResults
from robotid_sim.papers.twolink.model import known_torque
from robotid_sim.papers.twolink.tables import errors_at, relative_parameter_error
from robotid_sim.papers.twolink.trials import checkpoints
from robotid_sim.papers.twolink.variants import POINTS

COLORS = {"LS": "joint-3", "GA": "joint-2", "SPSO": "joint-1", "ELPIDSO": "joint-0"}
SPREADS: tuple[tuple[str, str, Style], ...] = (
    ("ELPIDSO", "joint-0", "solid"),
    ("drawn velocities", "joint-0", "dashed"),
    ("without I, D", "joint-5", "solid"),
    ("without ELS", "joint-2", "solid"),
    ("SPSO", "joint-1", "solid"),
    ("SPSO, drawn velocities", "joint-1", "dashed"),
)
"""Variants whose diversity is drawn."""
UNFAIR = "LS, differentiated"
UNFAIR_NOISE = 1e-6
"""Noise of the positions that least squares is given in the unfair comparison [rad]."""
SHOWN = 1.0
"""Time shown of a validation run [s]; the rest repeats it with slow changes."""
SMALLEST = 1e-17
"""Torque errors below are drawn here [N m]."""


def convergence(results: ElpidsoResults) -> Chart:
    """Return Figure 4: the median best cost against evaluations."""
    x = checkpoints(results.exact.evaluations)
    panels = {}
    for k, rho in enumerate(model.FITTED):
        medians = {m: results.exact.grid.median(m, "curve", rho) for m in SEARCHES}
        panels[f"({'abcde'[k]}) ρ = {rho:g}"] = [
            Curve(x, np.maximum(median, ROUNDING), method, COLORS[method], width=1.4)
            for method, median in medians.items()
        ]
    return convergence_chart(
        "figure-4",
        panels,
        ("evaluations [-]", "J - J of LS [N² m²]"),
        1.6,
        columns=2,
        x_scale="log",
        y_scale="log",
        y_range=(ROUNDING / 10.0, 30.0),
        levels=(ROUNDING,),
    )


def validation(results: ElpidsoResults, rho: float, place: int) -> Chart:
    """Return one of Figures 5 to 7: torques predicted for an unseen trajectory."""
    panels = _validation_panels(results, rho)
    return drawing(f"figure-{place}", *panels, columns=2, height=1.7, share_x=True)


def _validation_panels(results: ElpidsoResults, rho: float) -> Iterator[Panel]:
    """Yield torque and error of joint 1, then of joint 2."""
    run = results.driven[rho]
    shown = run.t <= SHOWN
    t, Y = run.t[shown], run.regressor().reshape(-1, 2, 4)[shown]
    measured, unscaled = run.tau[shown], known_torque(run.q)[shown]
    estimates = {m: results.exact.final(m, "median") for m in COLORS}
    estimates[UNFAIR] = unfair_estimate(results)
    for j in (0, 1):
        torques = [Curve(t, measured[:, j], "measured", "true", width=1.6)]
        errors = []
        for method, estimate in estimates.items():
            color = COLORS.get(method, "joint-4")
            style: Style = "dotted" if method == UNFAIR else "dashed"
            predicted = Y[:, j] @ estimate + unscaled[:, j]
            error = np.maximum(np.abs(measured[:, j] - predicted), SMALLEST)
            torques.append(Curve(t, predicted, method, color, style))
            errors.append(Curve(t, error, method, color))
        first, second = (f"({letter}) joint {j + 1}" for letter in "abcd"[2 * j : 2 * j + 2])
        yield plotted(torques, "time [s]", "torque [N m]", title=first)
        yield plotted(errors, "time [s]", "error [N m]", title=second, y_scale="log")


def unfair_estimate(results: ElpidsoResults) -> Float1D:
    """Return what least squares finds in noisy, differentiated positions, mean over all draws."""
    draws = [
        draw["LS"]
        for (_, noise), runs in results.differentiated.rows.items()
        if noise == UNFAIR_NOISE
        for draw in runs
    ]
    return np.asarray(np.mean(draws, axis=0))


def engine_gap(results: ElpidsoResults) -> Chart:
    """Return the difference of the motions in the engine and by integration."""
    panels = []
    for rho in (model.FITTED[0], model.FITTED[2], model.FITTED[-1]):
        t = np.array(results.engine[rho]["t"])
        lines = (
            Curve(t, 1e6 * np.array(gap), f"joint {j + 1}", f"joint-{j}")
            for j, gap in enumerate(results.engine[rho]["gap"])
        )
        panels.append(plotted(lines, "time [s]", "difference [µrad]", title=f"ρ = {rho:g}"))
    return drawing("engine", *panels, columns=3, height=1.5)


def differentiation(results: ElpidsoResults) -> Chart:
    """Return the parameter errors against the noise of differentiated positions."""
    noises = np.array(sorted({noise for _, noise in results.differentiated.rows if noise > 0.0}))
    exact = 100.0 * relative_parameter_error(results.exact.final("ELPIDSO", "median"))
    ls, swarm = (
        100.0 * np.array([errors_at(results, noise, method).mean() for noise in noises])
        for method in ("LS", "ELPIDSO")
    )
    marks = (
        Curve(noises, ls, "LS, same data", "joint-3", "solid", width=1.6),
        Curve(noises, swarm, "ELPIDSO, same data", "joint-0", "dashed", width=1.6),
        Curve(noises, np.full(noises.size, exact), "ELPIDSO, exact states", "joint-0", "dotted"),
    )
    axes = {"x_scale": "log", "y_range": (-5.0, 110.0)}
    panel = plotted(marks, "noise of positions [rad]", "error [%]", **axes)
    return drawing("differentiation", panel, height=2.2)


def diversity(results: ElpidsoResults) -> Chart:
    """Return the diversity of the swarms over the search, mean over runs and trajectories."""
    grid = results.variants
    curves = {
        variant: np.mean([grid.mean(variant, "diversity", rho) for rho in model.FITTED], axis=0)
        for variant, _, _ in SPREADS
    }
    share = np.linspace(0.0, 1.0, POINTS, endpoint=False)
    panels = []
    for rows in (SPREADS[:4], (*SPREADS[:2], *SPREADS[4:])):
        lines = [
            Curve(share, curves[variant], variant, color, style, width=1.6)
            for variant, color, style in rows
        ]
        panels.append(plotted(lines, "share of the search [-]", "diversity [boxes]"))
    return drawing("diversity", *panels, columns=2, height=2.2)


def all_charts(results: ElpidsoResults) -> tuple[Chart, ...]:
    """Return all figures."""
    unseen = enumerate(model.VALIDATED, start=5)
    return (
        engine_gap(results),
        convergence(results),
        *(validation(results, rho, place) for place, rho in unseen),
        diversity(results),
        differentiation(results),
    )
