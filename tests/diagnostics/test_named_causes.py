"""Causes by name: every damage of a log, and fault of the plant behind it, with its joint."""

import re
from dataclasses import replace

import numpy as np
import pytest
from damages import damages
from measured import measured
from robots import example_path, urdf_path

from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.diagnostics.accepted_cause import AcceptedCause
from robotid_sim.diagnostics.cause import Cause
from robotid_sim.diagnostics.contradictions import contradictions
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.diagnostics.nominal_prior import MarginalLikelihood
from robotid_sim.diagnostics.recording_causes import (
    estimate_noise,
    find_clipped_torques,
    find_frozen_positions,
    find_recording_causes,
    list_coarse_positions,
    replace_by_backlash,
)
from robotid_sim.diagnostics.search import search_causes, select_candidate
from robotid_sim.diagnostics.torque_causes import torque_causes
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import LogError
from robotid_sim.excitation.design import random_feasible
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.experiment.rollout import Cell
from robotid_sim.measurement import SENSORS
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model import parameters
from robotid_sim.model.catalog import load_robot
from robotid_sim.model.plant_drives import Backlash, Elastic
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.config import load_config
from robotid_sim.pipeline.simulate import run_experiment
from robotid_sim.preprocess.faults import find_faults
from robotid_sim.preprocess.rts import RtsSmoother

J = 2
"""The joint of the faults, the third one."""


def rms(x):
    return np.sqrt((x**2).mean())


def named(cell, log, basis=None):
    """Return kinds and joints of a diagnosis."""
    result = diagnose(log, cell.nominal, basis or cell.basis)
    return {(cause.kind, cause.joints) for cause in result.causes}


def torque(cell, change):
    tau = np.array(cell.log.tau_meas)
    tau[:, J] = change(tau[:, J])
    return cell.changed(tau_meas=tau)


def evidence_of(cell, *, torque_scale):
    """Return the rows of a log whose torques are wrong by factors, one a joint."""
    log = cell.changed(tau_meas=cell.log.tau_meas * np.array(torque_scale))
    return Evidence.from_motion(RtsSmoother()(log, cell.nominal), cell.nominal, cell.basis)


def position(cell, change):
    q = np.array(cell.log.q)
    q[:, J] = change(q[:, J])
    return cell.changed(q=q)


def test_nothing_speaks_against_a_sound_log(cell, small_cell):
    for one in (cell, small_cell):
        assert diagnose(one.log, one.nominal, one.basis).is_healthy


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("torque-scale", lambda x: 1.3 * x),
        ("torque-offset", lambda x: x + 0.1 * rms(x)),
        ("torque-drift", lambda x: x + 0.3 * rms(x) * np.linspace(0.0, 1.0, x.size)),
    ],
)
def test_a_fault_of_a_torque_is_named_with_its_joint(cell, kind, change):
    assert named(cell, torque(cell, change)) == {(kind, (cell.log.joint_names[J],))}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("position-zero", lambda x: x + 0.1),
        ("position-scale", lambda x: 1.1 * x),
        ("position-units", np.degrees),
    ],
)
def test_a_fault_of_a_position_is_named_with_its_joint(cell, kind, change):
    assert (kind, (cell.log.joint_names[J],)) in named(cell, position(cell, change))


@pytest.mark.slow
def test_a_delay_of_all_joints_is_named_without_one(cell):
    tau = cell.log.tau_meas
    late = np.vstack([tau[:2], tau[:-2]])
    assert named(cell, cell.changed(tau_meas=late)) == {("torque-delay", ())}
    assert named(cell, cell.changed(tau_meas=np.roll(tau, -25, axis=0))) == {("torque-delay", ())}


@pytest.mark.parametrize(("joint", "factor"), [(0, 0.982), (1, 0.982), (2, 1.018)])
def test_what_is_not_worth_a_word_explains_what_others_would_be_taken_for(cell, joint, factor):
    scale = np.where(np.arange(cell.log.dof) == joint, factor, 1.0)
    causes, evidence = search_causes(evidence_of(cell, torque_scale=scale))
    assert causes == []
    if joint > 0:  # gravity does not load the first joint: few blocks show its scale
        corrected = evidence.correction.torque[joint, joint]
        np.testing.assert_allclose(corrected, 1.0 / factor, atol=2e-3)


