"""A robot with terms is the same robot everywhere: file, inverse and forward dynamics, control."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.control import CONTROLLERS
from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.control.observer import VelocityObserver
from robotid_sim.control.sliding_mode import Compensation
from robotid_sim.dynamics.dynamics import forward_dynamics, joint_torque
from robotid_sim.dynamics.running_terms import RunningTerms
from robotid_sim.dynamics.term_torques import terms_torque
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import UrdfError
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.export import list_urdf_losses, write_urdf
from robotid_sim.model.joint_terms import TERM_KINDS, JointTerm
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import PointToPoint

NUMBERS = {
    "load-dependent-friction": (0.05,),
    "coupled-joints": (0.05, 0.2, 0.3),
    "warming": (0.5,),
    "counterbalance": (-2.0, 3.0, 0.0, 0.4, 0.1, -0.5, 2.0, -3.0),
}
"""Parameters of a term where they are not some N m."""

CONSTANTS = {"transition-velocity": 0.1, "stribeck": 0.12, "presliding": 4e-3}


def term(robot, kind, joint=4):
    """Return a term of a joint with numbers of a sensible size."""
    values = NUMBERS.get(kind, (0.4, 0.3)[: len(TERM_KINDS[kind].symbols)])
    shape = TERM_KINDS[kind].constant
    constant = None if shape is None else CONSTANTS.get(kind, shape.start_values[0])
    partner = robot.joint_names[joint - 1] if TERM_KINDS[kind].coupled else None
    return JointTerm(kind, robot.joint_names[joint], values, constant, partner)


def with_all(robot):
    """Return a robot with a term of every kind."""
    return replace(robot, terms=tuple(term(robot, kind) for kind in TERM_KINDS))


@pytest.fixture(scope="module")
def path(irb140):
    return PointToPoint(irb140.joint_names, irb140.home, irb140.home + 0.3, 0.0, 0.6)


@pytest.fixture(scope="module")
def state(path):
    reference = path(np.linspace(0.0, path.duration, 601))
    return reference.q, reference.dq, reference.ddq


def test_a_file_keeps_them(irb140, tmp_path):
    robot = with_all(irb140)
    write_urdf(robot, tmp_path / "out.urdf")
    read = Robot.from_urdf(tmp_path / "out.urdf")
    assert read.terms == robot.terms
    write_urdf(replace(read, terms=()), tmp_path / "none.urdf")
    assert Robot.from_urdf(tmp_path / "none.urdf").terms == ()
    assert any("stribeck of joint_5" in text for text in list_urdf_losses(robot))
    assert not any("Terms" in text for text in list_urdf_losses(irb140))


def test_a_shorter_chain_has_those_of_its_joints(irb140, tmp_path):
    terms = (term(irb140, "spring", 1), term(irb140, "stribeck", 5), term(irb140, "coupled-joints"))
    write_urdf(replace(irb140, terms=terms), tmp_path / "out.urdf")
    short = Robot.from_urdf(tmp_path / "out.urdf", tip=irb140.links[3].name)
    assert short.terms == terms[:1]


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ('kind="cogs" joint="joint_5" values="1 2" shape="4"', "unknown term 'cogs'"),
        ('kind="spring" joint="elbow" values="1 2"', "no joint 'elbow'"),
        ('kind="spring" joint="joint_5" values="1 much"', "could not convert"),
        ('kind="spring" joint="joint_5"', "needs finite ks, Ts0"),
        ('kind="stribeck" joint="joint_5" values="1"', "needs vs"),
    ],
)
def test_a_file_with_a_wrong_one_is_refused(irb140, tmp_path, attributes, said):
    file = tmp_path / "out.urdf"
    write_urdf(irb140, file)
    text = file.read_text().replace("</robotid>", f"<term {attributes}/></robotid>")
    file.write_text(text)
    with pytest.raises(UrdfError, match=said) as error:
        Robot.from_urdf(file)
    assert f"{file}:" in str(error.value)


@pytest.mark.parametrize("kind", TERM_KINDS)
def test_state_by_state_they_are_those_of_the_whole_motion(irb140, state, kind):
    one = term(irb140, kind)
    running, t = RunningTerms(irb140, [one]), np.linspace(0.0, 0.6, len(state[0]))
    found = [running(*now) for now in zip(*state, t, strict=True)]
    whole = terms_torque(irb140, [one], *state, t=t)
    np.testing.assert_allclose(found, whole, atol=1e-9)
    assert np.abs(whole).max() > 1e-3


@pytest.mark.parametrize("kind", TERM_KINDS)
def test_forward_dynamics_inverts_inverse_dynamics(irb140, state, kind):
    robot = replace(irb140, terms=(term(irb140, kind),))
    q, dq, ddq = (part[200] for part in state)
    tau = joint_torque(robot, q, dq, ddq)
    np.testing.assert_allclose(forward_dynamics(robot, q, dq, tau), ddq, atol=1e-8)


@pytest.mark.parametrize("kind", [kind for kind in TERM_KINDS if kind != "warming"])
def test_controllers_compensate_them(irb140, state, kind):
    robot = replace(irb140, terms=(term(irb140, kind),))
    whole = terms_torque(irb140, robot.terms, *state)
    for compensation in (
        lambda model: _computed(ComputedTorque(model), state),
        lambda model: _referred(Compensation(model), state),
    ):
        more = compensation(robot) - compensation(irb140)
        np.testing.assert_allclose(more, whole, atol=1e-9)


def _computed(controller, state):
    return np.array(
        [controller(0.0, q, dq, Setpoint(q, dq, ddq)) for q, dq, ddq in zip(*state, strict=True)]
    )


def _referred(compensation, state):
    return np.array([compensation(q, dq, dq, ddq) for q, dq, ddq in zip(*state, strict=True)])


@pytest.mark.parametrize("name", CONTROLLERS)
def test_a_controller_forgets_the_run_before(irb140, state, name):
    robot = replace(irb140, terms=(term(irb140, "presliding"),))
    one = np.ones(6)
    gains = LoopGains(20.0, one, 30.0 * one, 0.1 * one, 1e-3 * one, one, 1000.0)
    controller = CONTROLLERS[name].from_gains(robot, gains)
    runs = []
    for _ in range(2):
        controller.reset()
        runs.append(_computed(controller, state))
    np.testing.assert_array_equal(*runs)


@pytest.mark.slow
def test_a_plant_with_them_follows_a_controller_that_knows_them(irb140, path):
    robot, errors = with_all(irb140), {}
    for name, model in {"known": robot, "unknown": irb140}.items():
        with Plant(robot) as plant:
            log = rollout(plant, ComputedTorque(model), path)
        errors[name] = np.abs(log.q - path(log.t).q).max()
    assert errors["known"] < 0.25 * errors["unknown"]


@pytest.mark.slow
def test_an_observer_predicts_with_them(irb140, path):
    """What a model misses is an acceleration that the observer has to find."""
    robot, missed = with_all(irb140), []
    for model in (robot, irb140):
        with Plant(robot) as plant:
            log = rollout(plant, ComputedTorque(robot), path)
        observer = VelocityObserver(model, rate=1000.0, bandwidth=200.0)
        observer.reset(log.q[0], np.zeros(6))
        errors = []
        for q, dq, tau in zip(log.q, log.truth.dq, log.truth.tau, strict=True):
            errors.append(observer.correct(q)[1] - dq)
            observer.predict(tau)
        missed.append(np.abs(np.array(errors)[100:, 4]).max())
    assert missed[0] < 0.5 * missed[1]
