"""Causes by name: every fault of a log, and of the plant behind it, with its joint."""

import re
from dataclasses import replace

import numpy as np
import pytest

from robotid_sim.diagnostics.accepted import Accepted
from robotid_sim.diagnostics.diagnosis import diagnose
from robotid_sim.diagnostics.evidence import Correction, Evidence
from robotid_sim.diagnostics.informed import Plausibility
from robotid_sim.diagnostics.search import preferred, search
from robotid_sim.diagnostics.torque_causes import torque_causes
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque
from robotid_sim.errors import LogError
from robotid_sim.measurement import SENSORS
from robotid_sim.model import parameters
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
    return Evidence.of(RtsSmoother()(log, cell.nominal), cell.nominal, cell.basis)


def position(cell, change):
    q = np.array(cell.log.q)
    q[:, J] = change(q[:, J])
    return cell.changed(q=q)


def test_nothing_speaks_against_a_sound_log(cell, small_cell):
    for one in (cell, small_cell):
        assert diagnose(one.log, one.nominal, one.basis).healthy


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("torque-sign", lambda x: -x),
        ("torque-scale", lambda x: 1.3 * x),
        ("torque-scale", lambda x: 0.01 * x),
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
        ("position-sign", lambda x: -x),
        ("position-zero", lambda x: x + 0.1),
        ("position-zero", lambda x: x + 0.5 * np.pi),
        ("position-scale", lambda x: 1.1 * x),
        ("position-units", np.degrees),
    ],
)
def test_a_fault_of_a_position_is_named_with_its_joint(cell, kind, change):
    assert (kind, (cell.log.joint_names[J],)) in named(cell, position(cell, change))


@pytest.mark.slow
def test_faults_of_all_joints_are_named_without_one(cell):
    tau = cell.log.tau_meas
    late = np.vstack([tau[:2], tau[:-2]])
    assert named(cell, cell.changed(tau_meas=late)) == {("torque-delay", ())}
    assert named(cell, cell.changed(tau_meas=np.roll(tau, -25, axis=0))) == {("torque-delay", ())}
    assert named(cell, cell.changed(tau_meas=-tau)) == {("torque-sign", ())}
    assert named(cell, cell.changed(tau_meas=1000.0 * tau)) == {("torque-scale", ())}
    assert ("position-units", ()) in named(cell, cell.changed(q=np.degrees(cell.log.q)))


@pytest.mark.parametrize(("joint", "factor"), [(0, 0.982), (1, 0.982), (2, 1.018)])
def test_what_is_not_worth_a_word_explains_what_others_would_be_taken_for(cell, joint, factor):
    scale = np.where(np.arange(cell.log.dof) == joint, factor, 1.0)
    causes, evidence = search(evidence_of(cell, torque_scale=scale))
    assert causes == []
    if joint > 0:  # gravity does not load the first joint: few blocks show its scale
        corrected = evidence.correction.torque[joint, joint]
        np.testing.assert_allclose(corrected, 1.0 / factor, atol=2e-3)


def test_a_tie_is_the_likelier_ones_and_the_nominal_model_tells_torque_constants_apart(small_cell):
    evidence = evidence_of(small_cell, torque_scale=(0.9, 1.0))
    fit = evidence.held_out().fit(np.arange(evidence.plain))
    scales = [c for c in torque_causes(evidence, fit) if c.kind == "torque-scale"]
    coupling = replace(scales[0], kind="coupled-joints", partner=1, corrected=None)
    values = (np.array([-0.1]), np.array([0.1]))
    gains = np.full(8, 20.0)
    none = (np.ones(2), np.ones(2))
    rivals = [Accepted(c, v, gains, none) for c, v in zip(scales, values, strict=True)]
    less = Accepted(coupling, values[0], 0.9 * gains, none)
    for order in ([less, *rivals], [*rivals[::-1], less]):
        assert preferred(evidence, order) is rivals[0]
    more = replace(less, gains=1.1 * gains)
    assert preferred(evidence, [*rivals, more]) is more


def test_a_delay_is_measured(cell):
    tau = cell.log.tau_meas
    log = cell.changed(tau_meas=np.vstack([tau[:2], tau[:-2]]))
    (cause,) = diagnose(log, cell.nominal, cell.basis).causes
    late = re.search(r"is ([\d.]+) ms late", cause.finding)
    assert late is not None
    assert float(late[1]) == pytest.approx(8.0, abs=0.1)  # two samples of 4 ms


@pytest.mark.slow
def test_columns_in_a_wrong_place_are_named(cell):
    names = cell.log.joint_names
    swapped = cell.log.tau_meas[:, [0, 2, 1, 3, 4, 5]]
    assert named(cell, cell.changed(tau_meas=swapped)) == {("torque-columns", names[1:3])}
    shifted = np.roll(cell.log.tau_meas, 1, axis=1)
    assert ("torque-columns", names) in named(cell, cell.changed(tau_meas=shifted))
    swapped = cell.log.q[:, [0, 2, 1, 3, 4, 5]]
    assert ("position-columns", names[1:3]) in named(cell, cell.changed(q=swapped))


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
    assert named(cell, log) == {("load", cell.log.joint_names[-1:])}
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
    assert ("unexcited", small_cell.log.joint_names[1:]) in named(small_cell, log)


def test_same_log_same_words_and_the_truth_does_not_matter(small_cell):
    tau = np.array(small_cell.log.tau_meas)
    tau[:, 0] += 0.2 * rms(tau[:, 0])
    log = small_cell.changed(tau_meas=tau)
    first, second = (diagnose(log, small_cell.nominal, small_cell.basis) for _ in range(2))
    assert first == second
    assert first.content()["causes"][0]["kind"] == "torque-offset"


def test_a_scale_that_no_other_joint_shows_is_said_to_be_unseen(cell, small_cell):
    """The wrist of an arm carries next to nothing of what other joints carry."""
    (sentence,) = diagnose(cell.log, cell.nominal, cell.basis).unseen
    assert cell.log.joint_names[-1] in sentence
    assert small_cell.log.joint_names[0] not in "".join(
        diagnose(small_cell.log, small_cell.nominal, small_cell.basis).unseen
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
        evidence = Evidence.of(motion, small_cell.nominal, basis)
        rough = evidence.with_friction().rough()
        plausibility = Plausibility.of(rough)
        scaled = replace(Correction.none(2), torque=np.diag([factor, 1.0]))
        gains.append(plausibility(rough.corrected(scaled)) - plausibility(rough))
    assert max(gains) < 0.0
