"""Both engines against an integration to 1e-12: order, the time at which torque acts, energy.

``bench/integrators.py`` prints the errors on three robots.
"""

import numpy as np
import pytest
from robots import urdf_path
from sampling import sampled
from scipy.integrate import solve_ivp

from robotid_sim.dynamics.dynamics import (
    forward_dynamics,
    gravity_torque,
    mass_matrix,
    potential_energy,
)
from robotid_sim.engine.plant import Plant
from robotid_sim.model.robot import Robot

pytestmark = pytest.mark.usefixtures("each_engine")

DT = 4e-3  # [s]
STEPS = 50
SUBSTEPS = (2, 4, 8, 16)


def integrated(robot: Robot, state, tau, seconds):
    n = robot.dof

    def rate(_, x):
        return np.concatenate([x[n:], forward_dynamics(robot, x[:n], x[n:], tau)])

    return solve_ivp(rate, (0, seconds), state, method="DOP853", rtol=1e-12, atol=1e-12).y[:, -1]


@pytest.fixture(
    scope="module", params=sampled(("irb140", "panda", "2r"), "2r", mark=pytest.mark.slow)
)
def driven(request) -> tuple[Robot, np.ndarray, np.ndarray]:
    """Return a robot with rotors and mild friction, where it starts, and torques by step."""
    robot = Robot.from_urdf(urdf_path(request.param))
    phi, n = robot.parameters(), robot.dof
    inertia = np.diagonal(mass_matrix(robot, robot.home))
    for j in range(n):
        phi[10 * n + 4 * j :][:4] = 0.1 * inertia[j], 0.05 * inertia[j], 0.0, 0.1 * inertia[j]
    robot = robot.with_parameters(phi)
    q = robot.home + 0.3 * np.cos(np.arange(n))
    wave = np.sin(2.0 * np.pi * np.outer(np.arange(STEPS) * DT, 2.0 + 0.5 * np.arange(n)) + 0.3)
    return robot, q, gravity_torque(robot, q) + 3.0 * inertia * wave


def errors(robot: Robot, q, tau, *, aligned: bool) -> np.ndarray:
    """Return the error of positions at the end, by the number of sub-steps."""
    found = []
    for substeps in SUBSTEPS:
        with Plant(robot, dt=DT, substeps=substeps) as plant:
            # By the contract torque acts around `torque_time_offset` after the start of its step.
            lag = 0.5 * DT - plant.torque_time_offset if aligned else 0.0
            rest = np.concatenate([q, np.zeros(robot.dof)])
            before = (
                integrated(robot, rest, tau[0], -lag)[robot.dof :] if lag else rest[robot.dof :]
            )
            state = integrated(robot, rest, tau[0], DT - lag)
            for row in tau[1:]:
                state = integrated(robot, state, row, DT)
            state = integrated(robot, state, tau[-1], lag) if lag else state
            plant.reset(q, before)
            for row in tau:
                plant.step(row)
            found.append(np.linalg.norm(plant.q - state[: robot.dof]))
    return np.array(found)


def slope(values: np.ndarray) -> float:
    return float(-np.polyfit(np.log2(SUBSTEPS), np.log2(values), 1)[0])


def test_steps_are_of_second_order_where_torque_acts_as_stated(driven) -> None:
    found = errors(*driven, aligned=True)
    assert slope(found) == pytest.approx(2.0, abs=0.15)
    assert found[-1] < 1e-5


def test_torque_at_the_start_of_its_step_would_be_of_first_order(driven) -> None:
    exact, shifted = errors(*driven, aligned=True), errors(*driven, aligned=False)
    assert slope(shifted) == pytest.approx(1.0, abs=0.15)
    assert shifted[-1] > 10.0 * exact[-1]


def test_a_free_swing_keeps_its_energy_to_second_order(arm) -> None:
    phi, n = arm.parameters(), arm.dof
    phi[10 * n :] *= np.tile([0.0, 0.0, 0.0, 1.0], n)
    free, change = arm.with_parameters(phi), []
    for substeps in SUBSTEPS:
        with Plant(free, dt=DT, substeps=substeps) as plant:
            plant.reset(free.home + 0.5, np.zeros(n))
            steps = [plant.step(np.zeros(n)) for _ in range(500)]
        energy = np.array([0.5 * s.dq @ mass_matrix(free, s.q) @ s.dq for s in steps])
        size = energy.max()
        energy += [potential_energy(free, s.q) for s in steps]
        change.append(np.abs(energy - energy[0]).max() / size)
    assert slope(np.array(change)) == pytest.approx(2.0, abs=0.2)
    assert change[-1] < 1e-4
