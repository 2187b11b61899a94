"""The replay as a page holds it: geometry, triangles and motions, numbers in base64.

The page draws by WebGL 2 with scripts of our own. Measured (``bench/replay.py`` for ours): packed
as a page holds it, MeshCat's viewer takes 0.29 MB, needs a server that feeds it and builds code
from texts, which the policy of our pages forbids; ours takes 0.05 MB, and no package. Joint
positions are sent, not poses: 4 bytes per joint and sample, not 28, and the page computes the
kinematics of the kernels.
"""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import ArrayLike, Float2D
from robotid_sim.chart import Chart, Panel
from robotid_sim.model.robot import Robot
from robotid_sim.report.replay.motions import Replay, ReplayMotion
from robotid_sim.report.replay.shapes import BodyMesh, body_meshes
from robotid_sim.viewer.colors import REFERENCE, warm
from robotid_sim.viewer.view_settings import direction

MOST_SAMPLES = 16_000
"""Samples of all motions of a page together: some 1.5 MB for seven joints."""

SHADES = 16
"""Colors from a share of 0 to 1."""

Places = Mapping[str, Mapping[int, tuple[float, ...]]]
"""Where the panels of charts are, by chart and panel, as `robotid_sim.report.draw` returns it."""


def replay_data(
    replay: Replay, charts: Sequence[Chart] = (), places: Places | None = None
) -> dict[str, Any]:
    """Return a replay as JSON values, with the time axes of charts that are tied to its motions."""
    robot, names = replay.robot, {motion.name for motion in replay.motions}
    most = MOST_SAMPLES // max(1, len(replay.motions))
    fine, coarse = body_meshes(robot)
    triangles, fewer = (sum(len(mesh.faces) for mesh in meshes) for meshes in (fine, coarse))
    return {
        "robot": robot.name,
        "joints": _joints(robot),
        "tip": robot.T_last_tip[:3].ravel().tolist(),
        "meshes": [_mesh(mesh) for mesh in fine],
        "coarse": [_mesh(mesh) for mesh in coarse] if fewer < triangles else None,
        "motions": [_motion(motion.thinned(most)) for motion in replay.motions],
        "panels": _panels(charts, places or {}, names),
        "direction": direction(replay.camera),
        "speed": replay.speed,
        "shades": [warm(share) for share in np.linspace(0.0, 1.0, SHADES).tolist()],
        "reference": REFERENCE,
    }


def _joints(robot: Robot) -> list[dict[str, Any]]:
    limits = robot.limits
    return [
        {
            "name": joint.name,
            "unit": unit,
            "geometry": robot.geometry[j].tolist(),
            "lower": float(limits.lower[j]),
            "upper": float(limits.upper[j]),
            "velocity": float(limits.velocity[j]),
            "effort": bool(np.isfinite(limits.effort[j])),
        }
        for j, (joint, unit) in enumerate(zip(robot.joints, robot.joint_units, strict=True))
    ]


def _mesh(mesh: BodyMesh) -> dict[str, Any]:
    """Return triangles with places as whole numbers of 16 bits over the box that they fill."""
    low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
    step = np.maximum(high - low, np.finfo(float).tiny) / 65535.0
    kind = "<u2" if len(mesh.vertices) <= 65536 else "<u4"
    return {
        "body": mesh.body,
        "color": [round(255.0 * value) for value in mesh.rgba[:3]],
        "alpha": mesh.rgba[3],
        "low": low.tolist(),
        "step": step.tolist(),
        "vertices": _encoded(np.rint((mesh.vertices - low) / step), "<u2"),
        "faces": _encoded(mesh.faces, kind),
        "wide": kind == "<u4",
    }


def _motion(motion: ReplayMotion) -> dict[str, Any]:
    shown = motion.animation
    torque = None
    if shown.tau is not None:  # over the limit, or over the largest where a joint has none
        peak = np.maximum(np.abs(shown.tau).max(axis=0), np.finfo(float).tiny)
        effort = shown.robot.limits.effort
        torque = _shares(np.abs(shown.tau) / np.where(np.isfinite(effort), effort, peak))
    return {
        "name": motion.name,
        "own": motion.own,
        "t": _encoded(shown.t, "<f8"),
        "q": _encoded(shown.q, "<f4"),
        "torque": torque,
        "residual": None if motion.residual is None else _shares(motion.residual),
        "beside": [
            {"name": arm.name, "role": arm.role, "difference": _encoded(arm.difference, "<f4")}
            for arm in motion.beside
        ],
        "magnification": motion.magnification,
    }


def _shares(values: Float2D) -> str:
    return _encoded(np.rint(255.0 * np.clip(np.nan_to_num(values), 0.0, 1.0)), "u1")


def _panels(charts: Sequence[Chart], places: Places, names: set[str]) -> list[dict[str, Any]]:
    return [
        {
            "chart": chart.name,
            "panel": k,
            "motion": panel.clock.motion,
            "origin": panel.clock.origin,
            "unit": panel.clock.unit,
            "place": places.get(chart.name, {}).get(k),
        }
        for chart in charts
        for k, panel in enumerate(chart.panels)
        if isinstance(panel, Panel) and panel.clock is not None and panel.clock.motion in names
    ]


def _encoded(values: ArrayLike, kind: str) -> str:
    """Return numbers in base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode()
