"""Friction that is not the model's, implicit too: equation of motion, sticking, energy, bias."""

import logging
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
import pytest
from friction_oracle import friction_torque
from robots import single, urdf_path
from sampling import sampled, thinned

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import (
    forward_dynamics,
    mass_matrix,
    rigid_body_torque,
    torque_regressor,
)
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.engine.plant import MAX_SUBSTEPS, Plant
from robotid_sim.errors import OptionError
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import rollout
from robotid_sim.experiment.scenario import Constant, Scenario
from robotid_sim.model.friction_law import (
    FRICTION_LAWS,
    Asymmetric,
    LoadDependent,
    SmoothCoulomb,
    StickSlip,
    Stribeck,
    coefficients_of,
)
from robotid_sim.model.joint import Friction
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import PointToPoint

EXACT = 1e-9
"""Of the equation of motion [N m]: as in tests/experiment/test_rollout.py."""

DT = 1e-3  # [s]

IRB140 = Robot.from_urdf(urdf_path("irb140"))


def sway(robot):
    """Return a motion out and back, which turns every joint around."""
    reach = np.minimum(0.3, 0.2 * (robot.limits.upper - robot.limits.lower))
    return PointToPoint(robot.joint_names, robot.home, robot.home + reach, 0.0, 0.6)


def run(robot, law, trajectory=None, scenario=None):
    with Plant(robot, friction=law) as plant:
        motion = trajectory or sway(robot)
        return plant.add_provenance(
            rollout(plant, ComputedTorque(robot), motion, scenario=scenario)
        )


def rotor_inertia(robot):
    return np.array([joint.rotor_inertia for joint in robot.joints])


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    ("short", "name"),
    sampled(
        product(("irb140", "rp"), FRICTION_LAWS),
        ("irb140", "stick-slip"),
        *product(("rp",), FRICTION_LAWS),
        mark=pytest.mark.slow,
    ),
)
def test_truth_obeys_the_equation_of_motion_with_the_friction_that_acted(short, name):
    robot, law = Robot.from_urdf(urdf_path(short)), FRICTION_LAWS.build(name)
    log = run(robot, law)
    truth = log.truth
    load = rigid_body_torque(robot, truth.q, truth.dq, truth.ddq)
    acted = truth.friction
    if not law.sticks and not law.terms(robot):
        wanted = friction_torque(law.coefficients(robot), truth.dq, load)
        acted = wanted if acted is None else acted
        assert np.abs(acted - wanted).max() < EXACT
    residual = load + rotor_inertia(robot) * truth.ddq + acted - truth.tau
    assert np.abs(residual).max() < EXACT
    assert log.provenance["friction"]["law"] == name


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("name", [n for n in FRICTION_LAWS if FRICTION_LAWS.build(n).terms(IRB140)])
def test_terms_of_a_law_act_as_the_model_has_them(name):
    """Terms act at the velocity that a sub-step foresees, so that they agree except its error."""
    law = FRICTION_LAWS.build(name, **({"duration": 1.0} if name == "warming" else {}))
    log = run(IRB140, law)
    truth = log.truth
    state = (truth.q, truth.dq, truth.ddq)
    terms = terms_torque(IRB140, law.terms(IRB140), *state, t=log.t)
    own = friction_torque(coefficients_of(IRB140), truth.dq, rigid_body_torque(IRB140, *state))
    size = np.abs(terms).max(axis=0)
    wrong = np.abs(own + terms - truth.friction)[20:]  # presliding starts with none built up
    assert size.max() > 0.1
    assert (wrong.max(axis=0) <= 0.02 * np.abs(truth.friction).max(axis=0) + 1e-9).all()


@pytest.mark.usefixtures("each_engine")
def test_a_torque_from_outside_is_in_the_equation_of_motion_too(irb140):
    push = np.array([20.0, -10.0, 5.0, 1.0, -1.0, 0.5])
    truth = run(irb140, StickSlip(), scenario=Scenario(disturbances=(Constant(push),))).truth
    load = rigid_body_torque(irb140, truth.q, truth.dq, truth.ddq)
    residual = load + rotor_inertia(irb140) * truth.ddq + truth.friction - truth.tau - push
    assert np.abs(residual).max() < EXACT


