"""Figures of torques: measured, filtered, and predicted by a model."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.chart import Band, Chart, Clock, Curve, Panel, Points, sample_evenly
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.validation.prediction import Prediction

MAX_SAMPLES = 300
"""Largest number of samples of a curve over a period."""

ZOOM_HALF_WIDTH = 0.06
"""Half width of the zoom at a reversal [s]."""

SEGMENT_SAMPLES = 128
"""Samples of a segment of the spectrum (Welch's method)."""

INNER_SLICE = slice(1, -1)
"""Frequencies of a spectrum without its ends, which scatter more."""

ROW_TOLERANCE = 0.02
"""Largest deviation of a period from an integer number of rows."""

MAX_DISTRIBUTION_STD = 4.0
"""Range of distributions in standard deviations."""

LogRole = Literal["fitted", "unseen", "given"]
"""Role of a log in the identification; ``given`` for a log of the user, whose role is unknown."""

FILTER_COLORS = ("raw", "filter-1", "filter-2", "joint-4", "joint-5")
"""Colors of the measured torque and of up to four filters, by their roles in the palette."""


def torque_filters(log: Log, motion: Motion, filtered: Mapping[str, Float2D]) -> Chart:
    """Plot the effect of filters on the torque of every joint, with a zoom at a friction reversal.

    `motion` contains the reversals; `filtered` are filtered torques [N m], shape (N, n), by name
    of the filter.
    """
    end = log.t[-1] if log.period is None else min(log.period, log.t[-1])
    period_samples = np.flatnonzero((log.t >= 0.0) & (log.t <= end))
    period_samples = period_samples[sample_evenly(period_samples.size, MAX_SAMPLES)]
    true = [] if log.truth is None else [log.truth.tau]
    base, reference = (true[0], "true") if true else (log.tau_meas, "measured")
    shown, panels = {"measured": log.tau_meas, **filtered}, []
    for j in map(int, np.flatnonzero(log.torque_measured)):
        joint, unit = log.joint_names[j], "N" if log.joint_units[j] == "m" else "N m"
        at = _reversal(log, motion, j)
        zoom = np.flatnonzero(np.abs(log.t - at) <= ZOOM_HALF_WIDTH)
        around = 1e3 * (log.t[zoom] - at)
        torques = _filter_marks(around, shown, zoom, j)
        torques[1:1] = [Curve(around, tau[zoom, j], "true", "true", width=1.6) for tau in true]
        panels.append(
            Panel(
                marks=tuple(
                    _filter_marks(
                        log.t[period_samples], shown, period_samples, j, base[period_samples, j]
                    )
                ),
                x_label="time [s]",
                y_label=f"difference [{unit}]",
                title=f"{joint}, minus {reference}",
                clock=Clock(),
            )
        )
        panels.append(
            Panel(
                marks=tuple(torques),
                x_label="time from the reversal [ms]",
                y_label=f"torque [{unit}]",
                title=f"{joint} at {at:.2f} s",
                clock=Clock(origin=at, unit=1e-3),
            )
        )
    return Chart(
        name="torque-filters",
        title="Torque filters",
        caption=f"Left: measured and filtered torque minus the {reference} torque over one period. "
        "Right: the torques at a velocity reversal, where friction jumps and filter errors "
        "are largest.",
        panels=tuple(panels),
        columns=2,
        column_shares=(1.6, 1.0),
        panel_height=1.0,
    )


def _filter_marks(
    t: Float1D, shown: Mapping[str, Float2D], samples: Int1D, j: int, base: Float1D | float = 0.0
) -> list[Curve]:
    """Build curves of measured and filtered torques minus a base."""
    return [
        Curve(t, tau[samples, j] - base, name, role, width=0.8 if role == "raw" else 1.0)
        for (name, tau), role in zip(shown.items(), FILTER_COLORS, strict=False)
    ]


def _reversal(log: Log, motion: Motion, j: int) -> float:
    """Find the time of the fastest reversal of joint j; without one, of its largest speed.

    The first and the last tenth of the log are excluded.
    """
    inner = slice(log.t.size // 10, -log.t.size // 10)
    t, dq, ddq = motion.t[inner], motion.dq[inner, j], motion.ddq[inner, j]
    turns = np.flatnonzero(np.diff(np.sign(dq)) != 0)
    if not turns.size:
        return float(t[np.abs(dq).argmax()])
    return float(t[turns[np.abs(ddq[turns]).argmax()]])


def residuals(identified: Prediction, period: float | None = None) -> Chart:
    """Plot spectra and histograms of the residuals of a fit.

    With the period [s] of the motion, the spectrum of the non-repeating part is added: noise.
    """
    rate = 1.0 / float(np.median(np.diff(identified.t)))
    deviation = np.linspace(-MAX_DISTRIBUTION_STD, MAX_DISTRIBUTION_STD, 200)
    normal = np.exp(-0.5 * deviation**2) / np.sqrt(2.0 * np.pi)
    panels = []
    for j, (joint, unit) in enumerate(
        zip(identified.joint_names, identified.torque_units, strict=True)
    ):
        residual = identified.measured[:, j] - identified.predicted[:, j]
        if not residual.any():
            continue  # the torque of the joint was not recorded
        f, power = scipy.signal.welch(residual, rate, nperseg=min(residual.size, SEGMENT_SAMPLES))
        std = max(float(np.sqrt((residual**2).mean())), np.finfo(float).tiny)
        density, edges = np.histogram(
            residual / std, 24, (-MAX_DISTRIBUTION_STD, MAX_DISTRIBUTION_STD), density=True
        )
        steps = Curve(np.repeat(edges, 2)[1:-1], np.repeat(density, 2), "residual", "identified")
        flat = np.full(f.size, 2.0 * std**2 / rate)
        floor = _noise_floor(residual, period, rate)
        panels += [
            Panel(
                marks=(
                    Curve(f[INNER_SLICE], power[INNER_SLICE], "residual", "identified"),
                    Curve(
                        f[INNER_SLICE],
                        flat[INNER_SLICE],
                        "white noise of that size",
                        "ink",
                        style="dashed",
                    ),
                    *floor,
                ),
                x_label="frequency [Hz]",
                y_label=f"({unit})²/Hz",
                y_scale="log",
                title=f"{joint}, spectrum",
            ),
            Panel(
                marks=(steps, Curve(deviation, normal, "normal", "ink", style="dashed")),
                x_label="residual / std",
                title=f"{joint}, distribution",
            ),
        ]
    return Chart(
        name="residuals",
        title="Residuals of the fit",
        caption="Residuals of every joint: power spectrum with the level of white noise (left) and "
        "distribution with the normal one (right). A peak is unmodeled periodic torque; "
        "heavy tails are outliers. For a periodic motion, noise is the part that does not "
        "repeat; a residual above it is model error.",
        panels=tuple(panels),
        columns=2,
        panel_height=0.9,
    )


def _noise_floor(residual: Float1D, period: float | None, rate: float) -> list[Curve]:
    """Plot the spectrum of the noise from differences of rows one period apart, if possible."""
    rows = 0.0 if period is None else period * rate
    shift = round(rows)
    if not 0 < shift <= residual.size // 2 or abs(rows - shift) > ROW_TOLERANCE:
        return []
    change = residual[shift:] - residual[:-shift]
    f, power = scipy.signal.welch(change, rate, nperseg=min(change.size, SEGMENT_SAMPLES))
    return [
        Curve(
            f[INNER_SLICE],
            0.5 * power[INNER_SLICE],
            "noise: non-repeating part",
            "filter-2",
            width=0.8,
        )
    ]


def prediction(
    identified: Prediction, nominal: Prediction, noise_std: Float1D, role: LogRole
) -> Chart:
    """Plot measured and predicted torque of a log, and the residual with its noise band.

    Both predictions are of the same log; `noise_std` is the standard deviation of the residual of
    the fit [N m], shape (n,).
    """
    log_text, title = {
        "fitted": ("the trajectory of the identification", "Fit of the log"),
        "unseen": ("the validation motion", "Prediction of the validation motion"),
        "given": ("the given log", "Prediction of a log"),
    }[role]
    t = identified.t
    panels = []
    timed = Panel(marks=(), x_label="time [s]", clock=Clock())
    for j, (joint, unit) in enumerate(
        zip(identified.joint_names, identified.torque_units, strict=True)
    ):
        torques = (
            Points(t, identified.measured[:, j], "measured", "ink", size=2.2),
            Curve(t, nominal.predicted[:, j], "nominal", "nominal", style="dashed"),
            Curve(t, identified.predicted[:, j], "identified", "identified", width=1.2),
        )
        band = np.full(t.size, 2.0 * noise_std[j])
        residual = identified.measured[:, j] - identified.predicted[:, j]
        residuals = (
            Band(t, -band, "2 std of the residual of the fit", "raw", upper=band),
            Curve(t, residual, "", "identified"),
        )
        panels += [
            replace(timed, marks=torques, y_label=f"torque [{unit}]", title=joint),
            replace(timed, marks=residuals, title=f"{joint}, measured - identified"),
        ]
    return Chart(
        name="fit" if role == "fitted" else "prediction",
        title=title,
        caption=f"Left: torque measured on {log_text}, filtered like the rows of the fit, with the "
        "predictions of the nominal and the identified model. Right: residual of the identified "
        "model and the band that contains 95 % of the residuals of the fit.",
        panels=tuple(panels),
        columns=2,
        panel_height=0.95,
    )
