"""From names and options to what turns logs into estimates."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Literal

from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.problem import Estimator
from robotid_sim.model.joint_terms import checked_kinds
from robotid_sim.pipeline.fit_config import EstimationConfig, PreprocessConfig
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows, takes_rows

if TYPE_CHECKING:
    from robotid_sim.pipeline.config import StudyConfig

Estimators = Sequence[str] | Mapping[str, Estimator]
"""Estimators by name, or objects by the name that their estimates get."""
ConstantSource = Literal["fixed", "estimate"]
"""Whether a constant of the model is as given, or from the log where it shows another."""

DEFAULT = EstimationConfig()


def fit_plan(
    *,
    estimators: Estimators | None = None,
    chosen: str | None = None,
    preprocessor: Preprocessor | str = "adaptive",
    terms: str | Sequence[str] = "none",
    friction_velocity: ConstantSource = DEFAULT.eps,
    gravity: ConstantSource = DEFAULT.gravity,
    torque_gain_std: float = 0.0,
) -> FitPlan:
    """Return how logs become estimates; the parameters are those of `identify`.

    Raises `OptionError` or `UnknownNameError` if a name is refused, or if the chosen estimator is
    not among those that run.
    """
    names = DEFAULT.estimators if estimators is None else tuple(estimators)
    built = dict(estimators) if isinstance(estimators, Mapping) else {}
    if chosen is None:
        chosen = DEFAULT.chosen if DEFAULT.chosen in names else names[-1]
    if chosen not in names:
        raise OptionError(
            f"the chosen estimator '{chosen}' is not among those run: {', '.join(names)}"
        )
    kinds = () if terms == "none" else (terms,) if isinstance(terms, str) else tuple(terms)
    if isinstance(preprocessor, str):
        preprocessor = build_preprocessor(PreprocessConfig(name=preprocessor))
    return FitPlan(
        preprocessor=preprocessor,
        estimators=built or {name: ESTIMATORS.build(name) for name in names},
        chosen=chosen,
        estimate_eps=friction_velocity == "estimate",
        estimate_gravity=gravity == "estimate",
        torque_gain_std=torque_gain_std,
        joint_terms=checked_kinds(kinds),
        heeds_loop_noise=estimators is None,
    )


def build_fit(config: "StudyConfig") -> FitPlan:
    """Return preprocessor and estimators; raise if the chosen estimator is not among them."""
    settings: EstimationConfig = config.estimation
    for name in settings.options:
        if name not in settings.estimators:
            raise OptionError(f"options for the estimator '{name}', which is not run")
    options: dict[str, Any] = {
        "estimators": {
            name: ESTIMATORS.build(name, **settings.options.get(name, {}))
            for name in settings.estimators
        },
        "chosen": settings.chosen,
    }
    plan = fit_plan(
        **options,
        preprocessor=build_preprocessor(config.preprocess),
        terms=settings.joint_terms,
        friction_velocity=settings.eps,
        gravity=settings.gravity,
        torque_gain_std=settings.torque_gain_std,
    )
    heeds = not {"chosen", "estimators"} & settings.model_fields_set
    return replace(plan, heeds_loop_noise=heeds)


def build_rows(config: PreprocessConfig) -> Rows:
    """Return which rows of a log enter the fit."""
    names = [field.name for field in fields(Rows) if field.name != "cutoffs"]
    for name in config.rows:
        if name not in names:
            raise UnknownNameError.of("key of preprocess.rows", name, names)
    return Rows(**config.rows, cutoffs=config.cutoffs)


def build_preprocessor(config: PreprocessConfig) -> Preprocessor:
    """Return the preprocessor, with the rows of the configuration where it has a field for them.

    Raises `OptionError` if rows are given to one that chooses them itself.
    """
    rows = build_rows(config)
    if "rows" in config.options:
        raise OptionError("preprocess.options.rows: rows have their own section, preprocess.rows")
    if takes_rows(PREPROCESSORS[config.name]):
        return PREPROCESSORS.build(config.name, **config.options, rows=rows)
    if config.rows or config.cutoffs:
        raise OptionError(
            f"preprocessor '{config.name}' chooses its rows itself; remove preprocess.rows and "
            "preprocess.cutoffs, or give its class a field `rows: Rows`"
        )
    return PREPROCESSORS.build(config.name, **config.options)
