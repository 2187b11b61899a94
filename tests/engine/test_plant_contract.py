"""Engines by name; what a plant refuses, clips and leaves; the same run gives the same bits."""

import subprocess
import sys

import numpy as np
import pytest
from robots import urdf_path

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.engine import engines
from robotid_sim.engine.engines import ENGINES, default_engine, engine_named, is_pybullet_available
from robotid_sim.engine.plant import Plant
from robotid_sim.engine.proximity import Proximity
from robotid_sim.errors import (
    InconsistentInertiaError,
    MissingExtraError,
    OptionError,
    RankDeficientError,
    RobotIdError,
    ShapeError,
    SimulationDiverged,
    UnknownNameError,
)
from robotid_sim.experiment.rollout import rollout
from robotid_sim.model.friction_law import FRICTION_LAWS
from robotid_sim.model.plant_drives import Elastic
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import PointToPoint

MASSLESS = (
    '<robot name="toy"><link name="base"/><link name="arm"/><joint name="hinge" type="revolute">'
    '<parent link="base"/><child link="arm"/>'
    '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint></robot>'
)


def clients() -> list[int]:
    """Return PyBullet's clients that are connected now."""
    from robotid_sim.engine.bullet import open_clients

    return sorted(open_clients)


@pytest.mark.usefixtures("each_engine")
def test_torque_is_clipped_at_the_effort_limit(irb140: Robot) -> None:
    effort = irb140.limits.effort
    with Plant(irb140) as plant:
        step = plant.step(np.array([10.0, -10.0, 1.0, 0.5, -2.0, 0.1]) * effort)
        np.testing.assert_array_equal(step.tau, np.array([1.0, -1.0, 1.0, 0.5, -1.0, 0.1]) * effort)
        after = plant.dq.copy()
        plant.reset(irb140.home, np.zeros(6))
        plant.step(step.tau)
        np.testing.assert_array_equal(plant.dq, after)


@pytest.mark.usefixtures("each_engine")
def test_a_closed_plant_says_so(irb140: Robot) -> None:
    with Plant(irb140) as plant:
        plant.step(np.zeros(6))
    for use in (plant.step, lambda tau: plant.reset(tau, tau)):
        with pytest.raises(OptionError, match="the plant is closed; use it within its 'with'"):
            use(np.zeros(6))


@pytest.mark.usefixtures("each_engine")
def test_robot_without_effort_limits_is_not_clipped() -> None:
    names = Robot.from_urdf(urdf_path("2r")).joint_names
    robot = Robot.from_urdf(urdf_path("2r"), joints={n: {"effort": 0.0} for n in names})
    with Plant(robot) as plant:
        np.testing.assert_array_equal(plant.step(np.array([500.0, -300.0])).tau, [500.0, -300.0])


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_torque_that_is_not_finite_names_joint_and_time(irb140: Robot, bad: float) -> None:
    tau = np.zeros(6)
    tau[2] = bad
    with Plant(irb140) as plant:
        plant.step(np.zeros(6))
        with pytest.raises(
            ShapeError, match=r"tau = .* t = 0\.001 s \(joint 'joint_3'\)"
        ) as caught:
            plant.step(tau)
        assert "\n" not in str(caught.value)
        plant.step(np.zeros(6))
        assert np.isfinite(plant.q).all()  # the engine never saw it


@pytest.mark.usefixtures("each_engine")
def test_wrong_number_of_torques_is_a_shape_error(irb140: Robot) -> None:
    with Plant(irb140) as plant, pytest.raises(ShapeError, match="6 finite numbers"):
        plant.step(np.zeros(5))


@pytest.mark.usefixtures("each_engine")
def test_divergence_names_time_and_joint() -> None:
    names = Robot.from_urdf(urdf_path("2r")).joint_names
    robot = Robot.from_urdf(urdf_path("2r"), joints={n: {"effort": 0.0} for n in names})
    with Plant(robot) as plant:
        for _ in range(5):
            plant.step(np.zeros(2))
        with pytest.raises(SimulationDiverged, match=r"t = 0\.005 s: joint '\w+'") as caught:
            plant.step(np.array([0.0, 1e6]))
    assert caught.value.t == pytest.approx(0.005)
    assert caught.value.joint in names
    assert isinstance(caught.value, ArithmeticError)


@pytest.mark.usefixtures("each_engine")
def test_joint_that_moves_no_inertia_stops_with_the_remedy(tmp_path, pybullet) -> None:
    path = tmp_path / "toy.urdf"
    path.write_text(MASSLESS)
    massless = Robot.from_urdf(path)
    before = clients()
    with pytest.raises(RankDeficientError, match="joint 'hinge' moves no inertia; give link 'arm'"):
        Plant(massless)
    assert clients() == before


@pytest.mark.usefixtures("each_engine")
def test_joint_whose_only_inertia_is_its_rotor_is_not_simulated_as_stuck(tmp_path) -> None:
    path = tmp_path / "toy.urdf"
    path.write_text(MASSLESS)
    robot = Robot.from_urdf(path, joints={"hinge": {"Ia": 0.5}})
    # The engine holds no inertia to accelerate: the joint would stand still under any torque.
    with pytest.raises(RobotIdError, match=r"hinge|arm"):
        move(robot)


def move(robot: Robot) -> None:
    with Plant(robot) as plant:
        plant.step(np.ones(robot.dof))


@pytest.mark.usefixtures("each_engine")
@pytest.mark.parametrize(
    "options", [{"dt": 0.0}, {"dt": np.nan}, {"dt": 2.0}, {"substeps": 0}, {"substeps": 1000}]
)
def test_impossible_steps_are_refused_before_a_client_exists(
    irb140: Robot, options, pybullet
) -> None:
    before = clients()
    with pytest.raises(OptionError, match="control step"):
        Plant(irb140, **options)
    assert clients() == before