@pytest.mark.usefixtures("each_engine")
def test_without_a_law_nothing_is_noted_and_the_robots_own_law_gives_the_same_bits(arm):
    plain, own = run(arm, None), run(arm, SmoothCoulomb())
    assert plain.truth.friction is None
    assert "friction" not in plain.provenance
    for name in ("q", "dq", "ddq", "tau"):
        assert getattr(plain.truth, name).tobytes() == getattr(own.truth, name).tobytes()


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("law", [Stribeck(), LoadDependent(), StickSlip()])
def test_laws_give_the_same_bits_in_every_run(arm, law):
    with Plant(arm, friction=law) as plant:
        first, second = (
            plant.add_provenance(rollout(plant, ComputedTorque(arm), sway(arm))) for _ in range(2)
        )
    third = run(arm, law)
    for log in (second, third):
        assert log.q.tobytes() == first.q.tobytes()
        assert log.truth.friction.tobytes() == first.truth.friction.tobytes()


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("law", [Stribeck(static=1.0), Asymmetric(coulomb=0.0, viscous=0.0)])
def test_laws_that_add_nothing_move_like_the_robots_own(irb140, law):
    plain, shaped = run(irb140, None), run(irb140, law)
    assert np.abs(plain.q - shaped.q).max() < 1e-11  # another way to solve the same equations


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    ("share", "Ia"), thinned(product((0.999, 0.5), (0.7, 0.0)), 2, pytest.mark.slow)
)
def test_on_a_slope_below_its_friction_a_joint_stays_put(share, Ia):
    Fc = 5.0
    slope = single(prismatic=True, gravity=(share * Fc / 2.0, 0.0, -9.0), Fc=Fc, Ia=Ia, Fv=3.0)
    with Plant(slope, friction=StickSlip()) as plant:
        plant.reset(np.array([0.2]), np.zeros(1))
        for _ in range(1000):
            plant.step(np.zeros(1))
        assert abs(plant.q[0] - 0.2) < 1e-9
        assert abs(plant.dq[0]) < 1e-15
        creeps = Plant(slope)
    with creeps as smooth:
        smooth.reset(np.array([0.2]), np.zeros(1))
        for _ in range(1000):
            smooth.step(np.zeros(1))
        assert smooth.q[0] - 0.2 > 1e-3  # what the smooth sign cannot do


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("Ia", [0.0, 0.7])
def test_on_a_slope_above_its_friction_a_joint_slips_with_its_rotor(Ia):
    slope = single(prismatic=True, gravity=(3.0, 0.0, -9.0), Fc=5.0, Ia=Ia)
    with Plant(slope, friction=StickSlip()) as plant:
        plant.reset(np.zeros(1), np.zeros(1))
        for _ in range(500):
            plant.step(np.zeros(1))
        a = (2.0 * 3.0 - 5.0) / (2.0 + Ia)
        assert plant.dq[0] == pytest.approx(0.5 * a, rel=1e-10)
        late = 0.5 * plant.dt / plant.substeps  # of the engine's Euler step
        assert plant.q[0] == pytest.approx(0.5 * a * 0.25 + late * 0.5 * a, rel=1e-9)


@pytest.mark.usefixtures("each_engine")
def test_static_friction_holds_more_than_it_brakes():
    slope = single(prismatic=True, gravity=(3.0, 0.0, -9.0), Fc=5.0)
    law = StickSlip(static=1.3, prismatic_velocity=0.01)  # holds 6.5 N, gravity pulls with 6 N
    with Plant(slope, friction=law) as plant:
        plant.reset(np.zeros(1), np.zeros(1))
        for _ in range(200):
            plant.step(np.zeros(1))
        assert plant.q[0] == 0.0
        plant.step(np.zeros(1), np.array([40.0]))  # a push makes it slide on
        for _ in range(200):
            plant.step(np.zeros(1))
        assert plant.dq[0] > 0.05


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("Ia", [0.0, 0.3])
def test_a_flywheel_stops_in_the_time_of_coulombs_law_and_stays(Ia):
    Fc, speed, inertia = 2.0, 1.5, 0.5 + Ia
    with Plant(single(Fc=Fc, Ia=Ia), friction=StickSlip()) as plant:
        plant.reset(np.zeros(1), np.array([speed]))
        stop = speed * inertia / Fc
        energy = []
        for _ in range(int(stop / DT) + 20):
            before = plant.dq[0]
            plant.step(np.zeros(1))
            energy.append(plant.dq[0] ** 2)
            if plant.t < stop:
                assert plant.dq[0] == pytest.approx(before - Fc / inertia * DT, rel=1e-9)
        assert (np.diff(energy) <= 0.0).all()
        assert abs(plant.dq[0]) < 1e-15
        angle = speed**2 * inertia / (2.0 * Fc)
        assert plant.q[0] == pytest.approx(angle, abs=speed * DT)  # a step late at most


