"""JSON Schemas of the files."""

import json

import pytest
from sources import PACKAGE

from robotid_sim.cli.schema import NAMES
from robotid_sim.pipeline.schemas import SCHEMAS, schema

SITE = PACKAGE.parent / "docs" / "reference" / "schemas"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_site_has_the_schema_that_the_command_prints(robotid, name) -> None:
    printed = json.loads(robotid("schema", name).out)
    assert printed == schema(name)
    assert printed == json.loads((SITE / f"{name}.schema.json").read_text(encoding="utf-8"))


def test_the_command_knows_all_of_them() -> None:
    assert tuple(SCHEMAS) == NAMES


def test_what_a_study_writes_has_the_entries_of_its_schema(quick_study) -> None:
    _, folder = quick_study
    for name in ("result", "estimate"):
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        assert set(schema(name)["required"]) <= content.keys()


def test_an_error_is_an_object_too(robotid) -> None:
    done = robotid("check", "irb14", "--json")
    error = json.loads(done.out)["error"]
    assert done.code == 2
    assert error["kind"] == "UnknownNameError"
    assert f"robotid: {error['message']}; {error['remedy']}" == done.err.strip()


def test_a_quiet_command_prints_nothing_and_writes_its_checks(robotid, tmp_path) -> None:
    done = robotid("check", "twolink", "--quiet", "--junit", tmp_path / "checks.xml")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert 'tests="3" failures="0"' in (tmp_path / "checks.xml").read_text(encoding="utf-8")
