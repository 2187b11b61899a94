"""One sample or a batch, one thread or many: the same numbers; wrong shapes are refused."""

import numpy as np
import pytest

from robotid_sim import compiled
from robotid_sim.dynamics.dynamics import (
    gravity_torque,
    joint_torque,
    mass_matrix,
    rigid_body_torque,
    torque_regressor,
)
from robotid_sim.errors import ShapeError
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.robot import Robot

FUNCTIONS = {
    "rigid_body_torque": rigid_body_torque,
    "joint_torque": joint_torque,
    "torque_regressor": torque_regressor,
    "gravity_torque": lambda robot, q, dq, ddq: gravity_torque(robot, q),
    "mass_matrix": lambda robot, q, dq, ddq: mass_matrix(robot, q),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_batch_is_its_samples_bit_for_bit(name: str, robot: Robot) -> None:
    function = FUNCTIONS[name]
    rng = np.random.default_rng(0)
    batch = rng.uniform(-1, 1, (3, 7, robot.dof))
    whole = function(robot, *batch)
    single = [function(robot, *batch[:, k]) for k in range(7)]
    assert whole.shape == (7, *single[0].shape)
    np.testing.assert_array_equal(whole, single)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_stay_as_they_are(name: str, irb140: Robot) -> None:
    rng = np.random.default_rng(1)
    batch = rng.uniform(-1, 1, (3, 4, 6))
    copy = batch.copy()
    FUNCTIONS[name](irb140, *batch)
    np.testing.assert_array_equal(batch, copy)


def test_long_batch_in_threads_equals_short_ones_bit_for_bit(irb140: Robot) -> None:
    rng = np.random.default_rng(2)
    batch = rng.uniform(-1, 1, (3, 20_000, 6))  # ten times the size that gets a thread
    assert batch.shape[1] >= 2 * compiled.MIN_SAMPLES_PER_THREAD
    whole = torque_regressor(irb140, *batch)
    for start in range(0, 20_000, 1000):
        part = slice(start, start + 1000)
        np.testing.assert_array_equal(whole[part], torque_regressor(irb140, *batch[:, part]))


@pytest.mark.parametrize("cores", [1, 3, 8])
def test_parts_cover_a_batch_once(cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.os, "cpu_count", lambda: cores)
    for samples in (0, 1, 1999, 4001, 20_000):
        seen = np.zeros(samples, dtype=int)

        def work(part: slice, seen: np.ndarray = seen) -> None:
            seen[part] += 1

        compiled.run_in_threads(work, samples)
        assert (seen == 1).all()


def test_error_in_a_thread_reaches_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled.os, "cpu_count", lambda: 4)

    def fail(part: slice) -> None:
        raise ArithmeticError(part.start)

    with pytest.raises(ArithmeticError):
        compiled.run_in_threads(fail, 20_000)


def test_lists_and_strided_arrays_are_accepted(irb140: Robot) -> None:
    rng = np.random.default_rng(3)
    batch = rng.uniform(-1, 1, (3, 10, 12))[:, ::2, ::2]
    want = joint_torque(irb140, *np.ascontiguousarray(batch))
    np.testing.assert_array_equal(joint_torque(irb140, *batch), want)
    np.testing.assert_array_equal(joint_torque(irb140, *batch.tolist()), want)


WRONG = {
    "short sample": ((5,), (6,), (6,), r"q has shape \(5,\); give \(6,\) or \(N, 6\)"),
    "short batch": ((4, 6), (3, 6), (4, 6), r"dq has shape \(3, 6\)"),
    "mixed ranks": ((6,), (6,), (1, 6), r"ddq has shape \(1, 6\).*alike for q, dq, ddq"),
    "three axes": ((2, 2, 6), (2, 2, 6), (2, 2, 6), r"q has shape \(2, 2, 6\)"),
    "scalar": ((), (), (), r"q has shape .*; give \(6,\)"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_shape_names_argument_and_expected_shape(case: str, irb140: Robot) -> None:
    *shapes, message = WRONG[case]
    with pytest.raises(ShapeError, match=message):
        joint_torque(irb140, *(np.zeros(shape) for shape in shapes))


def test_text_is_not_an_array_of_numbers(irb140: Robot) -> None:
    with pytest.raises(ShapeError, match="dq is not an array of numbers"):
        joint_torque(irb140, np.zeros(6), "fast", np.zeros(6))


def test_kernels_compile_where_no_cache_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    real = compiled.numba.njit

    def njit(*functions, **options):  # numba itself, where it loads parts late, gives a function
        if options.get("cache"):
            raise RuntimeError("cannot cache function: no locator available")
        return real(*functions, **options)

    monkeypatch.setattr(compiled.numba, "njit", njit)
    double = compiled.jit(lambda x: 2.0 * x)
    assert double(1.5) == 3.0


@pytest.mark.parametrize("columns", [[10**10], [28], [-1], [0, 27, 28]])
def test_columns_that_the_robot_does_not_have_are_refused(columns):
    robot = load_robot("twolink")
    state = np.zeros(2)
    with pytest.raises(ShapeError, match="columns must lie in 0 to 27"):
        torque_regressor(robot, state, state, state, columns)
