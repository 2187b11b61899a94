"""Optimal excitation of the ABB IRB 120: condition numbers and seconds a start, over ten seeds.

Geometry by standard Denavit-Hartenberg rows, random consistent inertias, friction with eps 0.02
rad/s, 10 s, 5 harmonics, the full position and velocity limits. First the raw condition number of
the pivoted base set, with one start a seed; then D-optimality against the best of random draws on
the catalog's robots. One BLAS thread, one process.

Run as ``python bench/design.py``.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.excitation.criteria_spectrum import ConditionNumber
from robotid_sim.excitation.design import excitation_quality
from robotid_sim.excitation.optimal import optimal_design
from robotid_sim.excitation.plan import DesignPlan, GradientSearch
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.model import inertia
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.catalog_files import describe_catalog
from robotid_sim.model.geometry import Link, transform
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot

SEEDS = 10
CANDIDATES = 50
DENSE = 40_000
OPTIONS = FourierOptions(margin=1.0, periods=1)

# a [m], alpha [deg], d [m], offset of theta [deg], lower, upper [deg], velocity [deg/s]
IRB120 = (
    (0.000, -90.0, 0.290, 0.0, -165.0, 165.0, 250.0),
    (0.270, 0.0, 0.000, -90.0, -110.0, 110.0, 250.0),
    (0.070, -90.0, 0.000, 0.0, -110.0, 70.0, 250.0),
    (0.000, 90.0, 0.302, 0.0, -160.0, 160.0, 320.0),
    (0.000, -90.0, 0.000, 0.0, -120.0, 120.0, 320.0),
    (0.000, 0.0, 0.072, 0.0, -400.0, 400.0, 420.0),
)

# joints, joint parameters, largest median condition number, largest median seconds a start
CASES = (
    (3, (), 5.1, 1.0),
    (3, ("Fv", "Fc"), 21.5, 1.0),
    (6, (), 7.6, 4.0),
    (6, ("Fv", "Fc"), 27.5, 4.0),
)


def rotation(axis: str, angle: float) -> np.ndarray:
    """Return the rotation about x or z."""
    c, s = np.cos(angle), np.sin(angle)
    if axis == "x":
        return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def random_link(name: str, rng: np.random.Generator) -> Link:
    """Return a body of 1 to 5 kg whose extent is some 10 cm."""
    mass, spread = rng.uniform(1.0, 5.0), 0.1 * rng.standard_normal((3, 3))
    second = mass * spread @ spread.T
    tensor = np.trace(second) * np.eye(3) - second
    return Link(name, inertia.pack(mass, rng.uniform(-0.1, 0.1, 3), tensor))


def irb120(joints: int, rng: np.random.Generator) -> Robot:
    """Return the first joints of an IRB 120 with random inertias."""
    made, links = [], []
    behind = np.eye(4)  # from the last joint's frame, after its rotation, to the next joint's
    for k, (a, alpha, d, offset, lower, upper, velocity) in enumerate(IRB120[:joints], 1):
        speed = np.radians(velocity)
        made.append(
            Joint(
                name=f"joint_{k}",
                T_parent_joint=behind @ transform(rotation("z", np.radians(offset)), np.zeros(3)),
                axis=np.array([0.0, 0.0, 1.0]),
                prismatic=False,
                lower=np.radians(lower),
                upper=np.radians(upper),
                velocity=speed,
                acceleration=10.0 * speed,
                friction=Friction(Fv=1.0, Fc=1.0, eps=0.02),
            )
        )
        links.append(random_link(f"link_{k}", rng))
        behind = transform(rotation("x", np.radians(alpha)), np.array([a, 0.0, d]))
    return Robot(f"irb120-{joints}", tuple(links), tuple(made))


def condition_table() -> None:
    """Print the condition numbers over the seeds."""
    print(
        f"{'joints':>6} {'columns':>7} {'random':>7} {'best':>6} {'median':>6} {'worst':>6}", end=""
    )
    print(f" {'target':>6} {'s/start':>7} {'target':>6} {'limits':>6}")
    for joints, joint_parameters, target, target_seconds in CASES:
        before, after, seconds, use = [], [], [], []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            robot = irb120(joints, rng)
            basis = base_parameters(robot, joint_parameters)
            search = GradientSearch(starts=1, candidates=CANDIDATES)
            plan = DesignPlan(family=OPTIONS, criterion=ConditionNumber(), search=search)
            draws = rng.spawn(1)[0]
            began = time.perf_counter()
            result = optimal_design(robot, basis, draws, plan)
            seconds.append(time.perf_counter() - began)
            found = excitation_quality(robot, basis, result.trajectory, DENSE)
            before.append(np.exp(result.value_before))
            after.append(found.cond_raw)
            use.append(max(found.position_ratio, found.velocity_ratio, found.acceleration_ratio))
        print(f"{joints:6} {basis.rank:7} {np.median(before):7.1f} {min(after):6.2f}", end="")
        print(f" {np.median(after):6.2f} {max(after):6.2f} {target:6.1f}", end="")
        print(f" {np.median(seconds):7.2f} {target_seconds:6.1f} {max(use):6.1%}")


def catalog_table() -> None:
    """Print D-optimality on the catalog's robots, default options."""
    print(f"\n{'robot':12} {'random':>8} {'design':>8} {'s':>5} {'limits':>6} {'torque':>6}")
    for entry in describe_catalog():
        robot = perturb(load_robot(entry["name"]), np.random.default_rng(0))
        basis = base_parameters(robot)
        began = time.perf_counter()
        result = optimal_design(robot, basis, np.random.default_rng(0))
        seconds = time.perf_counter() - began
        found = excitation_quality(robot, basis, result.trajectory, DENSE)
        use = max(found.position_ratio, found.velocity_ratio, found.acceleration_ratio)
        print(f"{entry['name']:12} {-result.value_before:8.2f} {-result.value_after:8.2f}", end="")
        print(f" {seconds:5.1f} {use:6.1%} {found.torque_ratio:6.1%}")


def main() -> None:
    """Compile the kernels, then print both tables."""
    arm = irb120(2, np.random.default_rng(0))
    optimal_design(
        arm,
        base_parameters(arm),
        np.random.default_rng(0),
        DesignPlan(search=GradientSearch(starts=1, iterations=2)),
    )
    print(f"raw condition number, {SEEDS} seeds, one start of {CANDIDATES} draws each")
    condition_table()
    print("\nlog det of the information per sample, 2 starts of 200 draws")
    catalog_table()


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