def test_a_tie_is_the_likelier_ones_and_the_nominal_model_tells_torque_constants_apart(small_cell):
    evidence = evidence_of(small_cell, torque_scale=(0.9, 1.0))
    fit = evidence.sum_by_block().fit(np.arange(evidence.width))
    scales = [c for c in torque_causes(evidence, fit) if c.kind == "torque-scale"]
    coupling = replace(scales[0], kind="coupled-joints", partner=1, correct=None)
    values = (np.array([-0.1]), np.array([0.1]))
    gains = np.full(8, 20.0)
    none = (np.ones(2), np.ones(2))
    rivals = [AcceptedCause(c, v, gains, none) for c, v in zip(scales, values, strict=True)]
    less = AcceptedCause(coupling, values[0], 0.9 * gains, none)
    for order in ([less, *rivals], [*rivals[::-1], less]):
        assert select_candidate(evidence, order) is rivals[0]
    more = replace(less, gains=1.1 * gains)
    assert select_candidate(evidence, [*rivals, more]) is more


def test_a_delay_is_measured(cell):
    tau = cell.log.tau_meas
    log = cell.changed(tau_meas=np.vstack([tau[:2], tau[:-2]]))
    (cause,) = diagnose(log, cell.nominal, cell.basis).causes
    late = re.search(r"is ([\d.]+) ms late", cause.finding)
    assert late is not None
    assert float(late[1]) == pytest.approx(8.0, abs=0.1)  # two samples of 4 ms


@pytest.mark.slow
def test_columns_in_a_wrong_place_are_named(cell):
    shifted = np.roll(cell.log.tau_meas, 1, axis=1)
    found = named(cell, cell.changed(tau_meas=shifted))
    assert ("torque-columns", cell.log.joint_names) in found


def friction(cell, shape):
    """Return the log of a plant with further friction on one joint."""
    tau = joint_torque(cell.plant, *cell.state)
    phi = cell.plant.parameters()
    for j in range(cell.plant.dof):
        phi[parameters.joint_slice(j, cell.plant.dof)] = 0.0
    load = joint_torque(cell.plant.with_parameters(phi), *cell.state)[:, J]
    dq, law = cell.state[1][:, J], cell.plant.joints[J].friction
    tau[:, J] += shape(dq, np.tanh(dq / law.eps), law.Fc, load)
    return cell.of(tau)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        ("stribeck", lambda dq, s, Fc, load: 0.6 * Fc * np.exp(-((dq / 0.15) ** 2)) * s),
        ("asymmetric-friction", lambda dq, s, Fc, load: 0.3 * Fc * (abs(s) + abs(dq))),
        ("load-dependent-friction", lambda dq, s, Fc, load: 0.1 * abs(load) * s),
    ],
)
def test_another_shape_of_friction_is_named_with_its_joint(cell, kind, shape):
    assert named(cell, friction(cell, shape)) == {(kind, (cell.log.joint_names[J],))}


@pytest.mark.slow
def test_friction_and_rotors_that_the_model_lacks_are_named(cell):
    names = cell.log.joint_names
    lacking = {
        kind
        for kind, joints in named(cell, cell.log, base_parameters(cell.nominal, ("Fv", "Fc")))
        if joints and set(joints) <= set(names)
    }
    assert lacking == {"rotor-inertia"}
    bare = base_parameters(cell.nominal, ("Ia",))
    found = named(cell, cell.log, bare)
    assert {("missing-Fc", (name,)) for name in names} <= found


def test_a_tilted_base_is_named_with_its_gravity(cell):
    down = np.array([0.06, 0.05, -1.0])
    gravity = 9.80665 * down / np.linalg.norm(down)
    log = cell.of(joint_torque(replace(cell.plant, gravity=gravity), *cell.state))
    (cause,) = diagnose(log, cell.nominal, cell.basis).causes
    assert (cause.kind, cause.joints) == ("gravity", ())
    given = cause.remedy.partition("[")[2].partition("]")[0]
    np.testing.assert_allclose([float(x) for x in given.split(",")], gravity, atol=0.05)


def test_a_load_that_the_nominal_model_lacks_is_named(cell):
    loaded = cell.plant.with_payload(4.0, (0.0, 0.05, 0.1))
    log = cell.of(joint_torque(loaded, *cell.state))
    assert named(cell, log) == {("unmodeled-payload", cell.log.joint_names[-1:])}
    assert named(cell, log) != named(replace(cell, nominal=loaded), log)


