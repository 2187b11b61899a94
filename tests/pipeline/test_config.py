"""The study configuration: defaults, precedence, and one clear line for every mistake."""

import math
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError

from robotid_sim.config_section import MAX_NUMBER, ConfigSection, OpenEnd
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.importing import import_map
from robotid_sim.pipeline import config_tables as tables
from robotid_sim.pipeline.build import build_sensors
from robotid_sim.pipeline.config import StudyConfig, load_config
from robotid_sim.pipeline.fit_plan import EstimationConfig


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


def test_a_box_may_be_open_but_its_sides_are_numbers(tmp_path) -> None:
    box = "{{ lower = [{}, -0.6, 0.2], upper = [inf, 1, 1] }}"
    text = f"[design]\nconstraints = {{{{ boxes = [{box}] }}}}\n"
    (found,) = load_config(write(tmp_path, text.format("-inf"))).design.constraints.boxes
    assert found.lower == (-float("inf"), -0.6, 0.2)
    with pytest.raises(OptionError, match=r"boxes\.0\.lower\.0': should be a number or infinite"):
        load_config(write(tmp_path, text.format("nan")))


SECTIONS = [
    StudyConfig,
    *(
        kind
        for module in (tables, import_map)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, ConfigSection) and kind is not ConfigSection
    ),
]

REQUIRED: dict[str, dict[str, Any]] = {
    "PayloadConfig": {"mass": 1.0},
    "BoxConfig": {"lower": (0.0, 0.0, 0.0), "upper": (1.0, 1.0, 1.0)},
    "PlaneConfig": {"normal": (0.0, 0.0, 1.0), "offset": 1.0},
    "Coupling": {"position": ((1.0,),)},
}

OPEN = {"BoxConfig.lower", "BoxConfig.upper", "ConstraintsConfig.floor"}
"""Fields that may be infinite."""


def made_of(annotation: Any, value: object) -> Any:
    """Return a value of an annotated type whose numbers are all `value`; None if it has none."""
    if annotation in (float, int):
        return value
    inner = [part for part in get_args(annotation) if part is not Ellipsis]
    origin = getattr(annotation, "__origin__", None)
    if origin is tuple:
        parts = [made_of(part, value) for part in inner]
        return None if None in parts else tuple(parts)
    if origin is dict:
        part = made_of(inner[1], value)
        return None if part is None else {"elbow": part}
    return next((made for part in inner if (made := made_of(part, value)) is not None), None)


def numbers() -> Iterator[tuple[type[BaseModel], str]]:
    """Yield the fields that hold numbers."""
    for section in SECTIONS:
        for name, field in section.model_fields.items():
            if made_of(field.annotation, 1.0) is not None:
                yield section, name


FIELDS = list(numbers())


def refusal(section: type[BaseModel], name: str, value: object) -> str:
    """Return what is said of a field whose numbers are all `value`."""
    content = made_of(section.model_fields[name].annotation, value)
    with pytest.raises(ValidationError) as caught:
        section.model_validate({**REQUIRED.get(section.__name__, {}), name: content})
    return str(caught.value)


def test_all_tables_are_walked() -> None:
    assert {section.__name__ for section in SECTIONS} >= {"StudyConfig", "ImportMap", "BoxConfig"}
    assert len(FIELDS) > 45


@pytest.mark.parametrize(("section", "name"), FIELDS, ids=[f"{s.__name__}.{n}" for s, n in FIELDS])
def test_a_number_has_a_range_and_is_one(section, name) -> None:
    values = [math.nan, 2.0 * MAX_NUMBER, -2.0 * MAX_NUMBER, 1e300, True, "many"]
    if f"{section.__name__}.{name}" not in OPEN:
        values += [math.inf, -math.inf]
    for value in values:
        assert name in refusal(section, name, value)


@pytest.mark.parametrize("value", [-math.inf, 0.5])
def test_a_side_may_be_open(value) -> None:
    assert tables.ConstraintsConfig(floor=value).floor == value
    assert OpenEnd.__origin__ is float


@pytest.mark.parametrize(
    ("section", "values", "words"),
    [
        (tables.NominalConfig, {"mismatch": (0.3, 0.05)}, "0 <= lower < upper <= 10"),
        (tables.NominalConfig, {"mismatch": (-0.3, 0.05)}, "0 <= lower < upper <= 10"),
        (tables.ConstraintsConfig, {"floor": math.inf}, "less than or equal to 1000"),
        (tables.ExperimentConfig, {"kp": 1e12}, "within 1e+09"),
        (tables.ExperimentConfig, {"kp": 9e8}, "less than or equal to 100000000"),
        (EstimationConfig, {"estimators": ("wls", "wls")}, "names 'wls' twice"),
        (tables.ControlConfig, {"scenarios": ["payload", "payload"]}, "names 'payload' twice"),
        (tables.DesignConfig, {"periods": 0}, "greater than or equal to 1"),
        (tables.DesignConfig, {"margin": 1.1}, "less than or equal to 1"),
        (StudyConfig, {"seed": 2**63}, "less than 9223372036854775808"),
        (StudyConfig, {"seed": True}, "should not be true or false"),
        (tables.VerdictLimits, {"gap": -1.0}, "greater than 0"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(section, values, words) -> None:
    with pytest.raises(ValidationError) as caught:
        section.model_validate(values)
    assert words in str(caught.value)


def test_what_is_true_or_false_stays_so() -> None:
    study = StudyConfig.model_validate(
        {"experiment": {"leapfrog": False}, "estimation": {"options": {"wls": {"x": True}}}}
    )
    assert (study.experiment.leapfrog, study.estimation.options["wls"]["x"]) == (False, True)
