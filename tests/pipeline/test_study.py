"""The whole study: its verdict on every robot, recordings, what breaks each check, same bits."""

import json
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from robots import FURTHER, ROBOTS, urdf_path
from sampling import sampled
from short_study import SHORT
from studies import study

from robotid_sim.diagnostics.intervals import confidence_intervals
from robotid_sim.errors import FileFormatError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Truth
from robotid_sim.measurement.sensors import measure
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_setup
from robotid_sim.pipeline.build_robot import build_nominal
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.fit_plan import build_fit
from robotid_sim.pipeline.fitted_motion import make_recording
from robotid_sim.pipeline.result import StudyResult
from robotid_sim.pipeline.stages import fit_logs
from robotid_sim.preprocess.adaptive import Adaptive
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.report.tables import CHECK_MEANINGS

VERDICT = [
    *(
        "motion_within_limits",
        "no_link_contact",
        "all_base_parameters_excited",
        "written_urdf_matches_model",
        "model_predicts_validation_motion",
    ),
    *(
        "residual_matches_noise",
        "no_fault_found",
        "no_torque_saturation",
        "covariance_matches_error",
    ),
    *("consistent_fit_matches_least_squares", "tracking_gap_closed", "torque_error_reduced"),
    "all_closed_loops_completed",
]
NO_CONTROL = {"enabled": False}


@pytest.fixture
def quick_irb140(quick_study):
    """A quick study of irb140: its result and folder."""
    whole, folder = quick_study
    return whole.result, folder


def check(result: StudyResult, name: str):
    return next(c for c in result.verdict.checks if c.name == name)


CERTIFICATE = (
    *(
        "model_predicts_other_engine",
        "tracking_gap_closed_in_other_engine",
        "all_closed_loops_completed",
    ),
    *("estimates_agree_jointly", "differences_within_intervals"),
)
"""Checks of a study in two engines; see test_certificate.py."""


def test_verdict_has_every_check_and_passes(quick_irb140) -> None:
    result, _ = quick_irb140
    assert [c.name for c in result.verdict.checks] == VERDICT
    assert {*VERDICT, *CERTIFICATE} == set(
        CHECK_MEANINGS
    )  # so that a page says in words what each is
    assert result.verdict.passed


def test_result_file_reads_back_and_has_no_nan(quick_irb140) -> None:
    result, folder = quick_irb140
    assert StudyResult.load(folder / "result.json") == result
    json.loads((folder / "result.json").read_text(), parse_constant=pytest.fail)


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (lambda content: content | {"chosen": "foo"}, "there is no estimate 'foo'"),
        (lambda content: content | {"estimates": []}, "there is no estimate"),
        (
            lambda content: content | {"robot": content["robot"] | {"joint_names": ["one"]}},
            "a prediction needs 1 numbers, got 6",
        ),
    ],
)
def test_a_result_that_contradicts_itself_is_refused(quick_study, tmp_path, edit, said) -> None:
    content = json.loads((quick_study[1] / "result.json").read_text())
    path = tmp_path / "result.json"
    path.write_text(json.dumps(edit(content)))
    with pytest.raises(FileFormatError, match=said):
        StudyResult.load(path)


def test_an_incomplete_result_is_one_line(quick_irb140, tmp_path) -> None:
    _, folder = quick_irb140
    content = json.loads((folder / "result.json").read_text())
    path = tmp_path / "result.json"
    del content["robot"]
    path.write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match="'robot'"):
        StudyResult.load(path)


def test_estimates_come_with_truth_and_honest_errors(quick_irb140) -> None:
    result, _ = quick_irb140
    chosen = next(e for e in result.estimates if e.estimator == result.chosen)
    assert len(chosen.base_parameters) == 52
    assert len(chosen.parameters) == 6 * 14
    assert chosen.estimator == "consistent"
    assert chosen.nees is None  # constraints bias it
    # single seeds of the NEES ranged 0.5 to 2.0 in the calibration
    assert 0.4 < next(e.nees for e in result.estimates if e.estimator == "wls") < 2.5
    errors = [abs(p.value - p.true) / p.std for p in chosen.base_parameters]
    assert max(errors) < 6.0


