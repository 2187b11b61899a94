"""The study configuration: defaults, precedence, and one clear line for every mistake."""

import pytest

from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.build_design import build_family
from robotid_sim.pipeline.config import StudyConfig, load_config


def write(tmp_path, text: str):
    path = tmp_path / "study.toml"
    path.write_text(text)
    return path


def test_empty_file_gives_the_defaults(tmp_path) -> None:
    assert load_config(write(tmp_path, "")) == StudyConfig() == load_config(None)


def test_overrides_are_stronger_than_the_file_and_keep_its_other_keys(tmp_path) -> None:
    path = write(tmp_path, 'seed = 3\n[robot]\nbase = "a"\ntip = "b"\n')
    config = load_config(path, {"seed": 7, "robot": {"tip": "c"}})
    assert (config.seed, config.robot.base, config.robot.tip) == (7, "a", "c")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sed = 1", ["unknown key 'sed'", "seed, plugins, robot"]),
        ("[design]\nfoo = 1", ["unknown key 'design.foo'", "candidates"]),
        ("[robot.payload]\nmas = 1.0", ["robot.payload.mas", "mass"]),
        ("seed = -1", ["'seed'", "greater than or equal to 0"]),
        ("[experiment]\nrate = 'fast'", ["'experiment.rate'", "valid number"]),
        ("[validation]\nreplicates = 2", ["'validation.replicates'"]),
    ],
)
def test_wrong_key_or_value_names_key_and_what_is_known(tmp_path, text, words) -> None:
    path = write(tmp_path, text)
    with pytest.raises(OptionError) as caught:
        load_config(path)
    message = str(caught.value)
    assert str(path) in message
    assert "\n" not in message
    for word in words:
        assert word in message


def test_missing_file_and_bad_toml_are_one_line(tmp_path) -> None:
    with pytest.raises(FileFormatError, match="No such file"):
        load_config(tmp_path / "none.toml")
    with pytest.raises(FileFormatError, match="cannot read configuration"):
        load_config(write(tmp_path, "seed = = 1"))


def test_quick_is_smaller_and_changes_nothing_else() -> None:
    full, quick = StudyConfig(), StudyConfig().quick()
    assert quick.design.candidates < full.design.candidates
    assert quick.design.periods < full.design.periods
    assert quick.sensors == full.sensors
    assert quick.experiment == full.experiment


def test_listed_sensors_replace_the_default_set_in_their_order() -> None:
    config = load_config(None, {"sensors": {"torque-delay": {"delay": 0.01}, "torque-noise": {}}})
    assert [type(s).__name__ for s in build_sensors(config)] == ["TorqueDelay", "TorqueNoise"]


def test_unknown_family_is_refused() -> None:
    config = load_config(None, {"design": {"family": "spline"}})
    with pytest.raises(UnknownNameError, match="unknown excitation family 'spline'"):
        build_family(config.design)


def test_a_box_may_be_open_but_its_sides_are_numbers(tmp_path) -> None:
    box = "{{ lower = [{}, -0.6, 0.2], upper = [inf, 1, 1] }}"
    text = f"[design]\nconstraints = {{{{ boxes = [{box}] }}}}\n"
    (found,) = load_config(write(tmp_path, text.format("-inf"))).design.constraints.boxes
    assert found.lower == (-float("inf"), -0.6, 0.2)
    with pytest.raises(OptionError, match=r"boxes\.0\.lower\.0': should be a number or infinite"):
        load_config(write(tmp_path, text.format("nan")))
