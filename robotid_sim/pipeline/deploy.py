"""A designed motion as files for the controller of a robot, rehearsed in the engine."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.deployment.motion_files import motion_text, read_motion, render, sample_set_points
from robotid_sim.deployment.played_motion import PlayedMotion
from robotid_sim.deployment.target import Target, find_target
from robotid_sim.deployment.vendor_log import require_writer
from robotid_sim.dynamics.code_files import plain_text
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import InfeasibleError
from robotid_sim.files import make_folder, require_new_folder, write_json, write_text
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.measurement import SENSORS
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_cell
from robotid_sim.pipeline.build_design import build_space
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.excitation import contacts
from robotid_sim.pipeline.rehearsal import Rehearsal, plant_changes
from robotid_sim.pipeline.rehearsal import rehearse as rehearse_motion
from robotid_sim.progress import Progress, silent
from robotid_sim.representation import public_value
from robotid_sim.streams import stream_of
from robotid_sim.trajectory.homing import add_ways
from robotid_sim.trajectory.reference import Excitation, Trajectory, require_samples
from robotid_sim.trajectory.trajectory_files import load_trajectory

SPEEDS = (0.1, 0.3, 1.0)
"""Shares of the speed of the motion: two rehearsals on the robot, and the motion."""

TOLERANCE = 0.1
"""Distance of a joint from its set point at which a program stops the motion [rad or m]."""

APPROACH_TIME = 10.0
"""Time in which a program drives to the start pose [s]."""

MAX_ERROR = 0.01
"""Largest distance of the played motion from the designed one [rad or m]."""

CHECKS_PER_SET_POINT = 8
"""Number of times per set point at which the played motion is compared with the designed one."""

MIN_CHECKED_TIMES = 5000
"""Smallest number of all times at which a motion is checked."""

MAX_LIMIT_SHARE = 1.01
"""Largest permitted use of a limit, which allows for rounding."""

NOT_TRIED = "Not tried on a machine."


@public_value
@dataclass(frozen=True, eq=False)
class RunPackage:
    """Files for the controller of a robot, and values for its operator."""

    robot: Robot
    key: str
    """Name of the target."""
    target: Target
    motion: Trajectory
    """The designed motion from rest to rest."""
    files: Mapping[str, str]
    """Text by the name of the file."""
    played: Mapping[float, PlayedMotion]
    """Motion that the controller plays, by the share of the speed."""
    error: Float1D
    """Largest distance of the played motion from the designed one [rad or m], shape (n,)."""
    use: Mapping[str, Float1D]
    """Largest used share of the limits at full speed, shape (n,), by kind of limit."""
    peak_torque: Float1D
    """Largest torque of the model [N m or N], shape (n,)."""
    swept: Float2D
    """Smallest and largest coordinates of joints and tip in the root frame [m], shape (2, 3)."""
    reach: float
    """Largest distance of a joint or the tip from the root [m]."""
    tip_speed: float
    """Largest speed of the tip [m/s]."""
    rehearsal: Rehearsal | None
    """Rehearsal in the engine; None if it did not run."""

    @property
    def passed(self) -> bool:
        """Whether the rehearsal passed, if there was one."""
        return self.rehearsal is None or self.rehearsal.passed

    @property
    def verdict(self) -> str:
        """The verdict of the rehearsal in a sentence."""
        if self.rehearsal is None:
            return "NOT REHEARSED (--no-rehearse)"
        result = self.rehearsal
        word = "PASSED" if result.passed else "FAILED"
        return (
            f"Rehearsal {word}: {int(result.covered.sum())} of {len(result.names)} planted base "
            f"parameters are within their 95 % intervals, {result.worst[0]} is "
            f"{result.worst[1]:.1f} standard deviations off; NEES {result.nees:.3g}, at most "
            f"{result.max_nees:.3g}"
        )

    @property
    def start_pose(self) -> Float1D:
        """Pose at the start [rad or m], shape (n,)."""
        return np.asarray(self.played[1.0].q[0])

    def durations(self) -> dict[str, float]:
        """Return the duration of every file of the motion [s], by its name."""
        return {
            self.target.motion.file.format(percent=f"{100 * s:03.0f}"): motion.duration
            for s, motion in self.played.items()
        }

    def content(self) -> dict[str, Any]:
        """Return the package without the texts of its files as JSON values."""
        return {
            "robot": self.robot.name,
            "target": self.key,
            "files": list(self.files),
            "rate": self.target.rate,
            "interpolation": self.target.interpolation,
            "durations_s": self.durations(),
            "interpolation_error": self.error.tolist(),
            **{f"of_{kind}": use.tolist() for kind, use in self.use.items()},
            "peak_torque": self.peak_torque.tolist(),
            "start_pose": self.start_pose.tolist(),
            "swept_m": self.swept.tolist(),
            "reach_m": self.reach,
            "tip_speed_m_per_s": self.tip_speed,
            "tried_on_a_machine": False,
            "rehearsal": None if self.rehearsal is None else self.rehearsal.content(),
        }

    def write(self, folder: str | Path) -> list[Path]:
        """Write the files of the package into a new folder; return their paths.

        Raises `InfeasibleError` if the rehearsal failed, `FileFormatError` if the folder is not
        empty or cannot be written.
        """
        if not self.passed:
            raise InfeasibleError(
                f"{self.verdict}. The package is not written; design a longer motion, or one with "
                "more excitation"
            )
        require_new_folder(folder, "-o")
        directory = make_folder(folder, "-o")
        for name, text in self.files.items():
            write_text(directory / name, text)
        write_json(directory / "package.json", "package", 1, self.content())
        return [directory / name for name in (*self.files, "package.json")]


def deploy(
    robot: str | Path | Robot,
    trajectory: Excitation | str | Path,
    target: str,
    config: StudyConfig | None = None,
    *,
    rate: float | None = None,
    rehearse: bool = True,
    progress: Progress = silent,
) -> RunPackage:
    """Make the files with which the controller of a robot plays a motion.

    Every file is read back, and the motion of the controller between its set points is compared
    with the designed one and with the limits of the robot.

    Parameters
    ----------
    robot : str, Path or Robot
        The best model of the robot: a catalog name, a file, or a robot.
    trajectory : Excitation, str or Path
        A motion, or a file of `design`. An approach from home and a return are added.
    target : str
        Name of the controller: ``ur``, ``franka``, ``kuka-krl``, ``kuka-rsi``, ``abb``, ``fanuc``,
        ``ros2``, ``lerobot`` or ``csv``.
    config : StudyConfig, optional
        Space around the robot, engine and seed of the rehearsal.
    rate : float, optional
        Set points per second [Hz]; by default the rate of the target.
    rehearse : bool
        Play the motion in the engine on a robot with planted friction and payload, write the log
        as the recorder of the target does, and identify the planted parameters from it.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    package : RunPackage
        The texts of the files, and the verdict of the rehearsal.

    Raises
    ------
    OptionError, UnknownNameError
        If the target is unknown or has another number of joints, or the rate is out of range.
    InfeasibleError
        If the played motion exceeds a limit, or links touch.
    MissingExtraError
        If the writer of the logs of the target is not installed.

    Examples
    --------
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> package = rid.deploy("twolink", setup.unseen, "ros2", rehearse=False)
    >>> sorted(package.files)
    ['motion_010.json', 'motion_030.json', 'motion_100.json', 'play_ros2.py']
    """
    config = config or StudyConfig()
    model, spec = build_robot(robot, config.robot), find_target(target)
    spec.require_robot(model)
    if rate is not None:
        spec = spec.with_rate(rate)
    if rehearse:
        require_writer(spec)
    path = load_trajectory(trajectory, model) if isinstance(trajectory, str | Path) else trajectory
    motion = add_ways(model, path)
    context = _describe(model, spec, motion)
    files, played = {}, {}
    for k, speed in enumerate(SPEEDS):
        require_samples((motion.duration - motion.start) / speed, spec.rate, "the motion")
        progress("write", k / len(SPEEDS))
        dt, points = sample_set_points(spec, motion, speed)
        percent = f"{100 * speed:03.0f}"
        text = motion_text(spec, model, points, dt, {**context, "percent": percent})
        files[spec.motion.file.format(percent=percent)] = text
        played[speed] = read_motion(spec, model, text, dt)
    files |= {name: render(template, context) for name, template in spec.files.items()}
    _require_no_contact(model, played[1.0], config)
    error, use = _compare(model, motion, played[1.0])
    times = np.linspace(motion.start, motion.duration, MIN_CHECKED_TIMES)
    reference = motion(times)
    torque = np.abs(joint_torque(model, reference.q, reference.dq, reference.ddq)).max(axis=0)
    use["torque"] = torque / model.limits.effort
    _require_limits(model, use, error, spec)
    swept, reach, tip_speed = _sweep(model, reference.q, times)
    rehearsal = None
    if rehearse:
        plant = plant_changes(model, played[1.0], torque)
        sensors = tuple(SENSORS.build(name, **options) for name, options in spec.log.noise.items())
        cell = build_cell(plant, model, config, sensors=sensors)
        rng = stream_of(config.seed, "measure")
        rehearsal = rehearse_motion(cell, model, spec, played[1.0], rng, progress)
    return RunPackage(
        robot=model,
        key=target,
        target=spec,
        motion=motion,
        files=files,
        played=played,
        error=error,
        use=use,
        peak_torque=torque,
        swept=swept,
        reach=reach,
        tip_speed=tip_speed,
        rehearsal=rehearsal,
    )


def _describe(robot: Robot, target: Target, motion: Trajectory) -> dict[str, Any]:
    """Collect the values for the templates; they do not depend on the speed."""
    reference = motion(np.linspace(motion.start, motion.duration, MIN_CHECKED_TIMES))
    degrees = np.rad2deg(reference.q[0])
    return {
        "title": f"robotid: excitation of {plain_text(robot.name)} for {target.name}",
        "warning": f"{NOT_TRIED} Read operator.html before the first run.",
        "joint_names": list(robot.joint_names),
        "columns": [plain_text(name) for name in robot.joint_names],
        "dof": robot.dof,
        "unit": target.unit,
        "dt": 1.0 / target.rate,
        "start": [f"{value:.5f}" for value in degrees],
        "tolerance": TOLERANCE,
        "tolerance_deg": float(np.rad2deg(TOLERANCE)),
        "approach_time": APPROACH_TIME,
        "slowest": (motion.duration - motion.start) / min(SPEEDS),
        "peak_speed_deg": float(np.rad2deg(np.abs(reference.dq).max())),
    }


def _require_no_contact(robot: Robot, motion: Trajectory, config: StudyConfig) -> None:
    space = build_space(robot, config)
    if space is None:
        return
    if touching := contacts(robot, {"the motion": motion}, space.floor):
        raise InfeasibleError(f"{touching[0]}; the robot must not run this motion, design another")


def _compare(
    robot: Robot, motion: Trajectory, played: PlayedMotion
) -> tuple[Float1D, dict[str, Float1D]]:
    """Compute the largest distances from the designed motion, and the use of the limits."""
    count = max(MIN_CHECKED_TIMES, CHECKS_PER_SET_POINT * len(played.q))
    use, limits = dict[str, Float1D](), robot.limits
    times = np.linspace(0.0, played.duration, count)
    reference = played(times)
    designed = motion(motion.start + times)
    error = np.abs(reference.q - designed.q).max(axis=0)
    use["position"] = np.abs((reference.q - limits.middle) / limits.half_range).max(axis=0)
    use["velocity"] = np.abs(reference.dq / limits.velocity).max(axis=0)
    use["acceleration"] = np.abs(reference.ddq / limits.acceleration).max(axis=0)
    return error, use


def _require_limits(
    robot: Robot, use: Mapping[str, Float1D], error: Float1D, target: Target
) -> None:
    if error.max() > MAX_ERROR:
        j = int(error.argmax())
        raise InfeasibleError(
            f"at {target.rate:g} set points per second, joint '{robot.joint_names[j]}' is up to "
            f"{error[j]:.3g} {robot.joint_units[j]} off the motion, at most {MAX_ERROR:g} is "
            "permitted; give a higher --rate"
        )
    for kind, shares in use.items():
        j = int(np.argmax(shares))
        if not shares[j] <= MAX_LIMIT_SHARE:
            raise InfeasibleError(
                f"at {target.rate:g} set points per second, joint '{robot.joint_names[j]}' uses "
                f"{shares[j]:.0%} of its {kind} limit; give a higher --rate, or design a slower "
                "motion"
            )


def _sweep(robot: Robot, q: Float2D, times: Float1D) -> tuple[Float2D, float, float]:
    """Compute the swept box and the reach of joints and tip [m], and the tip's peak speed [m/s]."""
    tips = np.array([tip_pose(robot, pose)[:3, 3] for pose in q])
    points = np.concatenate([link_poses(robot, q)[..., :3, 3].reshape(-1, 3), tips])
    speeds = np.linalg.norm(np.diff(tips, axis=0), axis=1) / np.diff(times)
    box = np.array([points.min(axis=0), points.max(axis=0)])
    return box, float(np.linalg.norm(points, axis=1).max()), float(speeds.max())