@pytest.mark.slow
def test_two_faults_are_both_named(cell):
    tau = np.array(cell.log.tau_meas)
    tau[:, 1] += 0.1 * rms(tau[:, 1])
    log = cell.changed(tau_meas=np.vstack([tau[:2], tau[:-2]]))
    names = cell.log.joint_names
    assert named(cell, log) == {("torque-delay", ()), ("torque-offset", names[1:2])}


def test_a_joint_that_stands_still_is_unexcited(small_cell):
    q, dq, ddq = (np.array(part) for part in small_cell.state)
    q[:, 1], dq[:, 1], ddq[:, 1] = 0.4, 0.0, 0.0
    still = replace(small_cell, state=(q, dq, ddq))
    log = still.of(joint_torque(still.plant, q, dq, ddq))
    assert ("not-excited", small_cell.log.joint_names[1:]) in named(small_cell, log)


def test_same_log_same_words_and_the_truth_does_not_matter(small_cell):
    tau = np.array(small_cell.log.tau_meas)
    tau[:, 0] += 0.2 * rms(tau[:, 0])
    log = small_cell.changed(tau_meas=tau)
    first, second = (diagnose(log, small_cell.nominal, small_cell.basis) for _ in range(2))
    assert first == second
    assert first.content()["causes"][0]["kind"] == "torque-offset"


def test_a_scale_that_no_other_joint_shows_is_said_to_be_unseen(cell, small_cell):
    """The wrist of an arm carries next to nothing of what other joints carry."""
    (sentence,) = diagnose(cell.log, cell.nominal, cell.basis).not_detectable
    assert cell.log.joint_names[-1] in sentence
    assert small_cell.log.joint_names[0] not in "".join(
        diagnose(small_cell.log, small_cell.nominal, small_cell.basis).not_detectable
    )


def test_a_short_log_is_refused(small_cell):
    log = small_cell.log
    short = replace(log, t=log.t[:1000], q=log.q[:1000], tau_meas=log.tau_meas[:1000], period=None)
    with pytest.raises(LogError, match="rows are too few"):
        diagnose(short, small_cell.nominal, small_cell.basis)


@pytest.mark.slow
def test_lost_samples_and_a_fault_of_the_torque_are_both_named(cell):
    faulty = torque(cell, lambda x: x + 0.1 * rms(x))
    log = SENSORS.build("dropped-samples", probability=0.05)(faulty, np.random.default_rng(0))
    names = cell.log.joint_names
    assert named(cell, log) == {("lost-samples", ()), ("torque-offset", (names[J],))}


@pytest.mark.parametrize("factor", [1e-4, 1e4])
def test_a_joint_without_torque_says_nothing_of_the_scale_of_another(small_cell, factor):
    gains = []
    for absent in ((), (1,)):
        tau = np.array(small_cell.log.tau_meas)
        tau[:, absent] = 0.0
        log = small_cell.changed(tau_meas=tau)
        basis = base_parameters(small_cell.nominal, measured=log.torque_measured)
        motion = RtsSmoother()(log, small_cell.nominal)
        evidence = Evidence.from_motion(motion, small_cell.nominal, basis)
        rough = evidence.add_friction().skip_low_pass()
        plausibility = MarginalLikelihood.from_evidence(rough)
        scaled = replace(Correction.none(2), torque=np.diag([factor, 1.0]))
        gains.append(plausibility(rough.apply_correction(scaled)) - plausibility(rough))
    assert max(gains) < 0.0


DAMAGES = damages(6, 2, (1, 2))
NAMES = [damage.name for damage in DAMAGES]


@pytest.mark.parametrize("name", NAMES)
def test_a_damage_is_named_with_its_joint(cell, name):
    damage = DAMAGES[NAMES.index(name)]
    result = diagnose(damage.change(cell.log), cell.nominal, cell.basis)
    joints = tuple(cell.log.joint_names[j] for j in damage.joints)
    # Those without a gain are of single samples: steps of friction where they do not belong.
    modeled = {(cause.kind, cause.joints) for cause in result.causes if cause.gain is not None}
    assert modeled == {(damage.kind, joints)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [(0, 1), (1, 2, 5), (0, 2, 4), (0, 1, 2), (3, 4), (0, 1, 2, 4), (1, 2, 3, 4, 5)]
)
def test_several_wrong_signs_are_those_and_no_other(cell, wrong):
    signs = np.where(np.isin(range(6), wrong), -1.0, 1.0)
    log = replace(cell.log, tau_meas=cell.log.tau_meas * signs)
    causes = diagnose(log, cell.nominal, cell.basis).causes
    assert {cause.kind for cause in causes} == {"torque-sign"}
    assert sorted(j for cause in causes for j in cause.joints) == [
        cell.log.joint_names[j] for j in wrong
    ]
    errors, _ = contradictions(log, cell.nominal, cell.basis)
    named = {name for e in errors for name in cell.log.joint_names if name in e.split(":")[0]}
    assert named <= {cell.log.joint_names[j] for j in wrong}


