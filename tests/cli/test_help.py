"""Help, examples, completion and schemas of the commands."""

import json
import os
import re
import shlex
import subprocess
import sys

import pytest
from sampling import sampled
from sources import PACKAGE

from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.help import load_command
from robotid_sim.cli.schema import SCHEMA_NAMES
from robotid_sim.pipeline.schemas import SCHEMA_SOURCES, schema

EXAMPLES = [(name, words) for name, text in COMMANDS.items() for words in text.examples]

LONG = ("run", "reproduce", "campaign")
"""Commands whose examples take minutes; tests of their own run them."""


@pytest.mark.parametrize("command", [(), *((name,) for name in COMMANDS)])
@pytest.mark.parametrize("width", [60, 80])
def test_help_fits_the_terminal_and_speaks_no_python(robotid, monkeypatch, command, width) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    done = robotid(*command, "-h")
    assert done == robotid(*command, "--help")
    assert done.code == 0
    if command:
        few = re.findall(r"^  (?:-\w, )?--", done.out, re.M)
        assert len(few) <= 20
    lines = done.out.splitlines()
    wrapped = [line for line in lines if not line.startswith("    robotid ")]
    assert max(map(len, wrapped)) <= width
    assert max(map(len, lines)) <= 80  # examples are to be copied
    assert not re.search(r"<\w+|x>=|None|\{\w+\}|list\[", done.out.replace("<dynamics>", ""))
    assert not re.search(r"\.\.\.$", done.out.split("Commands:")[-1], re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_value_has_a_name_and_every_option_a_text(command) -> None:
    for parameter in load_command(command).params:
        assert parameter.help
        if not getattr(parameter, "is_flag", False):
            assert parameter.metavar
            assert parameter.metavar == parameter.metavar.upper() or parameter.metavar == "WxH"


@pytest.mark.parametrize(("command", "words"), EXAMPLES)
def test_an_example_is_in_the_help_and_is_understood(robotid, command, words) -> None:
    assert f"    robotid {words}\n" in robotid(command, "--help").out
    parts = shlex.split(words)
    assert parts[0] == command
    context = load_command(command).make_context(command, parts[1:])
    assert set(context.params) >= {p.name for p in load_command(command).params if p.required}


@pytest.mark.slow
@pytest.mark.parametrize("robot", sampled(("irb140", "twolink"), "twolink"))
def test_the_examples_run_one_after_another(ran, tmp_path, monkeypatch, robot) -> None:
    monkeypatch.chdir(tmp_path)
    for command, words in EXAMPLES:
        if command not in LONG:
            ran(*shlex.split(words.replace("irb140", robot)))
    assert {"path.json", "loaded.h5", "identified.urdf", f"{robot}.xml", "motion.gif"} <= {
        path.name for path in tmp_path.iterdir()
    }


def completed(words: str) -> list[str]:
    """Return what bash is offered for the last word."""
    environment = {
        **os.environ,
        "_ROBOTID_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
    }
    command = [sys.executable, "-m", "robotid_sim"]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.split()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("robotid re", ["reproduce"]),
        ("robotid ", list(COMMANDS)),
        ("robotid --vers", ["--version"]),
        ("robotid check irb140 --no-u", ["--no-urdf-friction"]),
        ("robotid check irb1", ["irb120", "irb140"]),
        ("robotid run irb140 --preset l", ["lab"]),
        ("robotid list estimators con", ["consistent"]),
        ("robotid validate irb140 e.json --controller p", ["pid", "power-reaching"]),
    ],
)
def test_the_shell_completes_commands_and_names(words, offered) -> None:
    assert completed(words) == offered


ROBOT = {"--config", "--base", "--tip", "--payload", "--repair", "--no-urdf-friction"}
DRAWN = {"--seed", "--plugin", "--nominal"}
SENSORS = {"--preset", "--plant-friction", "--plant-drive", "--engine"}
ALWAYS = {"--json", "--verbose", "--debug", "--help"}
OF_A_STUDY = ROBOT | DRAWN | SENSORS | {"--quick", "--full"}

USED = {
    "run": OF_A_STUDY,
    "certify": (ROBOT | DRAWN | SENSORS | {"--quick"}) - {"--engine"},
    "check": ROBOT | {"--nominal"},
    "design": ROBOT | DRAWN | {"--quick"},
    "deploy": ROBOT | {"--seed", "--engine"},
    "simulate": ROBOT | DRAWN | SENSORS,
    "import": {"--base", "--tip"},
    "identify": ROBOT | DRAWN,
    "diagnose": ROBOT | DRAWN,
    "predict": ROBOT | DRAWN,
    "compare": set(),
    "validate": ROBOT | DRAWN | {"--quick", "--plant-friction", "--plant-drive", "--engine"},
    "payload": ROBOT | DRAWN,
    "campaign": {"--quick"},
    "reproduce": {"--seed", "--quick", "--plugin", "--engine"},
    "view": ROBOT | DRAWN | SENSORS,
    "export": ROBOT,
    "cad": {"--base", "--tip"},
    "list": {"--plugin"},
    "schema": set(),
}


@pytest.mark.parametrize("command", USED)
def test_a_command_offers_the_options_of_a_study_that_it_uses(robotid, command) -> None:
    offered = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", robotid(command, "--help-all").out, re.M))
    assert offered & OF_A_STUDY == USED[command]
    assert offered >= ALWAYS


def test_the_list_is_of_all_commands(robotid) -> None:
    text = robotid("--help").out.split("Commands:")[1]
    assert set(re.findall(r"^  (\w+)  ", text, re.M)) == set(USED)


SITE = PACKAGE.parent / "docs" / "reference" / "schemas"


@pytest.mark.parametrize("name", SCHEMA_SOURCES)
def test_the_site_has_the_schema_that_the_command_prints(robotid, name) -> None:
    printed = robotid("schema", name).content
    assert printed == schema(name)
    assert printed == json.loads((SITE / f"{name}.schema.json").read_text(encoding="utf-8"))


def test_the_command_knows_all_of_them() -> None:
    assert tuple(SCHEMA_SOURCES) == SCHEMA_NAMES


def test_what_a_study_writes_has_the_entries_of_its_schema(quick_study) -> None:
    _, folder = quick_study
    for name in ("result", "estimate"):
        content = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
        assert set(schema(name)["required"]) <= content.keys()


def test_an_error_is_an_object_too(robotid) -> None:
    done = robotid("check", "irb14", "--json")
    error = done.content["error"]
    assert done.code == 2
    assert error["kind"] == "UnknownNameError"
    assert f"robotid: {error['message']}; {error['remedy']}" == done.err.strip()


def test_a_quiet_command_prints_nothing_and_writes_its_checks(robotid, tmp_path) -> None:
    done = robotid("check", "twolink", "--quiet", "--junit", tmp_path / "checks.xml")
    assert (done.code, done.out, done.err) == (0, "", "")
    assert 'tests="3" failures="0"' in (tmp_path / "checks.xml").read_text(encoding="utf-8")
