"""Plants with elastic joints and backlash: two masses, their frequency and their limits."""

from dataclasses import replace

import numpy as np
import pytest
from robots import single, urdf_path
from sampling import sampled

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.dynamics import gravity_torque, joint_torque, rigid_body_torque
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Constant, Scenario
from robotid_sim.measurement.files import load_log, save_log
from robotid_sim.model.friction_law import LoadDependent, StickSlip, Stribeck
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.plant_drives import PLANT_DRIVES, Backlash, Elastic
from robotid_sim.model.robot import Robot
from robotid_sim.model.term_laws import CoupledJoints
from robotid_sim.trajectory.reference import PointToPoint

EXACT = 1e-9
"""Of the equation of motion [N m]: as in tests/experiment/test_rollout.py."""

IA, BODY = 0.3, 0.5
OPPOSED = IA * BODY / (IA + BODY)
"""Inertia of rotor and body against one another [kg m^2]."""


class Pulse:
    """A torque of 5 N m in the first step, and none after."""

    def __init__(self, size=5.0):
        self.size = size

    def reset(self):
        """Do nothing."""

    def __call__(self, t, q, dq, setpoint):
        return np.full(q.size, self.size if t == 0.0 else 0.0)


def sway(robot, seconds=0.6):
    """Return a motion out and back, which turns every joint around."""
    reach = np.minimum(0.3, 0.2 * (robot.limits.upper - robot.limits.lower))
    return PointToPoint(robot.joint_names, robot.home, robot.home + reach, 0.0, seconds)


def still(robot, seconds):
    return PointToPoint(robot.joint_names, robot.home, robot.home, 0.0, seconds)


def run(robot, drive, trajectory=None, controller=None, scenario=None, **options):
    with Plant(robot, drive=drive, **options) as plant:
        law = controller or ComputedTorque(robot)
        return plant.add_provenance(
            rollout(plant, law, trajectory or sway(robot), scenario=scenario)
        )


def stiffness_of(frequency):
    return (2.0 * np.pi * frequency) ** 2 * OPPOSED


def plucked(frequency, damping=0.0, seconds=2.0):
    """Return the twist of a flywheel that rings at a frequency [Hz], (N,)."""
    drive = Elastic(stiffness=(stiffness_of(frequency),), damping=damping)
    robot = single(Ia=IA, inertia=BODY)
    truth = run(robot, drive, still(robot, seconds), Pulse()).truth
    return (truth.q - truth.link_q)[1:, 0]


def ringing(twist, frequency):
    """Return the amplitude of an oscillation of a frequency in samples at 1 kHz."""
    phase = 2.0 * np.pi * frequency * 1e-3 * np.arange(twist.size)
    wave = np.stack([np.cos(phase), np.sin(phase)], axis=1)
    return float(np.hypot(*np.linalg.lstsq(wave, twist)[0]))


@pytest.mark.parametrize("frequency", sampled((30.0, 100.0, 300.0), 100.0, mark=pytest.mark.slow))
def test_two_masses_ring_at_their_frequency(frequency):
    """sqrt(K (1/Ia + 1/M)), late by the fourth power of the phase in a sub-step over 480."""
    x = plucked(frequency)
    cosine = (x[1:-1] @ (x[2:] + x[:-2])) / (2.0 * x[1:-1] @ x[1:-1])
    found = np.arccos(cosine) / (2.0 * np.pi * 1e-3)
    phase = 2.0 * np.pi * frequency * 2.5e-4
    assert found / frequency - 1.0 == pytest.approx(phase**4 / 480.0, rel=0.05)


@pytest.mark.slow
def test_a_spring_alone_keeps_its_energy_and_damping_takes_it():
    x = plucked(50.0)
    assert ringing(x[-200:], 50.0) == pytest.approx(ringing(x[:200], 50.0), rel=1e-6)
    damped = plucked(50.0, damping=0.02)
    lost = np.exp(-0.02 * 2.0 * np.pi * 50.0 * 0.3)
    shares = [ringing(damped[k : k + 20], 50.0) for k in (0, 300)]
    assert shares[1] / shares[0] == pytest.approx(lost, rel=0.01)