def test_a_sound_log_of_an_arm_with_rounded_right_angles_has_no_gross_error():
    cell = measured(Robot.from_urdf(example_path("so_arm_description/urdf/so100.urdf")))
    assert diagnose(cell.log, cell.nominal, cell.basis).is_healthy


def test_torques_in_newton_millimeters_are_said_to_be(cell):
    (cause,) = diagnose(
        DAMAGES[NAMES.index("N mm")].change(cell.log), cell.nominal, cell.basis
    ).causes
    assert (cause.sentence, cause.remedy) == (
        "All measured torques are in N mm.",
        "multiply their columns by 0.001",
    )


CASES = {
    "sound": (None, None),
    "elastic": (Elastic(stiffness=(2e3,), joints=("shoulder",)), ("elastic-joint", "shoulder")),
    "backlash": (Backlash(play=1e-2, joints=("shoulder",)), ("backlash", "shoulder")),
}


@pytest.fixture(scope="module")
def robot():
    arm = Robot.from_urdf(urdf_path("2r"))
    pairs = zip(arm.joints, (0.3, 0.1), strict=True)
    return replace(arm, joints=tuple(replace(joint, rotor_inertia=Ia) for joint, Ia in pairs))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_named_with_its_joint(robot, case):
    drive, wanted = CASES[case]
    options = FourierOptions(period=10.0, periods=2, amplitude=0.6)
    path = random_feasible(robot, np.random.default_rng(0), options)
    sensors = build_sensors(load_config(None))
    cell = Cell(plant=robot, controller=ComputedTorque(robot), drive=drive, sensors=sensors)
    log = run_experiment(cell, path, np.random.default_rng(0))
    found = diagnose(replace(log, truth=None), robot, base_parameters(robot))
    assert [(cause.kind, *cause.joints) for cause in found.causes] == [wanted] * (drive is not None)
    if case == "elastic":
        twist = np.abs(log.truth.q - log.truth.link_q)[:, 0].max()
        said = float(found.causes[0].finding.split(", by ")[1].split(" rad")[0])
        assert said == pytest.approx(twist, rel=0.1)


@pytest.mark.parametrize(
    ("joint", "play"),
    [
        pytest.param("joint_1", 1e-2, marks=pytest.mark.slow),
        pytest.param("joint_2", 1e-2, marks=pytest.mark.slow),
        pytest.param("joint_3", 5e-3, marks=pytest.mark.slow),
    ],
)
def test_backlash_is_named_where_it_strikes_other_joints_and_rattles(joint, play):
    arm = load_robot("irb140")
    rotors = (9.0, 9.0, 2.0, 0.1, 0.08, 0.03)
    pairs = zip(arm.joints, rotors, strict=True)
    arm = replace(arm, joints=tuple(replace(joint, rotor_inertia=Ia) for joint, Ia in pairs))
    path = random_feasible(arm, np.random.default_rng(0), FourierOptions(period=10.0, periods=2))
    sensors = build_sensors(load_config(None))
    law, drive = ComputedTorque(arm, 2500.0, 100.0), Backlash(play=play, joints=(joint,))
    cell = Cell(plant=arm, controller=law, drive=drive, sensors=sensors)
    log = run_experiment(cell, path, np.random.default_rng(0))
    found = diagnose(replace(log, truth=None), arm, base_parameters(arm))
    assert ("backlash", (joint,)) in [(cause.kind, cause.joints) for cause in found.causes]


def outlier(joint):
    return Cause("torque-outliers", (joint,), "", "", "")


