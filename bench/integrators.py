"""Both engines against SciPy's DOP853 on our forward dynamics: order, time of the torque, energy.

A torque that is held over every control step of 4 ms drives a robot for .4 s. The reference is
integrated to 1e-12. In the engines velocities lag by half a sub-step, and so does the torque: it
acts half a sub-step before the step that it is held over. A reference with this alignment
(`aligned`) is met to second order; one whose torque acts on the step itself (`at the step`) to
first. Errors are those of the positions at the end, largest joint; the order is the slope between
the last two. Energy: the arm swings freely from rest for 10 s, without friction; the change of its
energy, as the mean over the last second less that over the first, and the largest at any time,
both over the largest kinetic energy.

Run as ``python bench/integrators.py``.
"""

from collections.abc import Sequence
from importlib.metadata import distribution

import numpy as np
from scipy.integrate import solve_ivp

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.dynamics import (
    forward_dynamics,
    gravity_torque,
    mass_matrix,
    potential_energy,
)
from robotid_sim.engine.engines import ENGINES
from robotid_sim.engine.plant import Plant
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot

ARMS = "cmeel.prefix/share/example-robot-data/robots"
ROBOTS = {
    "twolink": "twolink",
    "irb140": "irb140",
    "panda": str(
        distribution("example-robot-data").locate_file(f"{ARMS}/panda_description/urdf/panda.urdf")
    ),
}
DT = 4e-3
"""Control step [s]."""

SECONDS = 0.4
SWING = 10.0
"""Length of the free swing [s]."""

SUBSTEPS = (1, 2, 4, 8, 16)
TOLERANCE = 1e-12


def torques(robot: Robot) -> Float2D:
    """Return the torques that drive a robot, a row a control step: those of gravity and a wave."""
    t = np.arange(round(SECONDS / DT)) * DT
    phase = np.arange(robot.dof)
    share = np.minimum(
        0.2 * robot.limits.effort, 20.0 * np.diagonal(mass_matrix(robot, start(robot)))
    )
    return gravity_torque(robot, start(robot)) + share * np.sin(
        2.0 * np.pi * np.outer(t, 2.0 + 0.5 * phase) + phase
    )


def start(robot: Robot) -> Float1D:
    """Return where a robot starts, away from symmetries."""
    return robot.home + 0.3 * np.cos(np.arange(robot.dof))


def integrated(robot: Robot, state: Float1D, tau: Float1D, seconds: float) -> Float1D:
    """Return the state after some time under a constant torque."""
    n = robot.dof

    def rate(_: float, x: Float1D) -> Float1D:
        return np.concatenate([x[n:], forward_dynamics(robot, x[:n], x[n:], tau)])

    options = {"method": "DOP853", "rtol": TOLERANCE, "atol": TOLERANCE}
    return np.asarray(solve_ivp(rate, (0.0, seconds), state, **options).y[:, -1])


def reference(robot: Robot, tau: Float2D, lag: float) -> tuple[Float1D, Float1D]:
    """Return the velocity to put into the engine, and the positions at the end.

    The robot is at rest at time zero; every torque acts `lag` before the step it is held over, and
    the velocity in the engine is that of `lag` before.
    """
    rest = np.concatenate([start(robot), np.zeros(robot.dof)])
    before = integrated(robot, rest, tau[0], -lag)[robot.dof :] if lag else rest[robot.dof :]
    state = integrated(robot, rest, tau[0], DT - lag)
    for row in tau[1:]:
        state = integrated(robot, state, row, DT)
    if lag:  # nothing is asked of the time after the last torque but to be as long
        state = integrated(robot, state, tau[-1], lag)
    return before, state[: robot.dof]


def error(robot: Robot, engine: str, substeps: int, *, aligned: bool) -> float:
    """Return the largest error of a position at the end [rad or m]."""
    tau = torques(robot)
    velocity, end = reference(robot, tau, 0.5 * DT / substeps if aligned else 0.0)
    with Plant(robot, dt=DT, substeps=substeps, engine=engine) as plant:
        plant.reset(start(robot), velocity)
        for row in tau:
            plant.step(row)
        return float(np.abs(plant.q - end).max())


def order(errors: Sequence[float]) -> float:
    """Return the order that the two finest runs show."""
    return float(np.log2(errors[-2] / errors[-1]))


def energies(robot: Robot, engine: str, substeps: int) -> tuple[Float1D, Float1D]:
    """Return the whole and the kinetic energy of a free swing [J], at every control step."""
    none, states = np.zeros(robot.dof), []
    with Plant(robot, dt=DT, substeps=substeps, engine=engine) as plant:
        plant.reset(start(robot), none)
        for _ in range(round(SWING / DT)):
            step = plant.step(none)  # its velocity is that of the time of its position
            states.append((step.q, step.dq))
    kinetic = np.array([0.5 * v @ mass_matrix(robot, q) @ v for q, v in states])
    return kinetic + np.array([potential_energy(robot, q) for q, _ in states]), kinetic


def with_friction(robot: Robot, share: float) -> Robot:
    """Return a robot whose friction is a share of its largest torques; rotors stay."""
    phi, n = robot.parameters(), robot.dof
    speed = np.minimum(robot.limits.velocity, 2.0)
    largest = np.minimum(robot.limits.effort, 10.0 * np.diagonal(mass_matrix(robot, robot.home)))
    for j in range(n):
        phi[10 * n + 4 * j : 10 * n + 4 * j + 3] = (
            share * largest[j] * np.array([1 / speed[j], 1, 0])
        )
    return robot.with_parameters(phi)


def main() -> None:
    """Print both tables."""
    runs = " ".join(f"{f'/{n}':>8}" for n in SUBSTEPS)
    print(f"errors of positions after {SECONDS:g} s, by sub-steps of {DT * 1e3:g} ms")
    print(f"{'robot':8} {'friction':8} {'engine':8} {'torque':12} {runs}  order")
    for name, source in ROBOTS.items():
        for words, share in (("none", 0.0), ("2 %", 0.02)):
            robot = with_friction(load_robot(source), share)
            for engine in ENGINES:
                for aligned in (True, False):
                    errors = [error(robot, engine, n, aligned=aligned) for n in SUBSTEPS]
                    shown = " ".join(f"{value:8.1e}" for value in errors)
                    when = "aligned" if aligned else "at the step"
                    print(f"{name:8} {words:8} {engine:8} {when:12} {shown}  {order(errors):5.2f}")
    print(f"\nenergy of a free swing of {SWING:g} s over its largest kinetic energy")
    print(f"{'robot':8} {'engine':8} {'sub-step':>9} {'drift':>9} {'largest':>9}")
    for name, source in ROBOTS.items():
        robot = with_friction(load_robot(source), 0.0)
        for engine in ENGINES:
            for n in SUBSTEPS[::2]:
                total, kinetic = energies(robot, engine, n)
                second = round(1.0 / DT)
                drift = total[-second:].mean() - total[:second].mean()
                largest = np.abs(total - total[0]).max()
                size = kinetic.max()
                print(
                    f"{name:8} {engine:8} {DT / n * 1e3:6.2f} ms {drift / size:9.1e} "
                    f"{largest / size:9.1e}"
                )


if __name__ == "__main__":
    main()
