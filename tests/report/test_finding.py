"""The result in one sentence: what it says of good, failed and noisy studies."""

from dataclasses import replace

import numpy as np

from robotid_sim.report.finding import clear_shares, finding, noise_limited


def test_finding_states_gap_error_and_known_parameters(study) -> None:
    basis, chosen = study.fit.basis, study.fit.chosen
    text = finding(study.result, chosen, basis, 0.04)
    assert text.startswith("Identification closed 96 % of the tracking gap")
    assert text.endswith(".")
    assert "\n" not in text
    known = int((np.abs(chosen.beta) > 10.0 * chosen.std).sum())
    assert f"{known} of {basis.rank} base parameters" in text


def test_finding_without_a_loop_has_no_gap(study) -> None:
    text = finding(study.result, study.fit.chosen, study.fit.basis, None)
    assert "gap" not in text
    assert "predicts unseen torques" in text


def test_failed_verdict_comes_first(study) -> None:
    checks = list(study.result.verdict.checks)
    checks[4] = checks[4].model_copy(update={"passed": False, "value": 0.02})
    judged = study.result.verdict.model_copy(update={"passed": False, "checks": checks})
    result = study.result.model_copy(update={"verdict": judged})
    text = finding(result, study.fit.chosen, study.fit.basis, 0.04)
    assert text.startswith("Failed: model error over RMS torque, unseen motion")
    assert "2 %, limit 0.6 %" in text


def test_joint_with_uncertain_parameters_is_noise_limited(study) -> None:
    chosen, basis = study.fit.chosen, study.fit.basis
    last = [k for k, name in enumerate(chosen.names) if "6" in name]
    cov = chosen.cov.copy()
    cov[last, last] = (10.0 * chosen.beta[last]) ** 2
    noisy = replace(chosen, cov=cov)
    assert clear_shares(noisy, basis)[5] == 0.0
    assert "joint_6" in noise_limited(noisy, basis)
    assert "joint_6 fewer than half" in finding(study.result, noisy, basis, 0.0)
    assert "joint_1" not in noise_limited(noisy, basis)
    unknown = replace(chosen, cov=np.diag((10.0 * chosen.beta) ** 2))
    assert "of no joint half of its own" in finding(study.result, unknown, basis, 0.0)