@pytest.mark.usefixtures("each_engine")
def test_impossible_inertia_is_refused_before_a_client_exists(
    irb140: Robot, monkeypatch, pybullet
) -> None:
    phi = irb140.parameters()
    phi[14] = -1.0
    broken = irb140.with_parameters(phi, formal=True)
    from robotid_sim.engine import bullet

    def connect(*args, **options):
        pytest.fail("a client was opened for an impossible robot")

    monkeypatch.setattr(bullet, "_connect", connect)
    with pytest.raises(InconsistentInertiaError, match=r"link 'link_2': .*negative"):
        Plant(broken)


def run(robot: Robot, *, steps: int = 200) -> np.ndarray:
    rng = np.random.default_rng(0)
    rows = []
    with Plant(robot) as plant:
        for _ in range(steps):
            step = plant.step(rng.uniform(-5, 5, robot.dof))
            rows.append(np.concatenate([step.q, step.dq, step.ddq, plant.q, plant.dq]))
    return np.array(rows)


@pytest.mark.usefixtures("each_engine")
def test_two_clients_give_the_same_bits(irb140: Robot) -> None:
    np.testing.assert_array_equal(run(irb140), run(irb140))


@pytest.mark.usefixtures("each_engine")
def test_clients_that_live_side_by_side_do_not_disturb_each_other(irb140, iiwa) -> None:
    alone = run(irb140, steps=50)
    with Plant(iiwa, dt=2e-3) as other:
        other.step(np.ones(7))
        np.testing.assert_array_equal(run(irb140, steps=50), alone)


@pytest.mark.usefixtures("each_engine")
def test_reset_starts_anew_bit_for_bit(irb140: Robot) -> None:
    with Plant(irb140) as plant:
        first = plant.step(np.ones(6)), plant.q, plant.dq
        plant.step(np.full(6, -3.0))
        plant.reset(irb140.home, np.zeros(6))
        assert plant.t == 0.0
        again = plant.step(np.ones(6)), plant.q, plant.dq
    np.testing.assert_array_equal(np.concatenate(first[0]), np.concatenate(again[0]))
    np.testing.assert_array_equal(first[1:], again[1:])


@pytest.mark.usefixtures("each_engine")
def test_torque_acts_half_a_sub_step_before_the_middle(irb140: Robot) -> None:
    with Plant(irb140, dt=1e-3, substeps=4) as plant:
        assert plant.torque_time_offset == pytest.approx(0.5e-3 - 0.125e-3)
    with Plant(irb140, dt=1e-3, substeps=1) as plant:
        assert plant.torque_time_offset == 0.0


@pytest.mark.usefixtures("each_engine")
@pytest.mark.slow
def test_import_and_load_print_nothing() -> None:
    code = (
        "import numpy as np\n"
        "from robotid_sim.model.catalog import load_robot\n"
        "from robotid_sim.engine.plant import Plant\n"
        "with Plant(load_robot('irb140')) as plant:\n"
        "    plant.step(np.zeros(6))\n"
    )
    done = subprocess.run(  # pybullet prints its build time at the first import only
        [sys.executable, "-c", code], capture_output=True, check=True, timeout=120
    )
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.usefixtures("each_engine")
def test_load_prints_nothing_on_the_descriptors(irb140: Robot, capfd) -> None:
    with Plant(irb140):
        pass
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def without(monkeypatch):
    """Return a function after which some engines are not installed."""
    real = engines.find_spec

    def remove(*names: str) -> None:
        monkeypatch.setattr(engines, "find_spec", lambda p: None if p in names else real(p))

    return remove


@pytest.mark.pybullet
def test_pybullet_is_the_default_where_it_is_installed(without) -> None:
    assert default_engine() == engine_named(None) == "pybullet"
    without("pybullet")
    assert default_engine() == engine_named(None) == "mujoco"


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_that_is_not_installed_is_told_with_the_remedy(irb140, without, name) -> None:
    without(name)
    with pytest.raises(MissingExtraError, match=f"is not installed: pip install {name}"):
        Plant(irb140, engine=name)


def test_without_any_engine_the_first_is_asked_for(irb140, without) -> None:
    without(*ENGINES)
    best = "pybullet" if is_pybullet_available() else "mujoco"
    with pytest.raises(
        MissingExtraError, match=f"no physics engine is installed: pip install {best}"
    ):
        Plant(irb140)
    with pytest.raises(MissingExtraError, match="no physics engine"):
        Proximity(irb140)


def test_an_unknown_engine_is_refused(irb140) -> None:
    with pytest.raises(UnknownNameError, match="unknown engine 'bullet'"):
        Plant(irb140, engine="bullet")


@pytest.mark.pybullet
@pytest.mark.parametrize(
    ("law", "drive"),
    [
        *((law, None) for law in (None, "stribeck", "stick-slip")),
        *(pytest.param(law, Elastic(), marks=pytest.mark.slow) for law in (None, "stick-slip")),
    ],
)
def test_the_same_loop_in_both_engines_is_the_same_log(irb140, law, drive) -> None:
    logs = []
    for engine in ENGINES:
        options = {"friction": None if law is None else FRICTION_LAWS.build(law), "drive": drive}
        path = PointToPoint(irb140.joint_names, irb140.home, irb140.home + 0.4, 0.0, 0.5)
        with Plant(irb140, engine=engine, **options) as plant:
            logs.append(rollout(plant, ComputedTorque(irb140, 2500.0, 100.0), path))
        assert logs[-1].provenance["engine"] == engine
    for name in ("q", "tau_meas"):
        one, other = (getattr(log, name) for log in logs)
        np.testing.assert_allclose(other, one, atol=1e-9 * np.abs(one).max())
