"""The closed loop: a nearly right model tracks nearly as well; gains, motions, records."""

import json
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError
from robots import urdf_path
from sampling import sampled
from studies import cell_of, comparison, loop_of

from robotid_sim.arrays import rms
from robotid_sim.control.controller import ModelController
from robotid_sim.control.gains import DEFAULT_DISTURBANCE, LoopGains
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import ControllerError, OptionError, SimulationDiverged, UnknownNameError
from robotid_sim.measurement.log import Log
from robotid_sim.model.perturb import perturb
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.config_tables import VerdictLimits
from robotid_sim.pipeline.verdict import loop_checks
from robotid_sim.tasks.path import fastest_lap, make_tracking_path
from robotid_sim.validation.closed_loop import task_motions
from robotid_sim.validation.comparison import Comparison
from robotid_sim.validation.control_run import ControlRun
from robotid_sim.validation.metrics import StepMetrics

FIRST = "sliding-mode"
MODELS = ("true", "nominal", "identified")
IDENTIFIED = 1e-3
"""Error of the parameters of an identified model; the pipeline's is of this order."""

TASKS = {"circle": {}, "joint-step": {}}
SHORT = comparison(slow_lap=4.0, baselines=("computed-torque", "gravity-pd"), tasks=TASKS)


def compare(plant, seed=0, plan=SHORT, **options):
    """Return the closed loop of a plant, a nominal and a model that is 0.1 % wrong."""
    nominal = perturb(plant, np.random.default_rng(1000 + seed))
    found = perturb(plant, np.random.default_rng(2000 + seed), scale=IDENTIFIED)
    models = {"identified": found}
    return loop_of(plant, nominal, models, seed, plan, **options), nominal, found


def assert_acceptance(plant, loop):
    """Assert what identification shall buy in the loop, on every lap."""
    assert loop.failures == ()
    assert loop.gap_left(plant.joint_units) <= 0.1
    assert loop.mismatch_left(plant.joint_units) <= 0.05
    for lap in loop.laps:
        true, nominal, found = (loop.find(model, "undisturbed", lap) for model in MODELS)
        assert (true.rms_error <= 2e-3).all()
        assert np.linalg.norm(true.rms_error) < 0.2 * np.linalg.norm(nominal.rms_error)
        for run in (true, found):
            assert (run.chattering_index <= 0.05).all()
            assert run.saturated == 0.0
        true, nominal, found = (loop.find(model, "sinusoidal", lap) for model in MODELS)
        assert np.abs(found.rms_error / true.rms_error - 1.0).max() <= 0.02
        for run in (true, found):
            assert (run.max_error <= 1.5 * loop.gains.error_bound).all()


@pytest.fixture(scope="module")
def small(arm):
    """The loop of the small arm, a slow lap of 4 s."""
    return compare(arm)


def test_a_nearly_right_model_closes_the_gap(arm, small):
    assert_acceptance(arm, small[0])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "seed"), sampled(product(("irb140", "iiwa"), (0, 1)), ("irb140", 0))
)
def test_a_nearly_right_model_closes_the_gap_on_six_and_seven_joints(request, name, seed):
    plant = request.getfixturevalue(name)
    loop, _, _ = compare(plant, seed, comparison(slow_lap=15.0), workers=2)
    assert loop.laps == ("circle-fast", "circle-slow")
    assert_acceptance(plant, loop)


def test_all_runs_are_there_once(small):
    runs = small[0].runs
    keys = {(r.controller, r.model, r.scenario, r.task) for r in runs}
    laps = ("joint-ellipse-fast", "joint-ellipse-slow")  # the tip of this arm is its elbow
    assert small[0].laps == laps
    assert small[0].models == MODELS
    assert small[0].scenarios == ("undisturbed", "sinusoidal")
    expected = {
        *(("sliding-mode", m, s, task) for m in MODELS for s in ("undisturbed", "sinusoidal")
          for task in (*laps, "joint-step")),
        *((c, "identified", s, laps[0]) for c in ("computed-torque", "gravity-pd")
          for s in ("undisturbed", "sinusoidal")),
    }  # fmt: skip
    assert keys == expected
    assert len(runs) == len(expected)