def motion_of(robot, seconds=20.0):
    t = np.arange(0.0, seconds, 0.01)
    q = np.stack([1.2 * np.sin(t), 0.9 * np.sin(1.7 * t)], axis=1)
    dq, ddq = np.gradient(q, 0.01, axis=0), np.zeros_like(q)
    return Motion(joint_names=robot.joint_names, t=t, q=q, dq=dq, ddq=ddq, tau=np.ones_like(q))


def test_outliers_at_any_time_stay_outliers(robot):
    motion = motion_of(robot)
    marks = np.random.default_rng(0).random(motion.q.shape) < 0.02
    causes = (outlier("shoulder"), outlier("elbow"))
    assert replace_by_backlash(causes, marks, motion, robot) == causes


def test_without_outliers_nothing_is_named(robot):
    motion = motion_of(robot)
    assert replace_by_backlash((), np.zeros(motion.q.shape, dtype=bool), motion, robot) == ()


def kinds(log):
    causes = find_recording_causes(log, find_faults(log)).causes
    return {(cause.kind, cause.joints) for cause in causes}


def test_a_sound_log_shows_nothing(cell, small_cell):
    for one in (cell, small_cell):
        assert kinds(one.log) == set()
        assert not find_recording_causes(one.log, find_faults(one.log)).untrusted.any()


@pytest.mark.parametrize("share", [0.01, 0.2])
def test_lost_samples(cell, share):
    lost = SENSORS.build("dropped-samples", probability=share)
    assert kinds(lost(cell.log, np.random.default_rng(0))) == {("lost-samples", ())}


def test_a_clipped_torque_has_its_joint_and_its_samples(cell):
    tau = np.array(cell.log.tau_meas)
    limit = np.quantile(tau[:, 1], 0.95)
    tau[:, 1] = np.minimum(tau[:, 1], limit)
    log = cell.changed(tau_meas=tau)
    assert kinds(log) == {("torque-clipped", cell.log.joint_names[1:2])}
    np.testing.assert_array_equal(find_clipped_torques(tau)[:, 1], tau[:, 1] == limit)


def test_a_coarse_torque_is_not_clipped(cell):
    tau = cell.log.tau_meas
    assert not find_clipped_torques(np.round(tau / np.ptp(tau, axis=0), 2)).any()


def test_outliers_of_either_channel(cell):
    rng = np.random.default_rng(0)
    hit = rng.random(cell.log.t.size) < 2e-3
    tau, q = np.array(cell.log.tau_meas), np.array(cell.log.q)
    tau[hit, 3] += 5.0 * tau[:, 3].std()
    q[hit, 4] += 0.1
    found = kinds(cell.changed(tau_meas=tau, q=q))
    names = cell.log.joint_names
    assert found == {("torque-outliers", names[3:4]), ("position-outliers", names[4:5])}


def test_a_frozen_encoder_is_told_from_a_joint_at_rest(cell):
    q = np.array(cell.log.q)
    speed = np.abs(cell.state[1][:, 2])
    begin = int(speed[:-200].argmax()) - 25
    q[begin : begin + 50, 2] = q[begin, 2]
    frozen = find_frozen_positions(q)
    assert frozen[begin : begin + 50, 2].all()
    assert frozen.sum() <= 51
    assert ("encoder-frozen", cell.log.joint_names[2:3]) in kinds(cell.changed(q=q))
    resting = np.array(cell.log.q)
    resting[-50:, 2] = resting[-50, 2]
    assert not find_frozen_positions(resting).any()


@pytest.mark.parametrize("channel", ["q", "tau_meas"])
def test_one_noisy_sensor_is_named_and_equal_ones_are_not(cell, channel):
    rng, clean = np.random.default_rng(0), getattr(cell.log, channel)
    noise = {"q": 2e-3, "tau_meas": 0.4 * clean.std(axis=0)}[channel]
    noise = noise * rng.standard_normal(clean.shape)
    only = np.zeros_like(noise)
    only[:, 1] = noise[:, 1]
    kind = {"q": "position-noise", "tau_meas": "torque-noise"}[channel]
    assert kinds(cell.changed(**{channel: clean + only})) == {(kind, cell.log.joint_names[1:2])}
    assert kinds(cell.changed(**{channel: clean + noise})) == set()


def test_a_coarse_encoder_is_noisy(cell):
    q = np.array(cell.log.q)
    q[:, 0] = np.round(q[:, 0] / 5e-3) * 5e-3
    assert ("position-noise", cell.log.joint_names[:1]) in kinds(cell.changed(q=q))


