"""Source code of a robot's dynamics: used alone, it computes what the package does."""

import ctypes
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from robots import single, urdf_path
from scipy.spatial.transform import Rotation

from robotid_sim.dynamics.code_files import c_prefix, write_c, write_python
from robotid_sim.dynamics.dynamics import gravity_torque, joint_torque, mass_matrix
from robotid_sim.dynamics.source_code import Recorder, Term, call, numbers
from robotid_sim.errors import FileFormatError
from robotid_sim.model.geometry import Link, transform
from robotid_sim.model.joint import Friction, Joint
from robotid_sim.model.robot import Robot

EQUAL = 1e-12
"""Of the largest torque or inertia: the same sums in another order."""

NAMES = ("irb140", "2r", "ppp", "scara", "rp", "iiwa", "panda", "ur10", "kinova", "skew", "single")

FLAGS = "-O2 -Wall -Wextra -Wpedantic -Werror -std=c99 -shared -fPIC".split()


def skew() -> Robot:
    """Return a robot whose axes and frames are along nothing, of a name that no language takes."""
    rng = np.random.default_rng(3)
    joints, links = [], []
    for k in range(4):
        axis = rng.normal(size=3)
        T = transform(Rotation.random(random_state=rng).as_matrix(), rng.normal(size=3))
        law = Friction(0.3, 2.0, -0.4, 0.02)
        joints.append(
            Joint(
                f'"""*/{k}\\',
                T,
                axis / np.linalg.norm(axis),
                k == 2,
                *(-2.0, 2.0, 2.0, 9.0),
                friction=law,
                rotor_inertia=0.2 * k,
            )
        )
        arm = rng.normal(size=(3, 5))
        spread = np.trace(arm @ arm.T) * np.eye(3) - arm @ arm.T
        links.append(Link(f"link {k}", np.r_[5.0, arm.sum(axis=1), _six(spread)]))
    gravity = np.array([1.0, -2.0, 9.0])
    return Robot('4 odd */ "names', tuple(links), tuple(joints), gravity)


def _six(tensor: np.ndarray) -> list[float]:
    return [tensor[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]


@pytest.fixture(scope="module", params=NAMES)
def robot(request) -> Robot:
    if request.param == "skew":
        return skew()
    if request.param == "single":
        return single(gravity=(0.0, 0.0, -9.81), Ia=0.3, Fv=0.2, Fo=0.1)
    return Robot.from_urdf(urdf_path(request.param))


def in_python(robot: Robot, folder: Path) -> Callable[..., np.ndarray]:
    """Return a function that calls the exported Python by name."""
    write_python(robot, folder / "robot.py")
    space: dict[str, Any] = {}
    exec(compile((folder / "robot.py").read_text(), "robot.py", "exec"), space)
    return lambda name, *arguments: space[name](*arguments)


def in_c(robot: Robot, folder: Path) -> Callable[..., np.ndarray]:
    """Return a function that calls the exported C by name, sample by sample."""
    write_c(robot, folder / "robot.c")
    compiler = shutil.which("cc")
    assert compiler, "no C compiler; .ci/run brings one"
    library = folder / "robot.so"
    subprocess.run(
        [compiler, *FLAGS, "-o", library, folder / "robot.c", "-lm"], check=True, timeout=60
    )
    functions = ctypes.CDLL(str(library))

    def run(name: str, *arguments: np.ndarray) -> np.ndarray:
        n = robot.dof
        shape = (n, n) if name == "mass_matrix" else (n,)
        results = np.empty((len(arguments[0]), *shape))
        vector = np.ctypeslib.ndpointer(float, flags="C_CONTIGUOUS")
        function = functions[f"{c_prefix(robot)}_{name}"]
        function.argtypes, function.restype = [vector] * (len(arguments) + 1), None
        for row, result in zip(zip(*arguments, strict=True), results, strict=True):
            function(*row, result)
        return results

    return run


@pytest.fixture(scope="module", params=[in_python, pytest.param(in_c, marks=pytest.mark.slow)])
def exported(request, robot, tmp_path_factory) -> Callable[..., np.ndarray]:
    return request.param(robot, tmp_path_factory.mktemp("code"))


def states(robot: Robot) -> Iterator[np.ndarray]:
    rng = np.random.default_rng(0)
    return (rng.uniform(-scale, scale, (40, robot.dof)) for scale in (2.0, 3.0, 10.0))


def assert_equal(ours: np.ndarray, want: np.ndarray) -> None:
    assert ours.shape == want.shape
    assert np.abs(ours - want).max() <= EQUAL * np.abs(want).max()


def test_inverse_dynamics_is_the_package_s(robot, exported) -> None:
    q, dq, ddq = states(robot)
    assert_equal(exported("inverse_dynamics", q, dq, ddq), joint_torque(robot, q, dq, ddq))


def test_mass_matrix_and_gravity_are_the_package_s(robot, exported) -> None:
    q, _, _ = states(robot)
    assert_equal(exported("mass_matrix", q), mass_matrix(robot, q))
    assert_equal(exported("gravity", q), gravity_torque(robot, q))


def test_friction_is_the_package_s(robot, exported) -> None:
    _, dq, _ = states(robot)
    laws = [joint.friction for joint in robot.joints]
    want = np.column_stack([law.torque(column) for law, column in zip(laws, dq.T, strict=True)])
    assert_equal(exported("friction", dq), want)


def test_python_takes_one_sample_too(irb140, tmp_path) -> None:
    run = in_python(irb140, tmp_path)
    q, dq, ddq = states(irb140)
    one = run("inverse_dynamics", q[3].tolist(), dq[3], ddq[3])
    np.testing.assert_array_equal(one, run("inverse_dynamics", q, dq, ddq)[3])
    assert run("mass_matrix", q[3]).shape == (6, 6)


def test_python_needs_numpy_alone(irb140, tmp_path) -> None:
    write_python(irb140, tmp_path / "arm.py")
    code = "import sys, arm; assert arm.JOINTS[5] == 'joint_6'; print('robotid_sim' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("write", [write_python, write_c])
def test_a_file_says_what_it_is_and_no_path(write, irb140, tmp_path) -> None:
    write(irb140, tmp_path / "robot")
    text = (tmp_path / "robot").read_text()
    assert "Dynamics of the robot 'irb140', 6 joints" in text
    assert "from irb140.urdf" in text
    assert str(urdf_path("irb140").parent) not in text
    assert "(0, 0, -9.81) m/s^2" in text
    assert text.count("joint_4") >= 1
    with pytest.raises(FileFormatError, match="choose a folder"):
        write(irb140, tmp_path / "none" / "robot")


def test_zeros_and_ones_are_not_written() -> None:
    a, b = Term("a"), Term("b")
    assert (0.0 * a, (1.0 * a).text, (a + 0.0).text) == (0.0, "a", "a")
    assert (-1.0 * a * b).text == "-a*b"
    assert (a - b * -2.0).text == "a + 2.0*b"
    assert (a - (b + 1.0)).text == "a - (b + 1.0)"
    assert ((a + b) * -(a - b)).text == "-(a + b)*(a - b)"
    assert (3.0 - a).text == "-a + 3.0"


def test_what_nothing_needs_is_not_written() -> None:
    code = Recorder()
    first = code.let("first", call("sin", Term("q1")) * 2.0)
    code.let("unused", first + 1.0)
    vector = code.let("v", numbers([1.0, 0.0, 2.0]) * first)
    assert [name for name, _ in code.list_assignments(vector)] == ["first", "vz"]
    assert vector[0].text == "first"
    assert vector[1] == 0.0