def test_written_files_are_the_contract(quick_irb140) -> None:
    _, folder = quick_irb140
    assert {p.name for p in folder.iterdir()} == {
        *("result.json", "identified.urdf", "nominal.urdf", "trajectory.json", "log.h5"),
        *("estimate.json", "parameters.csv", "meshes", "manifest.json", "run.log"),
    }


def identified(log, nominal, setup):
    return fit_logs(log, nominal, setup.basis, setup.fit, np.random.default_rng(0))


@pytest.mark.slow
def test_truth_of_a_log_changes_no_estimate(quick_study) -> None:
    whole, folder = quick_study
    log = load_log(folder / "log.h5")
    true = log.truth
    shifted = Truth(true.q + 1.0, true.dq + 1.0, true.ddq - 1.0, 2.0 * true.tau)
    results = [
        identified(changed, whole.nominal, whole.setup)
        for changed in (log, replace(log, truth=None), replace(log, truth=shifted))
    ]
    for other in results[1:]:
        assert (other.chosen.beta == results[0].chosen.beta).all()
        assert (
            other.consistent_robot.robot.parameters()
            == results[0].consistent_robot.robot.parameters()
        ).all()


@pytest.mark.slow
def test_plant_changes_no_setup_when_the_nominal_is_given(quick_irb140) -> None:
    _, folder = quick_irb140
    plant = Robot.from_urdf(urdf_path("irb140"))
    overrides = {"nominal": {"file": str(folder / "nominal.urdf")}, "control": NO_CONTROL}
    config = load_config(None, overrides).quick()
    log = load_log(folder / "log.h5")
    other = plant.with_payload(3.0).with_parameters(1.3 * plant.parameters())
    setups = [build_setup(robot, config) for robot in (plant, other)]
    first, second = (identified(log, setup.nominal, setup) for setup in setups)
    assert (first.chosen.beta == second.chosen.beta).all()
    assert (
        first.consistent_robot.robot.parameters() == second.consistent_robot.robot.parameters()
    ).all()


def without_clocks(folder) -> dict:
    content = json.loads((folder / "result.json").read_text())
    del content["timings"]
    for estimate in content["estimates"]:
        del estimate["seconds"]
    return content