@pytest.mark.slow
def test_stiff_joints_are_rigid_ones(irb140):
    rigid = run(irb140, None, sway(irb140, 0.3), substeps=16)
    away = []
    for twist in (2.5e-3, 2.5e-4):
        log = run(irb140, Elastic(twist=twist), sway(irb140, 0.3), substeps=16)
        assert np.abs(log.q - rigid.q).max() < 3e-6  # the controller sees the rotors
        away.append(np.abs(log.truth.link_q - log.truth.q).max())
    assert away[0] > 1e-5
    assert away[1] == pytest.approx(0.1 * away[0], rel=0.02)


LAWS = (None, Stribeck(), StickSlip(), LoadDependent(share=0.1), CoupledJoints())


@pytest.mark.parametrize(
    "law",
    sampled(LAWS, None, StickSlip(), mark=pytest.mark.slow),
    ids=lambda law: type(law).__name__,
)
@pytest.mark.parametrize("name", PLANT_DRIVES)
def test_the_truth_obeys_the_equations_of_both_masses(irb140, name, law):
    terms = (JointTerm("spring", "joint_5", (3.0, 0.4)), JointTerm("offset", "joint_4", (1.0,)))
    robot = replace(irb140, terms=terms)
    push = np.array([20.0, -10.0, 5.0, 1.0, -1.0, 0.5])
    scenario = Scenario(disturbances=(Constant(push),))
    log = run(robot, PLANT_DRIVES.build(name), scenario=scenario, friction=law)
    truth = log.truth
    load = rigid_body_torque(robot, truth.link_q, truth.link_dq, truth.link_ddq)
    rotors = np.array([joint.rotor_inertia for joint in robot.joints]) * truth.ddq
    assert np.abs(load + rotors + truth.friction - truth.tau - push).max() < EXACT
    assert log.provenance["drive"]["kind"] == name
    assert np.abs((truth.q - truth.link_q)[:, :3]).max() == 0.0  # no rotors, rigid
    assert (np.abs(truth.q - truth.link_q)[:, 3:].max(axis=0) > 1e-6).all()


def loaded():
    """Return a slider of 2 kg on a slope, with a rotor."""
    return single(prismatic=True, gravity=(3.0, 0.0, -9.0), Ia=0.5)


@pytest.mark.parametrize("play", [0.0, 1e-3])
def test_links_hang_behind_their_rotors(play):
    robot, K = loaded(), 2e4
    drive = (
        Elastic(stiffness=(K,)) if play == 0.0 else Backlash(stiffness=(K,), prismatic_play=play)
    )
    hold = gravity_torque(robot, robot.home)
    with Plant(robot, drive=drive) as plant:
        plant.reset(robot.home, np.zeros(1))
        for _ in range(100):
            plant.step(hold)
        assert abs(plant.q[0] - robot.home[0]) < 1e-12
        log = plant.add_provenance(rollout(plant, Hold(hold), still(robot, 0.1)))
    away = log.truth.q - log.truth.link_q
    assert np.abs(away - (hold / K + 0.5 * play * np.sign(hold))).max() < 1e-12


class Hold(Pulse):
    """A torque that stays."""

    def __call__(self, t, q, dq, setpoint):
        return self.size


def test_within_its_play_a_rotor_moves_alone():
    robot = single(Ia=IA, inertia=BODY)
    drive = Backlash(play=0.02, stiffness=(stiffness_of(100.0),))
    truth = run(robot, drive, still(robot, 1.0), Pulse(30.0)).truth
    away = np.abs(truth.q - truth.link_q)[:, 0]
    free = np.flatnonzero(away < 0.01)
    first = free[free < np.argmax(away > 0.01)]
    assert first.size > 10
    assert np.abs(truth.link_q[first]).max() == 0.0
    momentum = IA * truth.dq + BODY * truth.link_dq
    assert np.ptp(momentum[1:]) < 1e-12  # flanks act on both alike
    energy = (IA * truth.dq**2 + BODY * truth.link_dq**2)[free[1:], 0]
    assert np.diff(energy).max() < 1e-3 * energy[0]
    assert energy[-1] < 0.75 * energy[0]


