"""Gains for coupled joints: no stiffer than the control rate admits."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from loops import loop_gains, path_of
from robots import urdf_path

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains, admissible_inertia
from robotid_sim.dynamics.dynamics import effective_inertia, mass_matrix
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError, ShapeError
from robotid_sim.model.robot import Robot


@pytest.fixture(scope="module")
def panda():
    """Joints 1 and 3 are nearly in line, and there are no rotors: they move one another."""
    return Robot.from_urdf(urdf_path("panda"))


def largest_eigenvalue(robot, q, inertia):
    return max(np.linalg.eigvals(np.linalg.solve(M, np.diag(inertia))).real.max()
               for M in mass_matrix(robot, q))  # fmt: skip


def test_where_the_rate_is_high_enough_the_inertia_is_the_mean_diagonal(robot):
    path = path_of(robot)
    gains = LoopGains.from_specification(robot, path, rate=50e3)
    diagonal = np.diagonal(mass_matrix(robot, path.q), axis1=1, axis2=2).mean(axis=0)
    np.testing.assert_array_equal(gains.inertia, diagonal)
    assert gains.coupling == pytest.approx(largest_eigenvalue(robot, path.q, diagonal), rel=1e-6)


def test_the_coupling_is_cut_to_what_is_admitted(robot):
    q = path_of(robot).q
    wanted = np.diagonal(mass_matrix(robot, q), axis1=1, axis2=2).mean(axis=0)
    largest = 0.5 * largest_eigenvalue(robot, q, wanted)
    inertia, coupling = admissible_inertia(robot, q, wanted, largest)
    assert coupling == pytest.approx(largest_eigenvalue(robot, q, inertia), rel=1e-6)
    assert 0.97 * largest < coupling <= largest  # the search ends within 1 % of the share
    assert (inertia <= wanted).all()
    # Only joints that are lighter than they look lose, all to the same multiple.
    share = inertia / effective_inertia(robot, q).min(axis=0)
    np.testing.assert_allclose(share[inertia < wanted], share.max(), rtol=1e-9)


def test_joints_that_lose_stiffness_get_a_wider_bound(panda):
    q = panda.home + 0.3 * np.sin(np.linspace(0.0, 1.0, 20)[:, None] + np.arange(7.0))
    path = replace(path_of(panda), q=q)
    make = partial(LoopGains.from_specification, panda, path, frequency=1e-13)
    slow, quick = (make(rate=r) for r in (500.0, 50e3))
    assert slow.bandwidth == quick.bandwidth
    assert slow.coupling * slow.bandwidth <= slow.rate
    less = slow.inertia < quick.inertia
    assert less.any()
    assert (slow.error_bound[less] > quick.error_bound[less]).all()
    np.testing.assert_allclose(slow.error_bound[~less], quick.error_bound[~less], rtol=1e-9)
    np.testing.assert_allclose(
        slow.error_bound, slow.disturbance / (slow.inertia * slow.bandwidth**2), rtol=1e-12
    )


@pytest.mark.parametrize("name", CONTROLLERS)
def test_no_law_is_too_stiff_for_coupled_joints(panda, name):
    zero, pose = np.zeros(7), panda.limits.middle
    path = replace(path_of(panda), q=np.tile(pose, (20, 1)))
    gains = LoopGains.from_specification(panda, path, rate=1000.0)
    controller = CONTROLLERS[name].from_gains(panda, gains)
    with Plant(panda) as plant:
        plant.reset(pose + 1e-3, zero)
        first = None
        for k in range(400):
            tau = controller(k * plant.dt, plant.q, plant.dq, Setpoint(pose, zero, zero))
            plant.step(tau)
            if k >= 380:
                first = tau if first is None else first
                # Without a limit, the lightest motion flips the torque at every sample.
                assert np.abs(tau - first).max() < 0.05 * gains.gain.max()
        assert np.abs(plant.q - pose).max() < 0.02


def test_a_joint_alone_takes_twice_the_bandwidth_or_a_quarter_of_the_rate():
    assert loop_gains(20.0, 1.0).default_decay_rate == 40.0
    assert loop_gains(200.0, 1.0).default_decay_rate == 250.0
    assert loop_gains(300.0, 1.0).default_decay_rate == 300.0
    assert replace(loop_gains(100.0, 1.0), coupling=4.0).default_decay_rate == 125.0


@pytest.mark.parametrize("name", ["bandwidth", "rate", "coupling"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_numbers_that_are_not_positive_are_refused(name, value):
    with pytest.raises(OptionError, match=f"{name} is .*; give a positive number"):
        replace(loop_gains(20.0, 1.0), **{name: value})


def test_a_disturbance_that_is_not_finite_is_refused():
    with pytest.raises(ShapeError, match="disturbance"):
        replace(loop_gains(20.0, 1.0), disturbance=np.array([np.nan]))


def test_a_bandwidth_beyond_the_rate_is_cut_with_a_word(caplog) -> None:
    robot = Robot.from_urdf(urdf_path("irb140"))
    gains = LoopGains.from_specification(robot, path_of(robot), rate=1000.0, bandwidth=1e9)
    assert gains.bandwidth == pytest.approx(100.0 * np.pi)
    assert (
        "control.bandwidth of 1e+09 rad/s is reduced to 314.2, the maximum at a rate of 1000 Hz"
        in caplog.text
    )