@pytest.mark.slow
def test_same_seed_gives_the_same_bits_in_another_process(tmp_path) -> None:
    arm, folder = urdf_path("2r"), tmp_path / "here"
    (tmp_path / "short.toml").write_text(SHORT)
    study(arm, load_config(tmp_path / "short.toml").quick(), folder)
    words = ("run", str(arm), "--config", "short.toml", "--quick", "--out", "out")
    command = [sys.executable, "-m", "robotid_sim", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=300, check=False)
    assert done.returncode in (0, 1)  # so short a study need not pass
    assert without_clocks(tmp_path / "out") == without_clocks(folder)
    for name in ("log.h5", "identified.urdf", "nominal.urdf", "trajectory.json"):
        assert (tmp_path / "out" / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", ROBOTS)
def test_default_study_passes_on_every_robot(name, tmp_path) -> None:
    """That of irb140 is run for every change, too: tests/cli/test_printed_run.py."""
    result = study(urdf_path(name), load_config(None), tmp_path).result
    assert result.verdict.passed, result.verdict
    if name in ("irb140", "iiwa"):
        assert check(result, "model_predicts_validation_motion").value <= 0.0015
    if name == "irb140":  # it pays little for consistency
        by_name = {e.estimator: e for e in result.estimates}
        consistent, free = by_name["consistent"], by_name["wls"]
        assert 1.0 - 1e-9 <= consistent.fitness_over_ls <= 1.02
        ours, theirs = (
            np.array(e.validation.model_error_relative, dtype=float) for e in (consistent, free)
        )
        assert (ours <= 1.1 * theirs).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", sampled(FURTHER))
def test_default_study_passes_on_arms_of_others(name, tmp_path) -> None:
    config = load_config(None, {"robot": {"repair": True}})
    result = study(urdf_path(name), config, tmp_path).result
    assert result.verdict.passed, result.verdict


SENSED: dict[str, dict[str, float]] = {"encoder-noise": {}, "torque-noise": {}}
DELAYED = {**SENSED, "torque-delay": {"delay": 0.005}}

BREAKERS = {
    "delayed torque": (  # the adaptive preprocessor would take the delay off
        {"sensors": DELAYED, "preprocess": {"name": "rts"}},
        {"residual_matches_noise", "no_fault_found"},
    ),
    "friction that the model lacks": (
        {"experiment": {"friction": {"law": "stribeck"}}},
        {"no_fault_found"},
    ),
    "many lost samples": (
        {"sensors": {**SENSED, "dropped-samples": {"probability": 0.05}}},
        {"no_fault_found"},
    ),
    "tiny excitation": ({"design": {"amplitude": 0.003}}, {"all_base_parameters_excited"}),
    "low torque limit": (
        {"design": {"torque_ratio": 2.0}, "robot": {"joints": {"elbow": {"effort": 6.0}}}},
        {"no_torque_saturation"},
    ),
    "soft loop": ({"experiment": {"kp": 1.0, "kd": 0.5}}, {"motion_within_limits"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("cause", BREAKERS)
def test_each_check_of_the_verdict_can_fail(cause, tmp_path) -> None:
    overrides, names = BREAKERS[cause]
    overrides = {**overrides, "control": NO_CONTROL}
    result = study(urdf_path("2r"), load_config(None, overrides).quick(), tmp_path).result
    assert names <= {each.name for each in result.verdict.checks if not each.passed}
    assert not result.verdict.passed


@pytest.mark.slow
def test_what_the_preprocessor_mends_does_not_fail_the_verdict(tmp_path) -> None:
    dropped = {"dropped-samples": {"probability": 0.015}, "outliers": {}}
    config = load_config(None, {"sensors": {**DELAYED, **dropped}, "control": NO_CONTROL}).quick()
    whole = study(urdf_path("2r"), config, tmp_path)
    assert {"torque-delay", "lost-samples"} <= {cause.kind for cause in whole.diagnosis.causes}
    assert check(whole.result, "no_fault_found").passed, whole.diagnosis.causes


@pytest.mark.slow
@pytest.mark.parametrize("eps", ["fixed", "estimate"])
def test_a_wrong_transition_velocity_fails_unless_the_log_decides_it(tmp_path, eps) -> None:
    plant = Robot.from_urdf(urdf_path("2r"))
    nominal = tmp_path / "nominal.urdf"
    write_urdf(build_nominal(plant, load_config(None)), nominal)
    text = nominal.read_text()
    assert text.count('eps="0.03"') == 2
    nominal.write_text(text.replace('eps="0.03"', 'eps="0.15"'))
    overrides = {
        "nominal": {"file": str(nominal)},
        "control": NO_CONTROL,
        "estimation": {"eps": eps},
    }
    whole = study(urdf_path("2r"), load_config(None, overrides).quick(), tmp_path / "out")
    result, decided = whole.result, eps == "estimate"
    assert check(result, "model_predicts_validation_motion").passed == decided
    residual = check(result, "residual_matches_noise")
    assert residual.passed == decided
    assert ("transition velocity (eps) of" in residual.message) == (not decided)
    np.testing.assert_array_equal(whole.fit.consistent_robot.robot.eps, whole.fit.nominal.eps)


SAMPLES = 6000


@pytest.fixture(scope="module")
def run(experiment, arm):
    return experiment(arm)


@pytest.fixture(scope="module")
def log(run):
    """Return six seconds of the arm in the engine, measured."""
    sensors = [SENSORS.build("encoder-noise"), SENSORS.build("torque-noise", relative=0.01)]
    begin = int((run.log.t < 0.0).sum())
    part = run.log.cut(slice(begin, begin + SAMPLES))
    return replace(measure(part, sensors, np.random.default_rng(0)), truth=None)


@pytest.fixture
def plan():
    return build_fit(load_config(None, {}))


@pytest.mark.parametrize(
    "name",
    [
        "input-error",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("output-error", "extended-kalman")),
    ],
)
def test_a_log_of_the_engine_is_identified_by_simulation(run, log, plan, name):
    chosen = replace(plan, estimators={name: ESTIMATORS.build(name)}, chosen=name)
    fit = fit_logs(log, run.nominal, run.basis, chosen, np.random.default_rng(0))
    assert fit.chosen.success, fit.chosen.message
    assert fit.chosen.message == ""
    true = run.basis.project(run.plant.parameters())
    assert confidence_intervals(fit.problem, fit.chosen).covers(true).mean() > 0.8
    assert not fit.warning


def test_estimators_that_do_not_ask_get_no_recordings(run, log, plan):
    chosen = replace(plan, estimators={"wls": ESTIMATORS.build("wls")}, chosen="wls")
    fit = fit_logs(log, run.nominal, run.basis, chosen, np.random.default_rng(0))
    assert fit.problem.recordings == ()


@pytest.mark.parametrize(
    ("offset", "moved", "lead"), [(0.0, 0, 0.5), (0.4, 0, 0.1), (1.3, 1, 0.2), (-0.4, -1, -0.1)]
)
def test_torques_stand_by_the_position_at_which_their_step_begins(run, log, offset, moved, lead):
    late = replace(log, torque_time_offset=offset * log.dt)
    smoother = RtsSmoother(corners=(20.0,) * log.dof)
    motion = smoother(late, run.nominal)
    recording = make_recording(late, smoother, motion, run.nominal)
    assert recording.lead == pytest.approx(lead * log.dt, abs=1e-9)
    first = motion.row_filter.first
    np.testing.assert_array_equal(recording.q, log.q[motion.row_filter.sample_slice])
    np.testing.assert_array_equal(recording.tau[0], log.tau_meas[first - moved])


def test_times_of_the_torques_that_are_not_even_are_met(run, log):
    shifted = replace(log, torque_times=log.t + 0.5 * log.dt)
    smoother = RtsSmoother(corners=(20.0,) * log.dof)
    motion = smoother(shifted, run.nominal)
    recording = make_recording(
        replace(shifted, torque_time_offset=0.0), smoother, motion, run.nominal
    )
    assert recording.lead == 0.0
    np.testing.assert_allclose(recording.tau, log.tau_meas[motion.row_filter.sample_slice])


def test_faults_are_not_sound_and_a_joint_without_torque_is_not_simulated(run, log, plan):
    q = log.q.copy()
    q[3000, 0] += 0.5
    spiked = replace(log, q=q)
    tuned = Adaptive().tune(spiked, run.nominal)
    motion = tuned(spiked, run.nominal)
    recording = make_recording(spiked, tuned, motion, run.nominal)
    at = 3000 - motion.row_filter.first
    assert not recording.valid[at, 0]
    assert recording.valid.mean() > 0.99
    tau = log.tau_meas.copy()
    tau[:, 1] = 0.0
    chosen = replace(plan, estimators={"oe": ESTIMATORS.build("output-error")}, chosen="oe")
    blind = replace(log, tau_meas=tau)
    fit = fit_logs(blind, run.nominal, run.basis, chosen, np.random.default_rng(0))
    assert fit.problem.recordings == ()
