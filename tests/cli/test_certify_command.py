"""``robotid certify``: files, exit code, and what is said where an engine is missing."""

import json

import pytest
from robots import DATA
from short_study import SHORT

from robotid_sim.engine import engines
from robotid_sim.engine.engines import ENGINES
from robotid_sim.pipeline.config_tables import VerdictLimits


@pytest.fixture
def words(tmp_path):
    """Return the words of a short certificate."""
    (tmp_path / "short.toml").write_text(SHORT)
    return ("certify", DATA / "2r.urdf", "--quick", "--config", tmp_path / "short.toml")


@pytest.mark.slow
def test_a_certificate_is_written_and_printed(ran, words, tmp_path) -> None:
    done = ran(*words, "--out", tmp_path / "out", "--seeds", 2, "--workers", 1)
    assert "2r: seeds 0 to 1" in done.out
    assert "verdict: PASSED" in done.out
    for name in ("certificate.html", "certificate.json", "figures/differences.svg"):
        assert (tmp_path / "out" / name).is_file()
    content = json.loads((tmp_path / "out" / "certificate.json").read_text())
    assert content["schema"] == "robotid/certificate/1"
    assert content["engines"] == list(ENGINES)
    assert content["seeds"] == [0, 1]
    assert len(content["validations"]) == 8
    assert "robotid certify" in (tmp_path / "out" / "certificate.html").read_text()


@pytest.mark.slow
def test_a_failed_check_is_exit_code_1(robotid, words, tmp_path) -> None:
    tight = tmp_path / "short.toml"
    tight.write_text(SHORT + "[validation]\nmodel_error = 1e-9\n")
    done = robotid(*words, "--out", tmp_path / "out", "--json")
    assert done.code == 1
    content = done.content
    (failed,) = (check for check in content["verdict"]["checks"] if not check["passed"])
    assert failed["name"] == "model_predicts_other_engine"
    assert failed["limit"] == 2e-9 < VerdictLimits().model_error


@pytest.mark.parametrize("name", ENGINES)
def test_a_missing_engine_is_one_line_and_exit_code_2(
    refused, words, tmp_path, monkeypatch, name
) -> None:
    real = engines.find_spec
    monkeypatch.setattr(engines, "find_spec", lambda p: None if p == name else real(p))
    assert f"is not installed: pip install {name}" in refused(*words, "--out", tmp_path / "out")
    assert not (tmp_path / "out").exists()
