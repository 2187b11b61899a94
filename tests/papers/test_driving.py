"""What papers do in the engine alike."""

import numpy as np

from robotid_sim.measurement.sensors import measure
from robotid_sim.model.catalog import load_robot
from robotid_sim.papers.driving import ENCODER_NOISE, LOW_PASS, drive, tracking_error, with_encoders
from robotid_sim.trajectory.fourier import FourierTrajectory

RATE = 500.0


def test_a_driven_motion_is_followed_and_seen_with_noise() -> None:
    robot = load_robot("twolink")
    names = tuple(joint.name for joint in robot.joints)
    a = np.full((robot.dof, 1), 0.2)
    path = FourierTrajectory(names, np.zeros(robot.dof), a, 0.0 * a, base_period=2.0, periods=1)
    clean = drive(robot, path, RATE)
    assert clean.dt * RATE == 1.0
    assert (tracking_error(clean, path) < 1e-3).all()
    noisy = measure(clean, with_encoders("torque-noise", relative=0.01), np.random.default_rng(0))
    assert (noisy.q - clean.q).std() < 1.2 * ENCODER_NOISE
    assert np.abs(LOW_PASS(noisy, robot).q - clean.q).max() < 1e-2
    assert (noisy.tau_meas != clean.tau_meas).all()
