"""The closed loop: a nearly right model tracks nearly as well as the right one."""

from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.control import ComputedTorque, GravityPd, LoopGains, SlidingMode
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import OptionError
from robotid_sim.model.perturb import perturb
from robotid_sim.trajectory.path import fastest_lap, tracking_path
from robotid_sim.validation.closed_loop import DISTURBANCE, closed_loop, make_controller

MODELS = ("true", "nominal", "identified")
IDENTIFIED = 1e-3
"""Error of the parameters of an identified model; the pipeline's is of this order."""


def compare(plant, seed, **options):
    """Return the closed loop of a plant, a nominal and a model that is 0.1 % wrong."""
    nominal = perturb(plant, np.random.default_rng(1000 + seed))
    found = perturb(plant, np.random.default_rng(2000 + seed), scale=IDENTIFIED)
    return closed_loop(plant, nominal, found, **options), nominal, found


def assert_acceptance(plant, loop):
    """Assert what identification shall buy in the loop, on every lap."""
    assert loop.gap_left(plant.joint_units) <= 0.1
    assert loop.mismatch_left(plant.joint_units) <= 0.05
    for lap in loop.laps:
        true, nominal, found = (loop.find(model, "undisturbed", lap) for model in MODELS)
        assert (true.rms_error <= 2e-3).all()
        assert np.linalg.norm(true.rms_error) < 0.2 * np.linalg.norm(nominal.rms_error)
        for run in (true, found):
            assert (run.chattering_index <= 0.05).all()
            assert run.saturated == 0.0
        true, nominal, found = (loop.find(model, "disturbed", lap) for model in MODELS)
        assert np.abs(found.rms_error / true.rms_error - 1.0).max() <= 0.02
        for run in (true, found):
            assert (run.max_error <= 1.5 * loop.gains.error_bound).all()


@pytest.fixture(scope="module")
def small(arm):
    """The loop of the small arm, a slow lap of 4 s."""
    return compare(arm, 0, slow_lap=4.0)


