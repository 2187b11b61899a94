"""A payload and the torque constants of the drives, from logs without and with a load."""

from dataclasses import replace

import numpy as np
import pytest
from robots import DATA

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import RankDeficientError
from robotid_sim.estimation.payload import estimate_payload, list_load_unknowns, payload_parameters
from robotid_sim.estimation.torque_constants import estimate_torque_constants
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.sensors import measure, preset
from robotid_sim.measurement.torque_sensors import TorqueNoise
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.rts import RtsSmoother

MASS, COM = 2.0, np.array([0.05, 0.03, 0.08])
CENTRAL = np.diag([0.004, 0.005, 0.003])
LAB = 0.3
"""Torque noise of the lab preset over that of the exact data."""


def motions(data, seed, share, mass=MASS, gains=1.0):
    """Return measured motions without and with the load."""
    loaded = joint_torque(data.robot.with_payload(mass, COM, CENTRAL), *data.state)
    made = []
    for k, tau in enumerate((data.tau, loaded)):
        noise = share * data.white(np.random.default_rng(10 * seed + k))
        made.append(data.motion((tau + noise) / gains))
    return made


@pytest.fixture(scope="module")
def data(exact, irb140):
    return exact(irb140, 100.0)


class TestPayload:
    def test_it_is_exact_without_noise(self, data):
        found = estimate_payload(*motions(data, 0, 0.0), data.robot, data.basis)
        wanted = data.robot.with_payload(MASS, COM, CENTRAL)
        assert found.mass == pytest.approx(MASS, rel=1e-8)
        np.testing.assert_allclose(found.com, COM, atol=1e-9)
        about_last = payload_parameters(data.robot, MASS, COM, CENTRAL)
        np.testing.assert_allclose(
            data.robot.links[-1].phi + about_last, wanted.links[-1].phi, rtol=1e-12
        )
        np.testing.assert_allclose(found.estimate.beta, data.beta, atol=1e-7)

    @pytest.mark.slow
    def test_two_kilograms_are_found_to_two_percent(self, data):
        scores = []
        for seed in range(10):
            found = estimate_payload(*motions(data, seed, LAB), data.robot, data.basis)
            assert found.success
            assert found.mass == pytest.approx(MASS, rel=0.02)
            np.testing.assert_allclose(found.com, COM, atol=1e-3)
            scores.append(
                [(found.mass - MASS) / found.mass_std, *(found.com - COM) / found.com_std]
            )
        assert 0.6 < np.sqrt(np.mean(np.square(scores))) < 1.5  # 40 values scatter by 11 %
        assert "kg" in found.sentences()[0]

    def test_what_a_planar_arm_cannot_feel_is_unknown(self, exact, arm):
        data = exact(arm, 100.0)
        found = estimate_payload(*motions(data, 0, LAB), arm, data.basis)
        assert found.mass == pytest.approx(MASS, rel=0.02)
        np.testing.assert_allclose(found.com[:2], COM[:2], atol=2e-3)
        assert np.isnan(found.com[2])
        assert np.isnan(found.phi[[4, 5, 6]]).all()  # no rotation about horizontal axes

    @pytest.mark.slow
    def test_errors_of_the_torque_constants_are_in_the_standard_deviations(self, data):
        scores, alone = [], []
        for seed in range(30):
            gains = 1.0 + 0.03 * np.random.default_rng(1000 + seed).standard_normal(data.robot.dof)
            pair = motions(data, seed, LAB, gains=gains)
            for std, kept in ((0.03, scores), (0.0, alone)):
                found = estimate_payload(*pair, data.robot, data.basis, gain_std=std)
                kept.append(
                    [(found.mass - MASS) / found.mass_std, *(found.com - COM) / found.com_std]
                )
        assert 0.7 < np.sqrt(np.mean(np.square(scores))) < 1.4  # 120 values that correlate
        assert np.sqrt(np.mean(np.square(alone))) > 2.0