def test_only_steps_have_step_metrics(arm, small):
    for run in small[0].runs:
        assert (run.step is not None) == (run.task == "joint-step")
        assert (run.tip_step is not None) == (run.task == "joint-step")
    run = small[0].find("true", "undisturbed", "joint-step")
    bandwidth = small[0].gains.bandwidth
    for step in (run.step, run.tip_step):
        # Two poles at -lambda rise in 3.4 / lambda; outside the layer, reaching takes longer.
        assert 3.0 / bandwidth < step.rise_time < step.settling_time < 1.5
        assert step.steady_state_error < 1e-5
        assert step.overshoot < 0.02


def test_gains_come_from_the_nominal_model(small):
    loop, nominal, _ = small
    lap = fastest_lap(nominal, make_tracking_path(nominal), 0.6, 4.0)
    reference = lap(np.arange(0.0, lap.duration, 1e-3))
    wanted = LoopGains.from_specification(
        nominal, reference, rate=1000.0, disturbance=DEFAULT_DISTURBANCE
    )
    assert loop.gains.bandwidth == wanted.bandwidth
    np.testing.assert_array_equal(loop.gains.gain, wanted.gain)


def test_true_model_has_no_mismatch_and_the_others_have_theirs(arm, small):
    loop, nominal, found = small
    lap = fastest_lap(nominal, make_tracking_path(nominal), 0.6, 4.0)
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
        quiet, shaken = (loop.find("true", s, lap) for s in ("undisturbed", "sinusoidal"))
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
    runs = tuple(r for r in loop.runs if r.model != "identified")
    assert replace(loop, runs=runs).gap_left(units) is None


def test_a_controller_without_model_has_no_gap_to_be_checked(arm, small):
    def names(loop):
        return [check.name for check in loop_checks(arm, loop, VerdictLimits())]

    runs = {(r.model, r.scenario, r.task): r for r in small[0].runs if r.controller == FIRST}
    alike = [
        replace(run, rms_error=runs["true", scenario, task].rms_error)
        for (_, scenario, task), run in runs.items()
    ]
    assert names(small[0]) == [
        "tracking_gap_closed",
        "torque_error_reduced",
        "all_closed_loops_completed",
    ]
    assert names(replace(small[0], runs=tuple(alike))) == [
        "torque_error_reduced",
        "all_closed_loops_completed",
    ]


def test_radians_and_metres_are_never_averaged(small):
    loop = small[0]

    def scaled(run):
        size = np.array([1.0, 1e3])
        return replace(run, rms_error=size * run.rms_error, torque_error=size * run.torque_error)

    other = replace(loop, runs=tuple(scaled(run) for run in loop.runs))
    units = ("rad", "m")
    assert other.gap_left(units) == pytest.approx(loop.gap_left(units), rel=1e-12)
    assert other.mismatch_left(units) == pytest.approx(loop.mismatch_left(units), rel=1e-12)


# ------------------------------------------------------------- scenarios, models, runs

BRIEF = {"tasks": {"joint-step": {"seconds": 0.5}}}


def brief(**options):
    return comparison(**BRIEF, **options)


@pytest.fixture(scope="module")
def repeated(arm):
    """Three runs of a step, with a model that differs by run and one that does not."""
    nominal = perturb(arm, np.random.default_rng(1000))
    drawn = [perturb(arm, np.random.default_rng(k), scale=0.1) for k in range(3)]
    plan = brief(runs=3, scenarios=("payload", "feedback"))
    return loop_of(arm, nominal, {"drawn": drawn}, 0, plan), drawn


@pytest.mark.slow
def test_only_what_is_drawn_is_repeated(repeated):
    loop, _ = repeated
    counts = {
        (model, scenario): sum((r.model, r.scenario) == (model, scenario) for r in loop.runs)
        for model in loop.models
        for scenario in loop.scenarios
    }
    assert counts == {
        ("true", "undisturbed"): 1, ("true", "payload"): 1, ("true", "feedback"): 3,
        ("nominal", "undisturbed"): 1, ("nominal", "payload"): 1, ("nominal", "feedback"): 3,
        ("drawn", "undisturbed"): 3, ("drawn", "payload"): 3, ("drawn", "feedback"): 3,
    }  # fmt: skip


