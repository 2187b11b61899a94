"""Motions as files of a target: set points written by a template, and read back."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from robotid_sim.arrays import Float2D
from robotid_sim.deployment.played_motion import PlayedMotion
from robotid_sim.deployment.target import Target
from robotid_sim.errors import FileFormatError
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import Reference, Trajectory

TEMPLATE_FOLDER = Path(__file__).with_name("templates")

DECIMALS = {"rad": 7, "deg": 5}
"""Decimals of a set point by unit; the resolution is about 1e-7 rad."""

_NUMBER_PATTERN = re.compile(r"-?\d+\.\d+")


def render(template: str, values: Mapping[str, Any]) -> str:
    """Fill in a template of this package."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATE_FOLDER),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    return environment.get_template(template).render(values)


def sample_set_points(target: Target, motion: Trajectory, speed: float) -> tuple[float, Reference]:
    """Sample a motion at a share of its speed; return the time between two points [s].

    A stream has `target.rate` points per second at every speed; other files have the points of full
    speed.
    """
    dt = 1.0 / target.rate if target.is_stream else 1.0 / (target.rate * speed)
    duration = (motion.duration - motion.start) / speed
    count = int(np.ceil(duration / dt * (1.0 - 1e-12)))
    times = motion.start + speed * dt * np.arange(count + 2)  # the last two are at rest
    times = np.minimum(times, motion.duration)
    points = motion(times)
    return dt, Reference(points.q, points.dq * speed, points.ddq * speed**2)


def motion_text(
    target: Target, robot: Robot, points: Reference, dt: float, context: Mapping[str, Any]
) -> str:
    """Write set points in the language of a target."""
    scale, digits = _unit_scale(target, robot), DECIMALS[target.unit]
    rows: list[dict[str, Any]] = [
        {"time": divmod(round(1e9 * k * dt), 10**9)} for k in range(len(points.q))
    ]
    for name in re.compile(target.motion.row).groupindex:
        for row, values in zip(rows, (getattr(points, name) / scale).tolist(), strict=True):
            row[name] = [f"{value:.{digits}f}" for value in values]
    return render(target.motion.template, {**context, "rows": rows, "dt": dt})


def read_motion(target: Target, robot: Robot, text: str, dt: float) -> PlayedMotion:
    """Read the set points of a file back, as the controller plays them.

    Raises `FileFormatError` if a row has another number of joints or there are fewer than two.
    """
    rows = [match.groupdict() for match in re.finditer(target.motion.row, text, re.MULTILINE)]
    scale = _unit_scale(target, robot)
    arrays = {name: _parse(rows, name, robot.dof) * scale for name in rows[0]} if rows else {}
    if len(rows) < 2:
        raise FileFormatError(f"the file for {target.name} has {len(rows)} set points; give two")
    zeros = np.zeros_like(arrays["q"])
    points = Reference(arrays["q"], arrays.get("dq", zeros), arrays.get("ddq", zeros))
    return PlayedMotion.from_set_points(robot.joint_names, dt, points, target.interpolation)


def _parse(rows: list[dict[str, str]], name: str, dof: int) -> Float2D:
    values = [_NUMBER_PATTERN.findall(row[name]) for row in rows]
    if wrong := [k for k, row in enumerate(values, start=1) if len(row) != dof]:
        count = len(values[wrong[0] - 1])
        raise FileFormatError(f"set point {wrong[0]} has {count} values of {name}, not {dof}")
    return np.array(values, dtype=float)


def _unit_scale(target: Target, robot: Robot) -> Float2D:
    """Return the size of the unit of every joint [rad or m], shape (1, n)."""
    angle = np.pi / 180.0 if target.unit == "deg" else 1.0
    return np.where(robot.prismatic, 1.0, angle)[None]
