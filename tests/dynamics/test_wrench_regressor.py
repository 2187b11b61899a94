"""The wrenches in the joints: their component along the axis is the torque, at the base statics."""

import numpy as np

from robotid_sim.dynamics.dynamics import torque_regressor
from robotid_sim.dynamics.wrench import wrench_regressor
from robotid_sim.model import parameters
from robotid_sim.model.robot import Robot


def test_drive_torque_is_the_component_of_the_wrench_along_the_axis(robot: Robot) -> None:
    batch = np.random.default_rng(0).uniform(-1.0, 1.0, (3, 5, robot.dof))
    W = wrench_regressor(robot, *batch)
    Y = torque_regressor(robot, *batch)[:, :, : parameters.N_INERTIAL * robot.dof]
    axes, slides = robot.geometry[:, 3:6], robot.geometry[:, 6] == 1.0
    for j in range(robot.dof):
        part = W[:, j, :3] if slides[j] else W[:, j, 3:]
        along = np.einsum("r,krc->kc", axes[j], part)
        np.testing.assert_allclose(along, Y[:, j], atol=1e-12 * np.abs(Y).max())


def test_at_rest_the_base_carries_the_weight_of_all_links(irb140: Robot) -> None:
    rest = np.zeros(irb140.dof)
    W = wrench_regressor(irb140, rest, rest, rest)
    inertial = irb140.parameters()[: parameters.N_INERTIAL * irb140.dof]
    force = W[0, :3] @ inertial
    weight = sum(link.phi[0] for link in irb140.links) * np.linalg.norm(irb140.gravity)
    np.testing.assert_allclose(np.linalg.norm(force), weight, rtol=1e-12)