class TestTorqueConstants:
    @pytest.mark.slow
    def test_the_mass_of_the_load_is_enough(self, data):
        scores = []
        for seed in range(6):
            gains = 1.0 + np.random.default_rng(seed).choice([-0.05, 0.05], data.robot.dof)
            pair = motions(data, seed, LAB, gains=gains)
            found = estimate_torque_constants(*pair, MASS, data.robot, data.basis)
            assert found.success
            assert found.estimate.names == data.basis.names
            np.testing.assert_allclose(found.gains, gains, rtol=0.03)
            scores.append((found.gains - gains) / found.std)
        assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 1.6  # 36 values that correlate

    def test_a_mass_that_no_torque_tells_from_its_place_is_refused(self):
        pendulum = Robot.from_urdf(DATA / "2r.urdf", tip="upper")
        with pytest.raises(RankDeficientError, match="give mass and COM"):
            list_load_unknowns(pendulum)

    @pytest.mark.parametrize("robot_name", ["irb140", "arm"])
    def test_five_percent_are_found_to_one(self, request, exact, robot_name):
        data = exact(request.getfixturevalue(robot_name), 100.0)
        scores = []
        for seed in range(4):
            gains = 1.0 + np.random.default_rng(seed).choice([-0.05, 0.05], data.robot.dof)
            load = payload_parameters(data.robot, 4.0, COM, CENTRAL)
            pair = motions(data, seed, 1.0, 4.0, gains)
            found = estimate_torque_constants(*pair, load, data.robot, data.basis)
            assert found.success
            np.testing.assert_allclose(found.gains, gains, rtol=0.01)
            scores += ((found.gains - gains) / found.std).tolist()
        assert 0.5 < np.sqrt(np.mean(np.square(scores))) < 1.7  # down to 8 values
        assert len(found.sentences()) == data.robot.dof

    def test_it_is_exact_without_noise(self, data):
        gains = np.linspace(0.8, 1.25, data.robot.dof)
        load = payload_parameters(data.robot, 1.0, COM)
        bare = data.robot.with_payload(1.0, COM)
        pair = (data.tau, joint_torque(bare, *data.state))
        made = [data.motion(tau / gains) for tau in pair]
        found = estimate_torque_constants(*made, load, data.robot, data.basis)
        np.testing.assert_allclose(found.gains, gains, rtol=1e-7)
        np.testing.assert_allclose(found.estimate.beta, data.beta, atol=1e-6)


@pytest.fixture(scope="module")
def logs(experiment, irb140):
    """Return clean engine logs without and with the load, on the same trajectory."""
    run = experiment(irb140)
    with Plant(irb140.with_payload(MASS, COM, CENTRAL)) as plant:
        loaded = rollout(plant, ComputedTorque(run.nominal), run.trajectory)
    return run, (run.log, loaded)


def lab():
    return [SENSORS.build(name, **options) for name, options in preset("lab").items()]


@pytest.mark.slow
def test_a_payload_is_found_in_the_engine_under_lab_noise(logs):
    run, clean = logs
    for seed in range(5):
        measured = [
            measure(log, lab(), np.random.default_rng([seed, k])) for k, log in enumerate(clean)
        ]
        pair = [RtsSmoother()(log, run.nominal) for log in measured]
        found = estimate_payload(*pair, run.nominal, run.basis)
        assert found.mass == pytest.approx(MASS, rel=0.02)
        np.testing.assert_allclose(found.com, COM, atol=5e-3)
        blind = [RtsSmoother()(replace(log, truth=None), run.nominal) for log in measured]
        again = estimate_payload(*blind, run.nominal, run.basis)
        assert again.phi.tobytes() == found.phi.tobytes()


@pytest.mark.slow
def test_torque_constants_are_found_in_the_engine(logs):
    run, clean = logs
    load = payload_parameters(run.nominal, MASS, COM, CENTRAL)
    for seed in range(5):
        error = np.random.default_rng(seed).choice([-0.05, 0.05], 6)
        current = SENSORS.build(
            "motor-current",
            torque_constant=[1.0] * 6,
            error=error.tolist(),
            error_std=0.0,
            noise=0.0,
        )
        sensors = [
            current,
            TorqueNoise(relative=0.003),
            SENSORS.build("encoder-noise", revolute=1e-5),
        ]
        measured = [
            measure(log, sensors, np.random.default_rng([seed, k])) for k, log in enumerate(clean)
        ]
        pair = [RtsSmoother()(log, run.nominal) for log in measured]
        found = estimate_torque_constants(*pair, load, run.nominal, run.basis)
        np.testing.assert_allclose(found.gains, 1.0 + error, rtol=0.01)
