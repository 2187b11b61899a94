"""What each criterion of an excitation buys: designs of the ABB IRB 140 by every one of them.

Default options and noise, a nominal model 20 % wrong, one start from 200 draws, one seed. Condition
numbers are those of the base regressor in SI units and with columns of unit length; log det is that
of the information of the log, under the noise that criteria assume. Standard deviations are
Cramér-Rao bounds of the log for one fixed noise, 1 % of the torque scale of every joint, in
`parameter_sizes` (shares of the nominal magnitude). The last row has the median of random feasible
draws in every column. One BLAS thread, one process.

Run as ``python bench/criteria.py``.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.excitation import CRITERIA
from robotid_sim.excitation.criteria import NOISE_SHARE, Criterion
from robotid_sim.excitation.criteria_spectrum import parameter_sizes
from robotid_sim.excitation.design import excitation_quality, random_designs, torque_scale
from robotid_sim.excitation.information import compute_expected_std, compute_information
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.fourier import FourierTrajectory

DRAWS = 200
CASES: dict[str, Criterion] = {
    **{name: CRITERIA.build(name) for name in CRITERIA},
    "combined, unit columns": CRITERIA.build("combined-condition", columns="unit"),
    "condition-number, weighed": CRITERIA.build("condition-number", floor=1.0),
    "normalized, weighed": CRITERIA.build("normalized-condition-number", floor=1.0),
    "a-optimality, SI units": CRITERIA.build("a-optimality", scaling="unit"),
    "e-optimality, SI units": CRITERIA.build("e-optimality", scaling="unit"),
}


def merits(robot: Robot, basis: BaseParameters, trajectory: FourierTrajectory) -> list[float]:
    """Return the columns of the table but the seconds."""
    found = excitation_quality(robot, basis, trajectory)
    noise = NOISE_SHARE * torque_scale(robot)
    std = compute_expected_std(robot, basis, trajectory, noise_std=noise)
    share = std / parameter_sizes(basis.project(robot.parameters()))
    return [
        found.cond_raw,
        found.cond_normalized,
        compute_information(robot, basis, [trajectory]).log_det,
        float(np.linalg.norm(share)),
        float(share.max()),
        float(np.exp(np.log(share).mean())),
    ]


def show(name: str, values: list[float], seconds: float) -> None:
    """Print a row."""
    raw, unit, log_det, trace, worst, mean = values
    print(f"{name:28} {raw:8.1f} {unit:8.2f} {log_det:8.2f}", end="")
    print(f" {trace:9.5f} {worst:9.5f} {mean:9.6f} {seconds:6.1f}", flush=True)


def main() -> None:
    """Print the table."""
    robot = perturb(load_robot("irb140"), np.random.default_rng(0))
    basis = base_parameters(robot)
    optimal_design(
        robot,
        basis,
        np.random.default_rng(0),
        DesignPlan(search=GradientSearch(starts=1, iterations=2)),
    )  # compiles
    print(f"{'criterion':28} {'cond':>8} {'cond, 1':>8} {'log det':>8}", end="")
    print(f" {'sqrt(tr)':>9} {'worst std':>9} {'geo. std':>9} {'s':>6}")
    for name, criterion in CASES.items():
        began = time.perf_counter()
        result = optimal_design(
            robot, basis, np.random.default_rng(0), DesignPlan(criterion=criterion)
        )
        show(name, merits(robot, basis, result.trajectory), time.perf_counter() - began)
    began = time.perf_counter()
    options = FourierOptions()
    drawn = random_designs(
        robot, basis, np.random.default_rng(0), options=options, candidates=DRAWS
    )
    rows = [merits(robot, basis, draw.trajectory) for draw in drawn]
    middle = [float(x) for x in np.median(rows, axis=0)]
    show(f"random, median of {DRAWS}", middle, (time.perf_counter() - began) / DRAWS)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
