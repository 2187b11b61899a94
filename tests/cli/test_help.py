"""Help, examples and completion of the commands."""

import os
import re
import shlex
import subprocess
import sys

import pytest
from sampling import sampled

from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.help import load_command

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
def test_the_examples_run_one_after_another(robotid, tmp_path, monkeypatch, robot) -> None:
    monkeypatch.chdir(tmp_path)
    for command, words in EXAMPLES:
        if command not in LONG:
            done = robotid(*shlex.split(words.replace("irb140", robot)))
            assert done.code == 0, (words, done)
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


def test_completion_of_a_command_loads_no_numbers() -> None:
    code = (
        "import sys; from robotid_sim.cli.app import main; main(['--help']); "
        "print(sorted({'numpy', 'scipy', 'numba', 'pybullet', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
