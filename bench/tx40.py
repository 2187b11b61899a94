"""A Stäubli TX40 with a coupled wrist: torque of blocks that the fit has not seen, terms chosen.

The log is that of FIGAROH's example (github.com/thanhndv212/figaroh-plus, examples/tx40,
Apache-2.0): motor positions and torques at 5 kHz for 9 s. Of every four blocks of 0.5 s three are
fitted, the last is predicted. Rows of the fit: the smoother of the default, low-pass of 40 Hz,
100 a second. What is predicted passes a Butterworth filter forward and backward and is taken 100
times a second, without samples near standstill. Printed is |tau - predicted| / |tau| of every
joint with Coulomb and viscous friction alone and with the terms that the log has chosen, behind a
filter of 50 Hz and of 100 Hz (between them the torque of joint_2 has little but noise), and those
terms.

Run as ``python bench/tx40.py FOLDER [--cutoff 40|by-joint]`` with motor_position.csv.gz,
motor_torque.csv.gz and tx40.urdf in the folder.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.signal import butter, sosfiltfilt
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Bool1D, Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.estimation.least_squares import WeightedLeastSquares
from robotid_sim.estimation.problem import build_problem
from robotid_sim.estimation.structure import EMPTY_STRUCTURE, Structure
from robotid_sim.estimation.structure_search import choose_structure
from robotid_sim.importing.import_map import Coupling, ImportMap, JointMap
from robotid_sim.importing.importer import import_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import add_gate
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.joint_terms import ALL, select_kinds
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.adaptive import BY_JOINT, rows_by_joint
from robotid_sim.preprocess.preprocessor import Rows
from robotid_sim.preprocess.rts import RtsSmoother

RATE, BLOCK, BLOCKS = 5000.0, 0.5, 4
"""Samples a second [Hz], length of a block [s], and blocks of which the last is predicted."""

GEARS = (32.0, 32.0, 45.0, -48.0, 45.0, 32.0)
OFFSETS = (0.0, -0.5 * np.pi, 0.5 * np.pi, 0.0, 0.0, 0.0)
"""Joint positions where those of the motors are zero [rad]."""

THIN = 50
"""Samples of which one is judged."""

CUTOFFS = (50.0, 100.0)
"""Cut-offs of the filter behind which errors are judged [Hz]."""

SLOW = (0.05, 0.05, 0.075, 0.07, 0.056, 0.12)
"""Speeds up to which samples of a joint are not judged [rad/s]."""


def recorded(folder: Path, robot: Robot) -> Log:
    """Return the log of joints, of what was recorded of motors."""
    turns, torque = np.diag(GEARS), np.diag(GEARS)
    turns[5, 4] = torque[4, 5] = 32.0  # motor 6 also turns joint 5
    rows = [tuple(tuple(row) for row in matrix.tolist()) for matrix in (turns, torque)]
    joints = {
        name: JointMap(offset=offset)
        for name, offset in zip(robot.joint_names, OFFSETS, strict=True)
    }
    coupling = Coupling(position=rows[0], torque=rows[1])
    mapping = ImportMap(rate=RATE, joints=joints, coupling=coupling)
    files = [folder / f"motor_{name}.csv.gz" for name in ("position", "torque")]
    return import_log(files, robot, mapping).log


def held_out(t: Float1D) -> Bool1D:
    """Return which samples lie in the blocks that are predicted."""
    return np.asarray(np.floor((t - t[0]) / BLOCK) % BLOCKS == BLOCKS - 1)


def errors(
    log: Log, robot: Robot, basis: BaseParameters, beta: Float1D, found: Structure, cutoff: float
) -> Float1D:
    """Return the relative error of the torque of every joint in the blocks that were left out."""
    low = butter(4, cutoff, fs=1.0 / log.dt, output="sos")
    q, tau = (sosfiltfilt(low, x, axis=0) for x in (log.q, log.tau_meas))
    dq = np.gradient(q, log.dt, axis=0)
    state = (q, dq, np.gradient(dq, log.dt, axis=0))
    model = robot.with_parameters(basis.complete(beta, robot.parameters()), formal=True)
    middle = 0.5 * (log.t[0] + log.t[-1])
    terms = terms_torque(model, found.robot_terms(), *state, t=log.t - middle)
    W = torque_regressor(robot, *(x[::THIN] for x in state), basis.columns)
    rest = (tau - terms)[::THIN] - W @ beta
    judged = held_out(log.t)[::THIN, None] & (np.abs(dq[::THIN]) > SLOW)
    left, whole = (np.where(judged, x, 0.0) for x in (rest, tau[::THIN]))
    return np.asarray(np.linalg.norm(left, axis=0) / np.linalg.norm(whole, axis=0))


def main() -> None:
    """Print the errors and the terms."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cutoff", default="40", help="of the rows [Hz], or by-joint")
    options = parser.parse_args()
    folder, cutoff = options.folder, options.cutoff
    robot = load_robot(folder / "tx40.urdf")
    log = recorded(folder, robot)
    if cutoff == BY_JOINT:
        rows = rows_by_joint(RtsSmoother()(log, robot), robot, Rows())
    else:
        rows = Rows(cutoff=float(cutoff), rate=2.5 * float(cutoff))
    motion = RtsSmoother(rows=rows)(log, robot)
    assert motion.row_filter is not None
    left = np.repeat(~held_out(log.t)[:, None], log.dof, axis=1)
    motion = replace(motion, row_filter=add_gate(motion.row_filter, left))
    basis = base_parameters(robot)
    problem = build_problem(motion, robot, basis)
    found = choose_structure(problem, motion, robot, select_kinds((ALL,)))
    print(f"{'% of torque':24} " + " ".join(f"{name:>8}" for name in robot.joint_names))
    for cutoff in CUTOFFS:
        for title, terms in (("Coulomb, viscous", EMPTY_STRUCTURE), ("terms chosen", found)):
            estimate = WeightedLeastSquares().fit(
                terms.project_rows(problem), np.random.default_rng(0)
            )
            numbers = 100.0 * errors(log, robot, basis, estimate.beta, terms, cutoff)
            row = " ".join(f"{number:8.2f}" for number in numbers)
            print(f"{title:17} {cutoff:3.0f} Hz {row}")
    for fitted in found.terms:
        units = robot.joint_units[robot.joint_names.index(fitted.term.joint)]
        print(f"{fitted.term.kind} of {fitted.term.joint}: " + ", ".join(fitted.numbers(units)))


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
