"""Fixtures: robots, oracles and a cache of engine experiments."""

import fcntl
import os

import cloudpickle
from sampling import sampled

from robotid_sim.cli.openblas import common_kernels

# Before NumPy loads: tests compare what Python gives with what the program gives.
os.environ.update(common_kernels())

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from exact import Exact
from robots import ROBOTS, urdf_path
from studies import study
from threadpoolctl import threadpool_limits

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.engine.engines import ENGINES, is_installed, use_engine
from robotid_sim.engine.plant import Plant
from robotid_sim.excitation.design import random_design
from robotid_sim.experiment.rollout import rollout
from robotid_sim.measurement.log import Log
from robotid_sim.model.joint_terms import JointTerm
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.study import Study
from robotid_sim.trajectory.fourier import FourierTrajectory

WHOLE = ("engine/test_client.py", "engine/test_pybullet_bodies.py", "viewer/test_window.py")
WHOLE += (
    "viewer/test_playback_controls.py",
    "viewer/test_window_scene.py",
    "viewer/test_posed_robot.py",
    "viewer/test_pybullet_renderer.py",
)
"""Files that load PyBullet."""

collect_ignore = [] if is_installed("pybullet") else list(WHOLE)

OF_PYBULLET = {"pybullet", "iiwa", "geared_iiwa"}
"""Fixtures that need PyBullet, or a file that comes with it."""

OF_BOTH = ("iiwa", "certify", "test_certificate")
"""Parts of the names of tests that need that file, or both engines."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what needs PyBullet or OpenGL; leave out the former where there is no PyBullet."""
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        whole = any(item.path.match(file) for file in WHOLE)
        if whole or fixtures & OF_PYBULLET or any(part in item.nodeid for part in OF_BOTH):
            item.add_marker("pybullet")
        if item.path.parent.name == "viewer" and "mujoco" in item.nodeid:
            item.add_marker("opengl")
    if not is_installed("pybullet"):
        lost = [item for item in items if item.get_closest_marker("pybullet")]
        items[:] = [item for item in items if not item.get_closest_marker("pybullet")]
        config.hook.pytest_deselected(items=lost)


@pytest.fixture
def pybullet():
    """Return the package PyBullet; tests that use it are marked."""
    import pybullet

    return pybullet


SMALL = ("irb140", "scara", "2r", "ppp", "rp")


@pytest.fixture(scope="session", params=sampled(ROBOTS, *SMALL, mark=pytest.mark.slow))
def robot(request: pytest.FixtureRequest) -> Robot:
    """Every robot under test, the larger ones in slow tests."""
    return Robot.from_urdf(urdf_path(request.param))


@pytest.fixture(scope="session")
def irb140() -> Robot:
    return Robot.from_urdf(urdf_path("irb140"))


@pytest.fixture(scope="session")
def iiwa() -> Robot:
    return Robot.from_urdf(urdf_path("iiwa"))


@pytest.fixture(autouse=True, scope="session")
def one_blas_thread():
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def pinocchio_model():
    """Return a function from a robot, or a URDF of it, to Pinocchio's own reading of that file.

    Joints that are not of the robot are locked at zero; friction stays out of the model.
    """
    import pinocchio as pin

    def read(robot: Robot, path: Path | None = None) -> pin.Model:
        assert robot.document is not None
        model = pin.buildModelFromUrdf(str(path or robot.document.path))
        others = [j for j, name in enumerate(model.names) if j and name not in robot.joint_names]
        if others:  # Pinocchio refuses to lock none of a model with doubled names of frames
            model = pin.buildReducedModel(model, others, pin.neutral(model))
        assert tuple(model.names)[1:] == robot.joint_names
        model.gravity.linear = robot.gravity
        return model

    return read


@pytest.fixture(scope="session")
def arm() -> Robot:
    """A vertical planar arm with two joints and friction: the smallest robot with everything."""
    return Robot.from_urdf(urdf_path("2r"))


@pytest.fixture(scope="session")
def geared_iiwa() -> Robot:
    """The KUKA iiwa with the friction and rotors that calibration.md assumes; stock has neither."""
    coulomb = (3.0, 3.0, 2.0, 2.0, 1.0, 1.0, 0.5)  # [N m]
    rotor = (0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.03)  # [kg m^2]
    drives = {
        name: {"Fc": Fc, "Ia": Ia, "eps": 0.03}
        for name, Fc, Ia in zip(
            Robot.from_urdf(urdf_path("iiwa")).joint_names, coulomb, rotor, strict=True
        )
    }
    return Robot.from_urdf(urdf_path("iiwa"), joints=drives)


@dataclass(frozen=True)
class Experiment:
    """A virtual experiment: the plant, what is known of it, and the clean log of its excitation."""

    plant: Robot
    nominal: Robot
    basis: BaseParameters
    trajectory: FourierTrajectory
    log: Log


@pytest.fixture(scope="session")
def quick_study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Study, Path]:
    """A quick study of irb140, and the folder of its files; processes of pytest share one."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    folder, kept = root / "irb140", root / "irb140.pickle"
    with (root / "irb140.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            whole = study("irb140", load_config(None).quick(), folder)
            kept.write_bytes(cloudpickle.dumps(whole))
        return cloudpickle.loads(kept.read_bytes()), folder


@pytest.fixture(scope="session")
def experiment() -> Callable[..., Experiment]:
    """Return a function that runs the standard experiment, once per session and robot.

    Three periods of 10 s after the approach, at 1 kHz: some two seconds of computing.
    """
    done: dict[tuple[bytes, tuple[JointTerm, ...], bool], Experiment] = {}

    def run(robot: Robot, *, leapfrog: bool = True) -> Experiment:
        key = (robot.geometry.tobytes() + robot.parameters().tobytes(), robot.terms, leapfrog)
        if key not in done:
            nominal = perturb(robot, np.random.default_rng(1))
            basis = base_parameters(nominal)
            trajectory = random_design(nominal, basis, np.random.default_rng(0))
            with Plant(robot, leapfrog=leapfrog) as plant:
                log = rollout(plant, ComputedTorque(nominal), trajectory)
            done[key] = Experiment(robot, nominal, basis, trajectory, log)
        return done[key]

    return run


@pytest.fixture(scope="session")
def exact():
    """Return a function that makes exact data, once per session, robot and rate."""
    done = {}

    def make(robot, rate=50.0, *, period=10.0):
        key = (robot.geometry.tobytes(), rate, period)
        if key not in done:
            done[key] = Exact(robot, rate, period=period)
        return done[key]

    return make


INSTALLED = tuple(filter(is_installed, ENGINES))


@pytest.fixture(params=sampled(INSTALLED, *INSTALLED[:1], mark=pytest.mark.slow))
def each_engine(request) -> Iterator[str]:
    """Make every engine that is installed the default one, in turn; slow after the first."""
    with use_engine(request.param):
        yield request.param