def test_every_run_has_its_own_model_and_noise(repeated):
    loop, drawn = repeated
    runs = [r for r in loop.runs if (r.model, r.scenario) == ("drawn", "undisturbed")]
    assert [run.run for run in runs] == [0, 1, 2]
    assert len({run.torque_error.tobytes() for run in runs}) == len(drawn)
    noisy = [r for r in loop.runs if (r.model, r.scenario) == ("true", "feedback")]
    assert len({run.rms_error.tobytes() for run in noisy}) == 3
    assert [run.trace is not None for run in noisy] == [True, False, False]


@pytest.mark.slow
def test_adding_a_scenario_or_a_controller_changes_no_other_run(arm):
    alone, _, _ = compare(arm, plan=brief(scenarios=("sinusoidal",)))
    more = brief(
        scenarios=("feedback", "sinusoidal", "friction"),
        controllers=("sliding-mode", "computed-torque"),
    )
    among, _, _ = compare(arm, plan=more)
    for run in alone.runs:
        same = among.find(run.model, run.scenario, run.task)
        assert same.rms_error.tobytes() == run.rms_error.tobytes()
        assert same.torque_rms.tobytes() == run.torque_rms.tobytes()


@pytest.mark.slow
def test_undisturbed_runs_can_be_left_out_and_traces_kept_whole(arm):
    plan = brief(scenarios=("sinusoidal",))
    every, _, _ = compare(arm, plan=plan)
    fewer, _, _ = compare(arm, plan=replace(plan, undisturbed=False, trace_samples=10**6))
    assert {run.model for run in fewer.runs if run.scenario == "undisturbed"} == {"true"}
    assert {run.model for run in fewer.runs if run.scenario == "sinusoidal"} == set(MODELS)
    for run in fewer.runs:
        same = every.find(run.model, run.scenario, run.task)
        assert same.rms_error.tobytes() == run.rms_error.tobytes()
        assert np.diff(run.trace.t).max() == pytest.approx(1e-3)


def test_payload_raises_the_error_of_the_true_model(arm):
    heavy = {"payload": {"mass": 1.0}}
    plan = brief(scenarios=("payload",), conditions=heavy)
    loop, _, _ = compare(arm, plan=plan)
    quiet, loaded = (loop.find("true", s, "joint-step") for s in ("undisturbed", "payload"))
    assert (loaded.step.steady_state_error, 0.01) > (quiet.step.steady_state_error, 0.0)
    assert loaded.step.steady_state_error > 100.0 * quiet.step.steady_state_error


@pytest.mark.slow
def test_workers_change_nothing_but_the_time(arm):
    shares = {1: [], 2: []}
    plan = comparison(slow_lap=9.0, runs=2, scenarios=("undisturbed", "feedback+impulsive"))
    loops = [
        compare(
            arm,
            0,
            plan,
            rate=250.0,
            workers=workers,
            progress=lambda stage, share, seen=seen: seen.append((stage, share)),
        )[0]
        for workers, seen in shares.items()
    ]
    names = ("rms_error", "max_error", "energy", "torque_variation", "chattering_index", "itae")
    assert len(loops[0].runs) == len(loops[1].runs)
    for one, two in zip(loops[0].runs, loops[1].runs, strict=True):
        assert (one.controller, one.model, one.task, one.run) == (
            *(two.controller, two.model, two.task, two.run),
        )
        for name in names:
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
        assert one.step == two.step
    for seen in shares.values():
        assert {stage for stage, _ in seen} == {"control"}
        numbers = [share for _, share in seen]
        assert numbers == sorted(numbers)
        assert numbers[-1] == pytest.approx(1.0)


# --------------------------------------------------------------------------- failures


class Broken(ModelController):
    """A user's law that returns NaN for its second joint after a while."""

    def __init__(self, model, after):
        self.model, self.after = model, after

    @classmethod
    def from_gains(cls, model, gains, after=0.05):
        del gains
        return cls(model, after)

    def __call__(self, t, q, dq, setpoint):
        tau = np.zeros(q.size)
        if t > self.after:
            tau[1] = np.nan
        return tau


BROKEN = {"broken": Broken.from_gains}


