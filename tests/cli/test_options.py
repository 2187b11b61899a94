"""Every command offers the options that it uses, and no others."""

import re

import pytest

ROBOT = {"--config", "--base", "--tip", "--payload", "--repair", "--no-urdf-friction"}
DRAWN = {"--seed", "--plugin", "--nominal"}
SENSORS = {"--preset", "--plant-friction", "--plant-drive", "--engine"}
ALWAYS = {"--json", "--verbose", "--debug", "--help"}
OF_A_STUDY = ROBOT | DRAWN | SENSORS | {"--quick"}

USED = {
    "run": ROBOT | DRAWN | SENSORS | {"--quick"},
    "certify": (ROBOT | DRAWN | SENSORS | {"--quick"}) - {"--engine"},
    "check": ROBOT | {"--nominal"},
    "design": ROBOT | DRAWN | {"--quick"},
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
    offered = set(re.findall(r"^ +(?:-\w, )?(--[\w-]+)", robotid(command, "--help").out, re.M))
    assert offered & OF_A_STUDY == USED[command]
    assert offered >= ALWAYS


@pytest.mark.parametrize(
    ("command", "option"), [("check", "--quick"), ("export", "--seed"), ("identify", "--preset")]
)
def test_an_option_without_effect_is_refused(refused, command, option) -> None:
    assert option in refused(command, "irb140", option)


def test_the_list_is_of_all_commands(robotid) -> None:
    text = robotid("--help").out.split("Commands:")[1]
    assert set(re.findall(r"^  (\w+)  ", text, re.M)) == set(USED)
