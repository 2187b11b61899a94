"""Figures of torques: what filters make of the measured ones, and what a model predicts."""

from collections.abc import Mapping
from typing import Literal

import numpy as np

from robotid_sim.arrays import Float1D, Float2D, Int1D
from robotid_sim.chart import Band, Chart, Curve, Panel, Points, thinned
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.validation.prediction import Prediction

SAMPLES = 500
"""Most samples of a curve over a whole period."""

ZOOM = 0.06
"""Half width of the zoom at a reversal [s]."""

LogRole = Literal["fitted", "unseen", "given"]
"""What a log is to the identification; of a given one nobody knows."""

FILTER_ROLES = ("filter-1", "filter-2", "joint-4", "joint-5")


def torque_filters(log: Log, motion: Motion, filtered: Mapping[str, Float2D]) -> Chart:
    """Return raw, filtered and true torque of every joint, and a zoom at a friction reversal.

    `motion` says where the joints reverse; `filtered` are torques after filters, shape (N, n), by
    name of the filter.
    """
    end = log.t[-1] if log.period is None else min(log.period, log.t[-1])
    whole = np.flatnonzero((log.t >= 0.0) & (log.t <= end))
    whole = whole[thinned(whole.size, SAMPLES)]
    panels = []
    for j, joint in enumerate(log.joint_names):
        unit = "N" if log.joint_units[j] == "m" else "N m"
        at = _reversal(log, motion, j)
        zoom = np.flatnonzero(np.abs(log.t - at) <= ZOOM)
        panels.append(
            Panel(
                marks=_torque_marks(log.t[whole], log, filtered, whole, j),
                x_label="time [s]",
                y_label=f"torque [{unit}]",
                title=joint,
            )
        )
        panels.append(
            Panel(
                marks=_torque_marks(1e3 * (log.t[zoom] - at), log, filtered, zoom, j),
                x_label="time from the reversal [ms]",
                title=f"{joint}, reversal at {at:.2f} s",
            )
        )
    return Chart(
        name="torque-filters",
        title="Torque filters",
        caption="Measured torque and what filters make of it, over one period (left) and around "
        "a reversal of the joint (right), where friction jumps and filters err most.",
        panels=tuple(panels),
        columns=2,
        column_shares=(1.6, 1.0),
        panel_height=1.0,
    )


def _torque_marks(
    t: Float1D, log: Log, filtered: Mapping[str, Float2D], samples: Int1D, j: int
) -> tuple[Curve, ...]:
    marks = [Curve(t, log.tau_meas[samples, j], "measured", "raw", width=0.8)]
    if log.truth is not None:
        marks.append(Curve(t, log.truth.tau[samples, j], "true", "true", width=1.6))
    for (name, tau), role in zip(filtered.items(), FILTER_ROLES, strict=False):
        marks.append(Curve(t, tau[samples, j], name, role))
    return tuple(marks)


def _reversal(log: Log, motion: Motion, j: int) -> float:
    """Return when joint j reverses fastest, away from the ends; its fastest moment if never."""
    inside = slice(log.t.size // 10, -log.t.size // 10)
    t, dq, ddq = motion.t[inside], motion.dq[inside, j], motion.ddq[inside, j]
    turns = np.flatnonzero(np.diff(np.sign(dq)) != 0)
    if not turns.size:
        return float(t[np.abs(dq).argmax()])
    return float(t[turns[np.abs(ddq[turns]).argmax()]])


def prediction(
    identified: Prediction, nominal: Prediction, noise_std: Float1D, role: LogRole
) -> Chart:
    """Return measured and predicted torque on a log, and the residual in its noise band.

    Both predictions are of the same log; `noise_std` is the standard deviation of the residual on
    the log of the identification [N m], shape (n,).
    """
    which, title = {
        "fitted": ("the trajectory of the identification", "Fit of the log"),
        "unseen": (
            "a trajectory that the identification has not seen",
            "Prediction of an unseen trajectory",
        ),
        "given": ("the given log", "Prediction of a log"),
    }[role]
    t = identified.t
    panels = []
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
            Band(t, -band, "2 std of the fit's residual", "raw", upper=band),
            Curve(t, residual, "", "identified"),
        )
        panels += [
            Panel(marks=torques, x_label="time [s]", y_label=f"torque [{unit}]", title=joint),
            Panel(marks=residuals, x_label="time [s]", title=f"{joint}, measured - identified"),
        ]
    return Chart(
        name="fit" if role == "fitted" else "prediction",
        title=title,
        caption=f"Left: torque measured on {which}, filtered like the rows of the fit, with the "
        "predictions of the nominal and the "
        "identified model. Right: what the identified model leaves, beside the band that holds "
        "95 % of the residuals of the fit.",
        panels=tuple(panels),
        columns=2,
        panel_height=0.95,
    )