def test_a_run_that_fails_is_named_with_its_log_and_the_others_go_on(arm):
    plan = brief()
    plan = replace(plan, controllers={**plan.controllers, **BROKEN})
    loop, _, _ = compare(arm, plan=plan)
    assert {run.controller for run in loop.runs} == {"sliding-mode"}
    assert len(loop.failures) == 6
    failure = loop.failures[0]
    assert (failure.controller, failure.task) == ("broken", "joint-step")
    assert f"'{arm.joint_names[1]}'" in failure.message
    assert "t = 0.051 s" in failure.message
    assert "finite torques" in str(failure)
    assert isinstance(failure.log, Log)
    assert np.isfinite(failure.log.tau_cmd).all()
    assert failure.log.t[-1] == pytest.approx(0.05)


def test_nothing_is_compared_if_the_loop_with_the_true_model_fails(arm):
    with pytest.raises(SimulationDiverged, match="broken with the true model") as caught:
        compare(arm, plan=replace(brief(), controllers=BROKEN))
    assert isinstance(caught.value.log, Log)


def test_a_model_that_is_no_robot_fails_alone(arm):
    phi = arm.parameters()
    phi[[4, 6, 9, 14, 16, 19]] = -1.0
    impossible = arm.with_parameters(phi, formal=True)
    plan = brief(scenarios=("feedback",))
    nominal = perturb(arm, np.random.default_rng(1000))
    loop = loop_of(arm, nominal, {"bad": impossible}, 0, plan)
    assert {failure.model for failure in loop.failures} == {"bad"}
    assert any("positive definite" in failure.message for failure in loop.failures)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"runs": 0}, "runs must be at least 1"),
        ({"controllers": {}}, "at least one of its controllers"),
        ({"tasks": {}}, "at least one of its tasks"),
    ],
)
def test_a_comparison_of_nothing_is_refused(options, words):
    with pytest.raises(OptionError, match=words):
        Comparison(**options)


def test_too_slow_a_lap_to_fit_its_ramps_is_refused(arm):
    with pytest.raises(OptionError, match="too short"):
        compare(arm, plan=Comparison(slow_lap=1.5))


ARMS = ("irb140", "irb120", "rs010n", "rocr6", "twolink", "iiwa", "panda")
LAPS = comparison(tasks={"circle": {}, "figure-eight": {}})


def nominal_loop(name, plan, seed=0):
    plant = Robot.from_urdf(urdf_path(name))
    nominal = perturb(plant, np.random.default_rng(1000 + seed))
    return loop_of(plant, nominal, {}, seed, plan, workers=2)


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(ARMS, "irb140", "twolink"))
def test_circle_and_figure_eight_are_tracked_without_tuning(name):
    loop = nominal_loop(name, LAPS)
    assert loop.laps == ("circle-fast", "figure-eight-fast")
    assert loop.failures == ()
    for lap in loop.laps:
        quiet, shaken = (loop.find("true", s, lap) for s in loop.scenarios)
        assert (quiet.rms_error <= 2e-3).all()
        assert (quiet.chattering_index <= 0.05).all()
        assert quiet.saturated == 0.0
        assert (shaken.max_error <= 1.5 * loop.gains.error_bound).all()


@pytest.mark.slow
@pytest.mark.parametrize("seed", sampled(range(3), 0))
def test_the_observer_keeps_peak_torques_near_those_of_the_clean_loop(seed):
    plan = comparison(scenarios=("feedback",), runs=2)
    loop = nominal_loop("irb140", plan, seed)
    for model in ("true", "nominal"):
        clean = loop.find(model, "undisturbed", "circle-fast")
        noisy = [r for r in loop.runs if (r.model, r.scenario) == (model, "feedback")]
        assert len(noisy) == 2
        for run in noisy:
            assert (run.peak_torque <= 1.2 * clean.peak_torque).all()
            assert np.linalg.norm(run.rms_error) < np.linalg.norm(clean.rms_error) + 1e-4


@pytest.mark.slow
def test_every_scenario_runs_on_a_redundant_arm():
    scenarios = ("constant", "impulsive", "payload", "friction", "dropped-samples", "feedback")
    plan = comparison(
        tasks={"pick-and-place": {}, "task-step": {}},
        scenarios=(*scenarios, "computation-delay", "payload+sinusoidal+feedback"),
    )  # fmt: skip
    loop = nominal_loop("iiwa", plan)
    assert loop.failures == ()
    for run in loop.runs:
        if run.step is None:
            assert (run.rms_error < 0.02).all()