def test_a_nearly_right_model_closes_the_gap(arm, small):
    assert_acceptance(arm, small[0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["irb140", "iiwa"])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_nearly_right_model_closes_the_gap_on_six_and_seven_joints(request, name, seed):
    plant = request.getfixturevalue(name)
    loop, _, _ = compare(plant, seed)
    assert loop.laps == ("circle-fast", "circle-slow")
    assert_acceptance(plant, loop)


def test_all_runs_are_there_once(small):
    runs = small[0].runs
    keys = {(r.controller, r.model, r.scenario, r.task) for r in runs}
    assert len(keys) == len(runs) == 19
    laps = ("joint-ellipse-fast", "joint-ellipse-slow")
    assert small[0].laps == laps
    wanted = {
        *(("sliding-mode", m, s, lap) for m in MODELS for s in ("undisturbed", "disturbed")
          for lap in laps),
        *((c, "identified", s, laps[0]) for c in ("computed-torque", "gravity-pd")
          for s in ("undisturbed", "disturbed")),
        *(("sliding-mode", m, "undisturbed", "step") for m in MODELS),
    }  # fmt: skip
    assert keys == wanted


def test_only_steps_have_step_metrics(arm, small):
    for run in small[0].runs:
        assert (run.step is not None) == (run.task == "step")
    step = small[0].find("true", "undisturbed", "step").step
    bandwidth = small[0].gains.bandwidth
    # Two poles at -lambda rise in 3.4 / lambda; outside the layer, reaching takes longer.
    assert 3.0 / bandwidth < step.rise_time < step.settling_time < 1.5
    assert step.steady_state_error < 1e-6
    assert step.overshoot < 0.02


def test_gains_come_from_the_nominal_model(small):
    loop, nominal, _ = small
    lap = fastest_lap(nominal, tracking_path(nominal), 0.6, 4.0)
    reference = lap(np.arange(0.0, lap.duration, 1e-3))
    wanted = LoopGains.from_specification(nominal, reference, rate=1000.0, disturbance=DISTURBANCE)
    assert loop.gains.bandwidth == wanted.bandwidth
    np.testing.assert_array_equal(loop.gains.gain, wanted.gain)


def test_true_model_has_no_mismatch_and_the_others_have_theirs(arm, small):
    loop, nominal, found = small
    lap = fastest_lap(nominal, tracking_path(nominal), 0.6, 4.0)
    t = np.arange(round(lap.duration * 1e3)) * 1e-3
    state = (lap(t).q, lap(t).dq, lap(t).ddq)
    true = joint_torque(arm, *state)
    for name, model in zip(MODELS, (arm, nominal, found), strict=True):
        run = loop.find(name, "undisturbed", loop.laps[0])
        error = np.sqrt(((joint_torque(model, *state) - true) ** 2).mean(axis=0))
        np.testing.assert_allclose(run.torque_error, error, atol=1e-9)
        size = np.sqrt((true**2).mean(axis=0))
        np.testing.assert_allclose(run.torque_mismatch, error / size, atol=1e-9)


def test_disturbance_raises_the_error_to_the_order_of_its_bound(small):
    loop = small[0]
    for lap in loop.laps:
        quiet, shaken = (loop.find("true", s, lap) for s in ("undisturbed", "disturbed"))
        assert (shaken.rms_error > 10.0 * quiet.rms_error).all()
        assert (shaken.max_error > 0.2 * loop.gains.error_bound).all()


def test_gap_is_zero_for_the_true_and_one_for_the_nominal_model(small):
    loop = small[0]
    units = ("rad", "rad")

    def with_identified(name):
        runs = [r for r in loop.runs if r.model != "identified"]
        runs += [replace(r, model="identified") for r in loop.runs if r.model == name]
        return replace(loop, runs=tuple(runs))

    assert with_identified("true").gap_left(units) == 0.0
    assert with_identified("true").mismatch_left(units) == 0.0
    assert with_identified("nominal").gap_left(units) == 1.0
    assert with_identified("nominal").mismatch_left(units) == 1.0


def test_radians_and_metres_are_never_averaged(small):
    loop = small[0]

    def scaled(run):
        size = np.array([1.0, 1e3])
        return replace(run, rms_error=size * run.rms_error, torque_error=size * run.torque_error)

    other = replace(loop, runs=tuple(scaled(run) for run in loop.runs))
    units = ("rad", "m")
    assert other.gap_left(units) == pytest.approx(loop.gap_left(units), rel=1e-12)
    assert other.mismatch_left(units) == pytest.approx(loop.mismatch_left(units), rel=1e-12)


FIELDS = ("rms_error", "max_error", "energy", "torque_variation", "chattering_index", "peak_torque")


@pytest.mark.slow
def test_workers_change_nothing_but_the_time(arm, small):
    _, nominal, found = small
    shares = {1: [], 2: []}
    loops = [
        closed_loop(
            arm, nominal, found, slow_lap=3.0, rate=250.0, workers=workers,
            progress=lambda stage, share, seen=seen: seen.append((stage, share)),
        )
        for workers, seen in shares.items()
    ]  # fmt: skip
    assert len(loops[0].runs) == len(loops[1].runs) == 19
    for one, two in zip(loops[0].runs, loops[1].runs, strict=True):
        assert (one.controller, one.model, one.task) == (two.controller, two.model, two.task)
        for name in FIELDS:
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
        assert one.step == two.step
    for seen in shares.values():
        assert {stage for stage, _ in seen} == {"control"}
        numbers = [share for _, share in seen]
        assert numbers == sorted(numbers)
        assert numbers[-1] == pytest.approx(1.0)


def test_controllers_share_stiffness_and_damping(arm, small):
    gains = small[0].gains
    sliding, torque, pd = (
        make_controller(name, arm, gains)
        for name in ("sliding-mode", "computed-torque", "gravity-pd")
    )
    assert isinstance(sliding, SlidingMode)
    assert isinstance(torque, ComputedTorque)
    assert isinstance(pd, GravityPd)
    assert (torque.kp, torque.kd) == (gains.bandwidth**2, 2.0 * gains.bandwidth)
    np.testing.assert_allclose(pd.kp, gains.inertia * gains.bandwidth**2)
    np.testing.assert_allclose(pd.kd, 2.0 * gains.inertia * gains.bandwidth)


def test_too_slow_a_lap_to_fit_its_ramps_is_refused(arm, small):
    with pytest.raises(OptionError, match="too short"):
        closed_loop(arm, small[1], small[2], slow_lap=1.5)
