"""Unseen torques of plants with the laws of the list: the error over that of the plant's own model.

Three kinds of motion: a designed Fourier series, point to point without rest, and poses with two
seconds of rest in each. `identify` sees one log; the torque of another is predicted from its
positions. The error is that of the band below 10 Hz, from half a second on; the model of the plant
itself, with its law, predicts along the same positions. A ratio of 1 is the best that is possible.

Columns: ratio by joint; CPU seconds of the identification; terms that it chose.

Run as ``python bench/predictions.py [--robot irb140] [--laws stribeck ...] [--motions rest ...]
[--terms auto]``. Exits with 1 unless every ratio is at most 1.1.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from scipy.signal import butter, sosfiltfilt

from robotid_sim.arrays import Float1D, Float2D, rms
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.dynamics.kernels import inverse_dynamics, smooth_friction
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.friction_law import FRICTION_LAWS, FrictionLaw
from robotid_sim.model.parameters import joint_slice
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import Setup, build_setup
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.excitation import design_excitation
from robotid_sim.pipeline.fit_plan import PreprocessConfig, build_preprocessor
from robotid_sim.pipeline.identify import identify
from robotid_sim.pipeline.predict import predict
from robotid_sim.trajectory.reference import PointToPoint, Reference, Trajectory, approach_duration
from robotid_sim.validation.log_prediction import ignore_velocities

BAND = 10.0
"""Predictions are judged below this [Hz]."""

SETTLED = 0.5
"""And from here on [s]: nobody knows how far friction has built up."""

MAX_RATIO = 1.1

LAWS = [name for name in FRICTION_LAWS if name not in ("stick-slip", "warming")]
"""A stick holds what torque it held before, and another log has another temperature: no model of
the state has them."""

POSES = {"point-to-point": (24, 0.0), "rest": (12, 2.0)}
"""Poses of a motion, and the rest in each [s]: half a minute, as the Fourier series."""


class Poses:
    """Random poses one after the other, with a rest in each."""

    period = None

    def __init__(self, robot: Robot, motion: str, rng: np.random.Generator) -> None:
        count, dwell = POSES[motion]
        limits, self.joint_names = robot.limits, robot.joint_names
        lower, upper = np.maximum(limits.lower, -2.0), np.minimum(limits.upper, 2.0)
        pose, t = robot.home, 0.0
        self.ways = []
        for _ in range(count):
            share = 0.3 * (2.0 * rng.random(robot.dof) - 1.0)
            other = 0.5 * (lower + upper) + share * (upper - lower)
            end = t + approach_duration(limits, pose, other, 0.6)
            self.ways.append(PointToPoint(self.joint_names, pose, other, t, end))
            pose, t = other, end + dwell
        self.start, self.duration = 0.0, t

    def __call__(self, t: Float1D) -> Reference:
        """Return the states at times [s]."""
        parts = self.ways[0](t)
        q, dq, ddq = parts.q.copy(), parts.dq.copy(), parts.ddq.copy()
        for way in self.ways[1:]:
            later, part = t >= way.start, way(t)
            q[later], dq[later], ddq[later] = part.q[later], part.dq[later], part.ddq[later]
        return Reference(q=q, dq=dq, ddq=ddq)


def two_logs(setup: Setup, motion: str) -> list[Log]:
    """Return a log to learn from and another one, without their truth."""
    logs = list[Log]()
    path: Trajectory
    for seed in range(2):
        rng = np.random.default_rng(seed)
        if motion in POSES:
            path = Poses(setup.cell.plant, motion, rng)
        elif seed == 0:
            design = design_excitation(setup.nominal, setup.basis, setup.excitation, rng)
            path = design.trajectories[0]
        else:
            path = setup.unseen
        with setup.cell.open() as plant:
            clean = rollout(plant, setup.cell.controller, path)
        logs.append(replace(measure(clean, setup.cell.sensors, rng), truth=None))
    return logs


def law_torque(plant: Robot, law: FrictionLaw, motion: Motion) -> Float2D:
    """Return the torque of a plant with a law along a motion [N m], shape (N, n)."""
    state = motion.q, motion.dq, motion.ddq
    bodies = plant.parameters()
    for j in range(plant.dof):
        bodies[joint_slice(j, plant.dof)][:3] = 0.0
    load = inverse_dynamics(plant.geometry, plant.gravity, plant.parameters(), *state)
    rows = law.coefficients(plant)
    dry = [
        [smooth_friction(rows[j], v, load)[0] for v, load in zip(dq, forces, strict=True)]
        for j, (dq, forces) in enumerate(zip(motion.dq.T, load.T, strict=True))
    ]
    terms = terms_torque(plant, law.terms(plant), *state, t=motion.t)
    return np.asarray(joint_torque(plant.with_parameters(bodies), *state) + np.array(dry).T + terms)


def band_rms(x: Float2D, dt: float) -> Float1D:
    """Return the RMS below `BAND` from `SETTLED` on, shape (n,)."""
    low = sosfiltfilt(butter(4, BAND, fs=1.0 / dt, output="sos"), x, axis=0)
    return rms(low[round(SETTLED / dt) :])


def ratios(setup: Setup, law: FrictionLaw, terms: str, fit_log: Log, log: Log) -> str:
    """Return one row of the table, and whether a ratio is too large."""
    start = time.process_time()
    fit = identify(fit_log, setup.nominal, basis=setup.basis, terms=terms, force=True)
    seconds = time.process_time() - start
    prediction = predict(fit, log, setup.nominal, force=True).prediction
    tuned = ignore_velocities(build_preprocessor(PreprocessConfig()), None).tune(log, setup.nominal)
    motion = tuned(log, setup.nominal)
    used = slice(None) if motion.row_filter is None else motion.row_filter.sample_slice
    best = (motion.tau - law_torque(setup.cell.plant, law, motion))[used]
    ratio = band_rms(prediction.measured - prediction.predicted, log.dt) / band_rms(best, log.dt)
    chosen = " ".join(f"{term.kind}@{term.joint}" for term in fit.structure.robot_terms())
    bad = "  *" if (ratio > MAX_RATIO).any() else "   "
    return f"{bad} {' '.join(f'{r:5.2f}' for r in ratio)}  {seconds:5.1f} s  {chosen}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--robot", default="irb140")
    parser.add_argument("--laws", nargs="+", default=LAWS)
    parser.add_argument("--motions", nargs="+", default=["fourier", *POSES])
    parser.add_argument("--terms", default="auto")
    args, failed = parser.parse_args(), False
    for law in args.laws:
        friction = {"experiment": {"friction": {"law": law}}, "control": {"enabled": False}}
        setup = build_setup(args.robot, load_config(None, friction), in_full=False)
        for motion in args.motions:
            logs = two_logs(setup, motion)
            row = ratios(setup, FRICTION_LAWS.build(law), args.terms, *logs)
            failed |= row.startswith("  *")
            print(f"{law:20} {motion:15}{row}", flush=True)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