@pytest.mark.usefixtures("each_engine")
def test_joints_of_an_arm_stick_each_on_its_own(irb140):
    Fc = np.array([joint.friction.Fc for joint in irb140.joints])
    hold = rigid_body_torque(irb140, irb140.home, np.zeros(6), np.zeros(6))
    push = np.array([0.9, -0.9, 0.9, -0.9, 0.9, 1.5]) * Fc
    with Plant(irb140, friction=StickSlip()) as plant:
        plant.reset(irb140.home, np.zeros(6))
        for _ in range(200):
            step = plant.step(hold + push)
        moved = np.abs(plant.q - irb140.home)
    assert moved[:5].max() < 1e-9
    assert moved[5] > 0.1
    assert abs(step.dq[5]) > 0.1


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    "name", sampled(FRICTION_LAWS, "stick-slip", "stribeck", "presliding", mark=pytest.mark.slow)
)
def test_friction_never_creates_energy(name):
    arm = Robot.from_urdf(urdf_path("2r"), gravity=(0.0, 0.0, 0.0))
    joints = tuple(replace(j, friction=replace(j.friction, Fo=0.0)) for j in arm.joints)
    arm = replace(arm, joints=joints)
    with Plant(arm, dt=2.5e-4, substeps=1, friction=FRICTION_LAWS.build(name)) as plant:
        plant.reset(arm.home, np.array([2.0, -3.0]))
        energy = []
        for _ in range(2000):
            plant.step(np.zeros(2))
            energy.append(0.5 * plant.dq @ mass_matrix(arm, plant.q) @ plant.dq)
    assert np.diff(energy).max() < 0.0
    assert energy[-1] < 0.06 * energy[0]  # half a second of friction


@pytest.mark.usefixtures("each_engine")
def test_a_robot_without_friction_is_told_that_a_law_has_nothing_to_shape(iiwa, caplog):
    with caplog.at_level(logging.WARNING), Plant(iiwa, friction=Stribeck()):
        assert "no Coulomb friction that the law stribeck could shape" in caplog.text


@pytest.mark.usefixtures("each_engine")
def test_negative_friction_is_refused_by_name(irb140):
    phi = irb140.parameters()
    phi[10 * 6 + 4 * 2 + 1] = -1.0
    formal = irb140.with_parameters(phi, formal=True)
    with pytest.raises(OptionError, match="joint 'joint_3' has friction Fc -1"):
        Plant(formal, friction=Stribeck())


def fitted(robot, law):
    """Return the friction parameters that least squares finds in exact data, by name."""
    options = FourierOptions(period=2.0, periods=1, amplitude=0.5)
    trajectory = random_feasible(robot, np.random.default_rng(0), options)
    truth = run(robot, law, trajectory).truth
    basis = base_parameters(robot)
    W = torque_regressor(robot, truth.q, truth.dq, truth.ddq, basis.columns)
    beta = np.linalg.lstsq(W.reshape(-1, basis.rank), truth.tau.ravel())[0]
    true = basis.project(robot.parameters())
    return {n: (b, t) for n, b, t in zip(basis.names, beta, true, strict=True) if n[:2] in "Fv Fc"}


@pytest.mark.usefixtures("each_engine")
@pytest.mark.slow
def test_a_coulomb_fit_of_a_stribeck_plant_is_biased_and_of_a_coulomb_plant_is_not(arm):
    for found, true in fitted(arm, None).values():
        assert found == pytest.approx(true, rel=1e-8)
    biased = fitted(arm, Stribeck(static=1.5, velocity=0.2))
    assert biased
    for name, (found, true) in biased.items():
        # The fit takes the static peak for Coulomb friction, and its fall for less viscosity.
        error = found / true - 1.0
        assert error > 0.03 if name.startswith("Fc") else error < -0.03, (name, found, true)


FC, EPS = 1.5, 0.03


def wrist(inertia: float) -> Robot:
    """Return a light wrist: with 2e-4 kg m^2, explicit friction needs 250 sub-steps."""
    return single(inertia=inertia, Fc=FC, eps=EPS)