RECORD = TypeAdapter(ControlRun)
PER_JOINT = (
    *("rms_error", "max_error", "iae", "itae", "torque_mismatch", "energy", "energy_signed"),
    *("torque_rms", "torque_variation", "chattering_index", "peak_torque", "peak_ratio"),
)


def record(**changes) -> ControlRun:
    values = {name: np.array([0.1 * k, 0.3]) for k, name in enumerate(PER_JOINT, start=1)}
    values |= {"controller": "pid", "model": "true", "scenario": "undisturbed", "task": "step"}
    values |= {"tip_rms_error": 0.1, "tip_max_error": 0.2, "tip_iae": 0.3, "tip_itae": 0.4}
    values |= {"rise_time": 0.25, "settling_time": None, "overshoot": 0.07}
    values |= {"steady_state_error": 0.5, "saturated": 0.0, "torque_error": np.ones(2)}
    return ControlRun(**values, tip_step=StepMetrics(0.1, 0.2, 0.125, 0.0), **changes)


def test_json_has_units_in_its_names_and_nothing_that_is_not_a_result() -> None:
    content = record().content()
    assert content["rise_time_s"] == 0.25
    assert content["overshoot_percent"] == 100.0 * 0.07
    assert content["tip_step"]["overshoot_percent"] == 12.5
    assert content["energy_j"] == [0.1 * 6, 0.3]
    assert content["saturated_s"] == 0.0
    assert not {"trace", "torque_error", "overshoot", "energy", "step"} & set(content)


def test_what_is_read_is_what_was_written() -> None:
    content = record(run=3).content()
    read = RECORD.validate_json(json.dumps(content))
    assert read.content() == content
    assert read.step == record().step
    assert not read.peak_torque.flags.writeable


def test_a_run_without_a_step_has_none() -> None:
    content = {**record().content(), "overshoot_percent": None, "tip_step": None}
    assert RECORD.validate_python(content).step is None


@pytest.mark.parametrize("name", ["rms_error", "saturated_s"])
def test_an_incomplete_record_is_refused(name) -> None:
    content = record().content()
    del content[name]
    with pytest.raises(ValidationError, match=name):
        RECORD.validate_python(content)


UNDISTURBED = comparison(scenarios=("undisturbed",), slow_lap=4.0, tasks=TASKS)


@pytest.fixture(scope="module")
def models(arm):
    return {"true": arm, "nominal": perturb(arm, np.random.default_rng(1))}


def motions(models, name, plan=UNDISTURBED):
    """Return the motions of a task with the nominal model behind the gains."""
    rng = np.random.default_rng(0)
    return task_motions(cell_of(models["true"]), models["nominal"], models, name, rng, plan)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["joint-ellipse-slow", "joint-step"])
def test_they_are_the_undisturbed_runs_of_the_closed_loop(models, name) -> None:
    loop = loop_of(models["true"], models["nominal"], {}, 5, UNDISTURBED)
    found = motions(models, name)
    assert (found.task.name, found.controller) == (name, loop.controller)
    for model, error in found.errors().items():
        run = loop.find(model, "undisturbed", name)
        np.testing.assert_array_equal(rms(error), run.rms_error)
        np.testing.assert_array_equal(np.abs(error).max(axis=0), run.max_error)


def test_a_path_alone_means_its_first_run(models) -> None:
    assert motions(models, "joint-ellipse").task.name == "joint-ellipse-fast"


def test_an_unknown_task_meets_the_known_ones(models) -> None:
    with pytest.raises(UnknownNameError) as caught:
        motions(models, "joint-stp")
    assert str(caught.value) == (
        "unknown task 'joint-stp' (did you mean 'joint-step'?); known: joint-ellipse-fast, "
        "joint-ellipse-slow, joint-step"
    )


class Pushing:
    """Pushes harder the more the model is wrong."""

    def __init__(self, torque: float) -> None:
        self.torque = torque

    def __call__(self, t, q, dq, setpoint):
        return np.full(q.size, self.torque)

    def reset(self) -> None:
        """Have no state."""


def test_a_loop_that_diverges_names_its_model(models) -> None:
    def pushing(model, gains):
        return Pushing(0.0 if model is models["true"] else np.inf)

    plan = replace(UNDISTURBED, controllers={"pushing": pushing})
    with pytest.raises(ControllerError, match=r"^joint-step with the nominal model: .*Pushing"):
        motions(models, "joint-step", plan)
