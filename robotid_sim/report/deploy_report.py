"""Page for the operator of a robot that plays a motion, and text of a package."""

from collections.abc import Iterator

import numpy as np

from robotid_sim.pipeline.deploy import NOT_TRIED, TOLERANCE, RunPackage
from robotid_sim.report.page import Page
from robotid_sim.report.replay.motions import Replay, trajectory_motion
from robotid_sim.report.sections import Recipe, make_closing_sections
from robotid_sim.report.text import Text
from robotid_sim.section import Section, fold, number, percent, torque_unit
from robotid_sim.table import Table

OPERATOR = "operator.html"
"""File of the page for the operator."""

INTERPOLATION_TEXTS = {
    "linear": "lines between set points, averaged over the time between two of them",
    "cubic": "a clamped cubic spline through the set points",
    "quintic": "quintic polynomials through positions, velocities and accelerations",
}

ERROR = "interpolation error"
"""Heading of the distances between the played and the designed motion."""

TERMINAL_COLUMNS = ("joint", "start", "of velocity", "of torque", ERROR)

BEFORE_RUN = (
    "Compare the start pose with the display of the controller, joint by joint, signs included.",
    "Compare the swept space with what stands around the robot: tables, fixtures, cables, people.",
    "Compare tool and payload with those in the controller.",
    "Bring the robot near the start pose first: programs move there along a line of joint angles.",
    "Run the files in the order of their speeds, and stay at the stop button.",
)


def operator_page(package: RunPackage, recipe: Recipe) -> Page:
    """Build the page for the operator."""
    robot, target = package.robot, package.target
    low, high = package.swept
    axes = zip("xyz", low, high, strict=True)
    space = ", ".join(f"{axis} {a:.2f} to {b:.2f} m" for axis, a, b in axes)
    done = package.rehearsal
    sections = (
        Section(
            title="Before the run",
            text=f"{NOT_TRIED} {target.name} was not at hand: files, names and units follow "
            f"{target.source}.",
            notes=(*BEFORE_RUN, *target.notes),
        ),
        Section(
            title="Run",
            tables=(tabulate_files(package),),
            notes=(
                *target.steps,
                f"To stop: {target.stop}",
                f"Watchdog: {target.watchdog.format(tolerance=TOLERANCE)}",
                f"Record: {target.record}.",
                f"Then: robotid identify {robot.name} LOG -o estimate.json",
            ),
        ),
        Section(
            title="Motion",
            text=f"The joints and the tip sweep {space} in the root frame '{robot.base}'; the "
            f"robot reaches up to {package.reach:.2f} m from its root. The controller makes "
            f"{INTERPOLATION_TEXTS[target.interpolation]}.",
            tables=(tabulate_joints(package),),
        ),
        Section(
            title="Rehearsal",
            folded=True,
            text="Friction and a payload were planted in the engine, its log "
            "was written as the recorder does, and the importer read it.",
            tables=() if done is None else (tabulate_rehearsal(package),),
        ),
    )
    return Page(
        title=f"{robot.name}: motion for {target.name}",
        finding=f"{package.verdict}.",
        passed=None if done is None else done.passed,
        badge="not rehearsed",
        facts=(
            ("duration at full speed", f"{package.played[1.0].duration:.1f} s"),
            ("peak speed of the tip", f"{package.tip_speed:.2f} m/s"),
            ("largest use of a velocity limit", percent(float(package.use["velocity"].max()))),
            ("largest use of a torque limit", percent(float(package.use["torque"].max()))),
        ),
        sections=(
            *sections,
            *map(fold, make_closing_sections(robot, robot.assumptions, "model", recipe)),
        ),
        replay=Replay(robot, (trajectory_motion(robot, package.motion),)),
    )


def tabulate_files(package: RunPackage) -> Table:
    """Tabulate the files of the motion with speed and duration."""
    speeds = zip(package.durations().items(), package.played, strict=True)
    rows = tuple((name, percent(speed), f"{time:.1f}") for (name, time), speed in speeds)
    return Table(("file", "speed", "duration [s]"), rows)


def tabulate_joints(package: RunPackage) -> Table:
    """Tabulate start pose, range, peaks and interpolation error of every joint."""
    robot, q = package.robot, package.played[1.0].q
    rows = []
    for j, (name, unit) in enumerate(zip(robot.joint_names, robot.joint_units, strict=True)):
        scale, shown = (180.0 / np.pi, "deg") if unit == "rad" else (1e3, "mm")
        low, high = q[:, j].min() * scale, q[:, j].max() * scale
        rows.append(
            (
                name,
                f"{package.start_pose[j] * scale:.2f} {shown}",
                f"{low:.1f} to {high:.1f}",
                percent(float(package.use["position"][j])),
                percent(float(package.use["velocity"][j])),
                percent(float(package.use["acceleration"][j])),
                f"{number(float(package.peak_torque[j]), 3)} {torque_unit(unit)}",
                percent(float(package.use["torque"][j])),
                f"{number(float(package.error[j] * scale), 2)} {shown}",
            )
        )
    columns = ("joint", "start", "range", "of position", "of velocity", "of acceleration")
    return Table((*columns, "torque", "of torque", ERROR), tuple(rows))


def tabulate_rehearsal(package: RunPackage) -> Table:
    """Tabulate planted and identified base parameters."""
    done = package.rehearsal
    assert done is not None
    rows = zip(done.names, done.planted, done.values, done.std, strict=True)
    return Table(
        ("base parameter", "planted", "identified", "std", "error / std"),
        tuple(
            (name, number(planted), number(value), number(std, 2), f"{(value - planted) / std:.2f}")
            for name, planted, value, std in rows
        ),
    )


def deploy_text(package: RunPackage) -> Iterator[Text]:
    """Report a package on the terminal."""
    target = package.target
    yield (
        f"{package.robot.name} for {target.name}: {package.played[1.0].duration:.1f} s at full "
        f"speed, {target.rate:g} set points a second; {NOT_TRIED.lower()[:-1]}"
    )
    yield package.verdict
    joints = tabulate_joints(package)
    shown = [joints.columns.index(name) for name in TERMINAL_COLUMNS]
    rows = (joints.columns, *joints.rows)
    columns, *cells = (tuple(row[k] for k in shown) for row in rows)
    yield Table(columns, tuple(cells))
    low, high = package.swept
    corners = (", ".join(f"{value:.2f}" for value in corner) for corner in (low, high))
    yield (
        f"swept space from ({next(corners)}) to ({next(corners)}) m; tip up to "
        f"{package.tip_speed:.2f} m/s"
    )
    yield f"next: read {OPERATOR}, then run the slowest file first"