def swung(robot: Robot, substeps: int, *, leapfrog: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return position and velocity at every 1/5 ms while torque goes to and fro past friction."""
    positions, speeds = [], []
    with Plant(robot, dt=0.2 * DT, substeps=substeps, leapfrog=leapfrog) as plant:
        plant.reset(np.zeros(1), np.array([0.2]))
        for k in range(2500):
            plant.step(np.array([1.02 * FC * np.sin(2.0 * np.pi * 5.0 * 0.2 * DT * (k // 5))]))
            positions.append(plant.q[0])
            speeds.append(plant.dq[0])
    return np.array(positions), np.array(speeds)


@pytest.mark.usefixtures("each_engine")
@pytest.mark.slow
@pytest.mark.parametrize("inertia", [2e-3, 2e-4])
def test_a_light_joint_with_stiff_friction_moves_as_with_many_explicit_sub_steps(inertia) -> None:
    robot = wrist(inertia)
    q, dq = swung(robot, 1)
    q_fine, dq_fine = swung(robot, MAX_SUBSTEPS, leapfrog=False)
    assert np.abs(q - q_fine).max() < 0.01 * np.ptp(q_fine)
    assert np.sqrt(((dq - dq_fine) ** 2).mean()) < 0.01 * dq_fine.std()
    assert dq_fine.std() > EPS  # it moves


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("substeps", [1, 4])
@pytest.mark.parametrize("inertia", [2e-3, 2e-5])
def test_a_joint_that_stops_does_not_chatter(inertia, substeps) -> None:
    with Plant(wrist(inertia), dt=DT / substeps, substeps=1) as plant:
        plant.reset(np.zeros(1), np.array([2.0]))
        speeds = []
        for _ in range(200):
            plant.step(np.zeros(1))
            speeds.append(plant.dq[0])
    dq = np.array(speeds)
    turned = np.abs(dq[1:][dq[1:] * dq[:-1] < 0.0])
    assert (turned > 1e-3 * EPS).sum() <= 2
    assert (turned < 0.5 * EPS).all()  # no bounce back
    assert np.abs(dq[-1]) < 1e-9


@pytest.mark.usefixtures("each_engine")
def test_explicit_friction_does_chatter() -> None:
    with Plant(wrist(2e-3), dt=DT / 4, substeps=1, leapfrog=False) as plant:
        plant.reset(np.zeros(1), np.array([0.2]))
        speeds = []
        for _ in range(200):
            plant.step(np.zeros(1))
            speeds.append(plant.dq[0])
    signs = np.sign(speeds[100:])
    assert np.mean(signs[1:] * signs[:-1] < 0.0) > 0.9


@pytest.mark.usefixtures("each_engine")
@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(FRICTION_LAWS, "stribeck", "presliding"))
def test_four_sub_steps_move_a_light_joint_as_many_do_under_every_law(name) -> None:
    robot, law = wrist(2e-4), FRICTION_LAWS.build(name)
    if law.terms(robot) and hasattr(law, "share"):  # more would hold a light joint where it is
        law = FRICTION_LAWS.build(name, share=0.02)
    motion = PointToPoint(robot.joint_names, np.zeros(1), np.array([0.6]), 0.0, 0.6)
    runs = []
    for substeps in (4, MAX_SUBSTEPS):
        with Plant(robot, substeps=substeps, friction=law) as plant:
            runs.append(rollout(plant, ComputedTorque(robot), motion).truth)
    few, many = runs
    assert np.ptp(many.q) > 0.25
    # Stribeck's falling friction makes so light a joint jump, which it does at another moment.
    close = 0.02 if name == "stribeck" else 1e-3
    assert np.abs(few.q - many.q).max() < close * np.ptp(many.q)


def smooth_motion(robot: Robot, substeps: int, *, leapfrog: bool) -> np.ndarray:
    """Return where a robot is after 0.2 s under constant torques."""
    dt = 0.01  # [s] coarse, so that the error stands out of the rounding
    q, dq, tau = np.array([0.3, -0.4]), np.array([0.2, 0.5]), np.array([20.0, 5.0])
    with Plant(robot, dt=dt, substeps=substeps, leapfrog=leapfrog) as plant:
        # The engine's velocity lags its position by half a sub-step, from the start.
        plant.reset(q, dq - 0.5 * dt / substeps * forward_dynamics(robot, q, dq, tau))
        for _ in range(20):
            plant.step(tau)
        return plant.q


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(("leapfrog", "order"), [(True, 2), (False, 1)])
def test_halving_the_sub_step_divides_the_error(robot_2r, leapfrog: bool, order: int) -> None:
    fine = smooth_motion(robot_2r, 256, leapfrog=True)
    errors = [np.abs(smooth_motion(robot_2r, n, leapfrog=leapfrog) - fine).max() for n in (2, 4, 8)]
    for coarse, half in pairwise(errors):
        # Of the leading order; the next one and the error of the reference take up to a tenth.
        assert coarse / half == pytest.approx(2.0**order, rel=0.1)


@pytest.fixture
def robot_2r() -> Robot:
    """Return the planar arm with viscous friction only: tanh would not be smooth enough."""
    robot = Robot.from_urdf(urdf_path("2r"))
    joints = tuple(replace(j, friction=Friction(Fv=j.friction.Fv)) for j in robot.joints)
    return replace(robot, joints=joints)
