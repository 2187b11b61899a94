"""Figures of how far to trust a fit: residuals over the state, directions, and stretches."""

from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Bool1D, Float1D, Float2D
from robotid_sim.chart import Chart, Curve, Matrix, Panel, Points
from robotid_sim.diagnostics.directions import WeakDirection
from robotid_sim.diagnostics.information import information_shares
from robotid_sim.estimation.correlation import autocorrelation, effective_rows
from robotid_sim.estimation.problem import rows_of, weights_of
from robotid_sim.estimation.restricted import within
from robotid_sim.estimation.state_functions import joint_states
from robotid_sim.palette import joint_role
from robotid_sim.pipeline.identification import Identification
from robotid_sim.report.figures.friction import equal_parts, fitted_model
from robotid_sim.report.what_if import WINDOWS, windows_of
from robotid_sim.section import percent

BINS = 20
"""Values of a quantity at which the residual of a joint is shown, at most."""

FEWEST = 15
"""Samples of each of them, at least."""

SURE = 4.0
"""Standard errors that a mean residual does not reach by chance."""


def residuals_over_state(fit: Identification) -> Chart:
    """Return the mean residual of every joint over its position, velocity and load.

    Residuals are those of the rows as the model has them, before what it lacks is allowed for.
    Over load they count in the direction of motion, as friction does.
    """
    rows, states = fit.plain, joint_states(fit.motion, fitted_model(fit))
    residual = rows.by_joint(rows.y - rows.W @ fit.chosen.beta)
    forward = np.sign(rows_of(fit.motion, np.column_stack([state.dq for state in states])))
    quantities = {
        "position": ([_centered(state.q) for state in states], residual),
        "velocity": ([state.dq for state in states], residual),
        "size of the load": ([np.abs(state.load) for state in states], residual * forward),
    }
    panels: list[Panel] = []
    reach = 1.25 * SURE
    for quantity, (columns, values) in quantities.items():
        at = _scaled(rows_of(fit.motion, np.column_stack(columns)))
        marks = []
        for j in map(int, np.flatnonzero(rows.measured)):
            x, mean = _in_errors(at[:, j], values[:, j])
            marks.append(Curve(x, mean, rows.joint_names[j], joint_role(j)))
            reach = max(reach, 1.1 * float(np.abs(mean).max()))
        panel = Panel(marks=tuple(marks), title=quantity, levels=(-SURE, SURE))
        y_label = "" if panels else "mean residual / its std [-]"
        panels.append(replace(panel, x_label="over its largest [-]", y_label=y_label))
    panels = [replace(panel, y_range=(-reach, reach)) for panel in panels]
    return Chart(
        name="residuals-over-state",
        title="Residuals over position, velocity and load",
        caption="Mean residual of equally many samples at each value, over its standard error; "
        "position counts from the middle of its range, load is the torque of the bodies, over "
        "which residuals count in the direction of motion. Curves that leave the dashed lines (at "
        f"{SURE:g}) do so by no chance: the model lacks a function of that quantity. Over velocity "
        "that is friction of another shape, over load friction that grows with it, over position "
        "a spring, a cable or cogging; robotid identify --terms all looks for them.",
        panels=tuple(panels),
        columns=3,
        panel_height=1.6,
    )


def _in_errors(at: Float1D, residual: Float1D) -> tuple[Float1D, Float1D]:
    """Return where bins of samples are, and the mean of each over its standard error.

    The error is that of what scatters about the means, which may be correlated in time.
    """
    bins = min(max(at.size // FEWEST, 2), BINS)
    parts = equal_parts(at, bins)
    mean, left = np.array([residual[part].mean() for part in parts]), residual.copy()
    for part, value in zip(parts, mean, strict=True):
        left[part] -= value
    worth = float(effective_rows(autocorrelation(left[:, None]))[0])
    variance = float((left**2).sum()) / max(at.size - bins, 1)
    error = max(np.sqrt(variance * bins / worth), np.finfo(float).tiny)
    return np.array([at[part].mean() for part in parts]), mean / error


def _centered(q: Float1D) -> Float1D:
    return np.asarray(q - 0.5 * (q.min() + q.max()))


def _scaled(columns: Float2D) -> Float2D:
    """Return columns over their largest size; those of zeros stay."""
    size = np.abs(columns).max(axis=0)
    return columns / np.where(size > 0.0, size, 1.0)


def singular_values(weakest: tuple[WeakDirection, ...]) -> Chart:
    """Return how well the rows of a fit see every direction, and mark the weakest."""
    values = weakest[0].singular_values / weakest[0].singular_values[0]
    order = np.arange(1.0, values.size + 1.0)
    count = len(weakest)
    return Chart(
        name="singular-values",
        title="How well the data see directions of the parameters",
        caption="Singular values of the rows as they are fitted, every joint weighted by its "
        "noise, columns of unit length, over the largest. The table has the marked ones in words: "
        "a change along them hardly moves the torques. A value far below its neighbor asks for "
        "motion that tells its parameters apart.",
        panels=(
            Panel(
                marks=(
                    Curve(order, values, "", "identified"),
                    Points(order[-count:], values[-count:], "", "nominal", size=5.0),
                ),
                x_label="direction, the one seen best first",
                y_label="singular value [-]",
                y_scale="log",
            ),
        ),
        panel_height=1.3,
    )


def information_over_time(fit: Identification) -> Chart:
    """Return the share of the information on every parameter that stretches of the motion give."""
    stretches, noun = _stretches(fit)
    used = [use for use in stretches.values() if use.any()]
    names = tuple(name for name, use in stretches.items() if use.any())
    shares = information_shares(fit.problem, weights_of(fit.chosen), used)
    s, k = np.unravel_index(int(shares.argmax()), shares.shape)
    return Chart(
        name="information",
        title="Where in the motion the information is",
        caption=f"Share of the information on a parameter (of its inverse variance) that is lost "
        f"without {noun}, the stronger the color, the more. Most of all: "
        f"{percent(shares[s, k], 2)} of that on {fit.chosen.names[k]} comes from {names[s]}. A "
        "parameter with one strong cell stands on few samples: look at the fit there, or record "
        "more of such motion.",
        panels=(
            Matrix(
                values=shares,
                names=names,
                across=fit.chosen.names,
                ends=(0.0, float(shares.max())),
                colors=("identified",),
            ),
        ),
        panel_height=1.35,
    )


def _stretches(fit: Identification) -> tuple[dict[str, Bool1D], str]:
    """Return the samples of stretches by their names, and what a stretch is.

    Periods repeat one another, so that stretches are parts of a period, in all periods together.
    """
    times, period = fit.problem.times, fit.problem.period
    if period is None:
        windows = windows_of(fit)
        logs = len({window.group for window in windows}) > 1
        return {
            f"{f'{w.group}, ' if logs else ''}{w.low:.3g} to {w.high:.3g} s": within(
                times, [[w.low, w.high]]
            )
            for w in windows
        }, "a stretch of the motion"
    part = np.floor(np.mod(times, period) / period * WINDOWS)
    ends = np.linspace(0.0, period, WINDOWS + 1)
    named = {f"{ends[k]:.3g} to {ends[k + 1]:.3g} s": np.asarray(part == k) for k in range(WINDOWS)}
    return named, "a stretch of the period, in all periods"