@pytest.mark.parametrize("drive", [Elastic(), Backlash()])
def test_drives_give_the_same_bits_in_every_run(irb140, drive):
    law = ComputedTorque(irb140)
    with Plant(irb140, drive=drive) as plant:
        first, second = (
            plant.add_provenance(rollout(plant, law, sway(irb140, 0.3))) for _ in range(2)
        )
    third = run(irb140, drive, sway(irb140, 0.3))
    for log in (second, third):
        assert log.q.tobytes() == first.q.tobytes()
        assert log.truth.link_q.tobytes() == first.truth.link_q.tobytes()


def test_a_file_keeps_the_motion_of_the_links(irb140, tmp_path):
    log = run(irb140, Elastic(), sway(irb140, 0.3))
    save_log(log, tmp_path / "log.h5")
    read = load_log(tmp_path / "log.h5")
    for name in ("link_q", "link_dq", "link_ddq", "friction"):
        assert getattr(read.truth, name).tobytes() == getattr(log.truth, name).tobytes()
    assert read.provenance["drive"]["stiffness"][3:] == [9600.0, 7200.0, 4000.0]
    assert read.cut(slice(3, 40)).truth.link_q.shape == (37, 6)


def test_rigid_plants_have_no_links_of_their_own(arm):
    log = run(arm, None)
    assert log.truth.link_q is None
    assert "drive" not in log.provenance
    state = (log.truth.q, log.truth.dq, log.truth.ddq)
    assert np.abs(joint_torque(arm, *state) - log.truth.tau).max() < EXACT


@pytest.mark.parametrize(
    ("drive", "said"),
    [
        (
            Elastic(joints=("joint_2",)),
            "'joint_2' of irb140 has no rotor inertia.*give Ia in robot",
        ),
        (Elastic(stiffness=(1.0,)), "1 numbers for stiffness; give one for each of joint_4, joint"),
        (Elastic(twist=1e-6), "joint 'joint_6' oscillates at .* Hz, too fast for sub-steps of 0."),
        (Backlash(twist=1e-6), "multiply .*substeps by .*, or reduce stiffness"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(irb140, drive, said):
    with pytest.raises(OptionError, match=said) as error:
        Plant(irb140, drive=drive)
    assert "\n" not in str(error.value)


def test_a_joint_that_is_not_there_is_refused(irb140):
    with pytest.raises(UnknownNameError, match="unknown joint 'joint_9'"):
        Plant(irb140, drive=Elastic(joints=("joint_9",)))


def test_robots_without_rotors_have_no_drive():
    with pytest.raises(OptionError, match="'joint_1' of twolink has no rotor inertia"):
        Plant(Robot.from_urdf(urdf_path("twolink")), drive=Elastic())


@pytest.mark.parametrize("options", [{"twist": 0.0}, {"damping": -0.1}, {"stiffness": (0.0,)}])
@pytest.mark.parametrize("name", PLANT_DRIVES)
def test_options_that_make_no_sense_are_refused(name, options):
    with pytest.raises(OptionError, match=f"plant drive {name}: {next(iter(options))} must"):
        PLANT_DRIVES.build(name, **options)


def test_an_explicit_plant_that_sticks_is_refused(irb140):
    with pytest.raises(OptionError, match="needs leapfrog"):
        Plant(irb140, drive=Elastic(), friction=StickSlip(), leapfrog=False)


def test_an_explicit_plant_keeps_the_equation_of_motion(irb140):
    truth = run(irb140, Elastic(), leapfrog=False).truth
    load = rigid_body_torque(irb140, truth.link_q, truth.link_dq, truth.link_ddq)
    rotors = np.array([joint.rotor_inertia for joint in irb140.joints]) * truth.ddq
    assert np.abs(load + rotors + truth.friction - truth.tau).max() < EXACT