def test_sample_noise_is_that_of_white_noise():
    rng = np.random.default_rng(0)
    t = np.linspace(0.0, 20.0, 20_000)[:, None]
    x = np.sin(t) + [1e-3, 2e-2] * rng.standard_normal((t.size, 2))
    np.testing.assert_allclose(estimate_noise(x), [1e-3, 2e-2], rtol=0.03)  # 20,000 samples: 1 %


@pytest.mark.parametrize(("step", "named"), [(0.0, ()), (5e-4, ()), (5e-3, ("slow",))])
def test_a_position_is_too_coarse_for_a_slow_motion(irb140, step, named):
    t = np.arange(0.0, 20.0, 0.004)
    phases = 2.0 * np.pi * np.array([0.1, 0.8, 0.0]) * t[:, None]
    exact = np.sin(phases) + 1e-5 * np.random.default_rng(0).standard_normal(phases.shape)
    q = np.round(exact / step) * step if step else exact
    names, units = ("slow", "fast", "still"), ("rad", "rad", "rad")
    log = Log(t, q, np.ones_like(q), joint_names=names, joint_units=units)
    smoother = RtsSmoother(corners=(8.0, 8.0, 8.0))
    found = list_coarse_positions(log, smoother(log, irb140).ddq, smoother.corners)
    assert tuple(joint for cause in found for joint in cause.joints) == named


def test_nothing_else_is_told_of_a_joint_that_is_too_coarse(irb140, cell):
    base = base_parameters(irb140)
    rows = slice(None, None, 4)
    log = replace(
        cell.log, t=cell.log.t[rows], q=cell.log.q[rows], tau_meas=cell.log.tau_meas[rows]
    )
    log = replace(log, dq=None, tau_cmd=None, truth=None, q=np.round(log.q / 0.05) * 0.05)
    causes = [c for c in diagnose(log, irb140, base).causes if c.joints]
    assert {c.kind for c in causes} == {"position-noise"}


def eccentric(log):
    return log.q[:, J] + 3e-3 * np.sin(log.q[:, J] + 0.7)


def skipped(log):
    return log.q[:, J] + 8e-3 * (log.t > log.t[0] + 0.55 * np.ptp(log.t))


def lagging(log):
    """Return the position of an encoder that follows with a play of 10 mrad."""
    follows = np.empty_like(log.q[:, J])
    at = log.q[0, J]
    for k, q in enumerate(log.q[:, J]):
        at = np.clip(at, q - 5e-3, q + 5e-3)
        follows[k] = at
    return follows


@pytest.mark.parametrize(
    ("kind", "fault"),
    [("eccentricity", eccentric), ("position-step", skipped), ("hysteresis", lagging)],
)
def test_an_encoder_that_errs_is_named_with_its_joint(cell, kind, fault):
    q = np.array(cell.log.q)
    q[:, J] = fault(cell.log)
    log = cell.changed(q=q)
    assert (kind, (log.joint_names[J],)) in named(cell, log)


def test_gravity_of_another_strength_is_named(cell):
    strong = replace(cell.nominal, gravity=1.03 * cell.nominal.gravity)
    found = diagnose(cell.log, strong, cell.basis).causes
    assert [cause.kind for cause in found] == ["clock-rate"]


@pytest.mark.parametrize("slow", [0.7, 0.98, 2.0])
def test_a_clock_of_another_rate_is_named_first_with_its_rate(cell, slow):
    """Torques of inertia grow with the square of the clock, those of bodies do not."""
    log = cell.log
    log = replace(
        log,
        t=slow * log.t,
        torque_time_offset=slow * log.torque_time_offset,
        period=None if log.period is None else slow * log.period,
    )
    cause = diagnose(log, cell.nominal, cell.basis).causes[0]
    assert cause.kind == "clock-rate"
    factor = float(re.search(r"multiply them by ([\d.]+)", cause.remedy)[1])
    assert factor == pytest.approx(1.0 / slow, rel=0.01)


def test_wrong_stamps_are_named_instead_of_outliers_of_all_joints(cell):
    rows = np.arange(300, cell.log.t.size, 150)
    q = cell.log.q.copy()
    q[rows] += 0.004 * cell.state[1][rows]  # taken 4 ms later than stamped
    causes = diagnose(cell.changed(q=q), cell.nominal, cell.basis).causes
    assert "position-outliers" not in {cause.kind for cause in causes}
