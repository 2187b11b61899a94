"""How logs become estimates: from names and options to built values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from robotid_sim.config_section import ConfigSection
from robotid_sim.errors import OptionError, UnknownNameError
from robotid_sim.estimation import ESTIMATORS
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.estimation.output_error import OutputError
from robotid_sim.estimation.problem import Estimator, LinearProblem
from robotid_sim.estimation.simulation import can_simulate
from robotid_sim.measurement.log import Log, LoopNoise, loop_noise
from robotid_sim.model.joint_terms import AUTO, FITTED_KINDS, select_kinds
from robotid_sim.preprocess import PREPROCESSORS
from robotid_sim.preprocess.preprocessor import Preprocessor, Rows, has_rows
from robotid_sim.representation import public_value

if TYPE_CHECKING:
    from robotid_sim.pipeline.config import StudyConfig


class PreprocessConfig(ConfigSection):
    """The preprocessor and the rows of the fit."""

    name: str = "adaptive"
    """The preprocessor, see `robotid list preprocessors`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Its options, see `robotid list preprocessors NAME`."""
    rows: dict[str, float] = Field(default_factory=dict)
    """Rows of the fit: cutoff and rate [Hz], tail and edge [s], outliers, low_velocity."""
    compare: bool = False
    """Compare torque filters on the log of a study."""
    cutoffs: tuple[float, ...] = ()
    """Cut-off of every joint's rows [Hz], none above `rows.cutoff`.  [default: `rows.cutoff`]"""


class EstimationConfig(ConfigSection):
    """The estimators and the parameters they look for."""

    estimators: tuple[str, ...] = ("wls", "consistent")
    """Estimators that run, see `robotid list estimators`."""
    chosen: str = "consistent"
    """The estimate that identified.urdf is made from."""
    joint_parameters: tuple[str, ...] = ("Fv", "Fc", "Ia")
    """Parameters of every joint that are looked for: of Fv, Fc, Fo, Ia."""
    eps: Literal["fixed", "estimate"] = "estimate"
    """Transition velocity of Coulomb friction: as given, or from the log where it shows another."""
    gravity: Literal["fixed", "estimate"] = "estimate"
    """Gravity, which a tilted base turns: as given, or from the log where it shows another."""
    drive_gain_std: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Standard deviation of the relative errors of the torque constants, which no log shows: the
    intervals hold them."""
    joint_terms: tuple[str, ...] = (AUTO,)
    """Kinds of terms of a joint's torque that the fit may choose by evidence beside
    `joint_parameters`: ``none``, ``all``, some of those of `robotid list terms`, or ``auto``: all,
    of joints that they predict better than functions of the state do."""
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Options by estimator."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan:
    """How a log becomes estimates."""

    preprocessor: Preprocessor
    estimators: Mapping[str, Estimator]
    """By the name that their estimates get, in the order in which they run."""
    chosen: str
    """The estimate that the identified robot is made from."""
    estimate_eps: bool = False
    """Whether transition velocities of friction are taken from the log where it shows others."""
    estimate_gravity: bool = False
    """Whether gravity is taken from the log where it shows another."""
    drive_gain_std: float = 0.0
    """Standard deviation of the relative errors of the torque constants."""
    joint_terms: tuple[str, ...] = ()
    """Kinds of terms of a joint's torque that the fit may choose beside the standard ones."""
    terms_by_need: bool = False
    """Whether they are sought only where the model lacks something, and chosen of joints that they
    predict better than functions of the state do."""
    heeds_loop_noise: bool = False
    """Whether output error is run and chosen where the controller of a log has shaken the robot
    with the noise of its encoders."""


OUTPUT_ERROR_NAME = "output-error"

MIN_LOOP_NOISE_SHARE = 0.1
"""Share of noise in the torques from which output error is chosen.

`bench/feedback_noise.py`: with 3 to 6 % least squares errs as little; with 25 % it errs ten times
as much, and functions of the state that the model lacks come out of the noise alone.
"""


def add_output_error(plan: FitPlan, logs: Sequence[Log]) -> tuple[FitPlan, LoopNoise | None]:
    """Return a plan that runs output error too where noise in the loop shakes the robot, and where.

    Least squares takes motion and torque noise for independent, and rows keep next to nothing of
    what the noise does to the motion; output error uses it.
    """
    if not plan.heeds_loop_noise:
        return plan, None
    found = [
        noise for log in logs if (noise := loop_noise(log)) and noise.share > MIN_LOOP_NOISE_SHARE
    ]
    if not found:
        return plan, None
    added = {} if OUTPUT_ERROR_NAME in plan.estimators else {OUTPUT_ERROR_NAME: OutputError()}
    return replace(plan, estimators={**plan.estimators, **added}), found[0]


def choose_estimate(
    plan: FitPlan,
    estimates: Mapping[str, Estimate],
    found: LoopNoise | None,
    problem: LinearProblem,
) -> str:
    """Return the name of the estimate to take: the plan's, or that of output error.

    Where it cannot simulate, as with terms of joints, output error is least squares.
    """
    simulated = estimates.get(OUTPUT_ERROR_NAME)  # long logs have none
    if found is not None and simulated and simulated.success and can_simulate(problem):
        return OUTPUT_ERROR_NAME
    return plan.chosen


def loop_noise_sentence(found: LoopNoise, chosen: str) -> str:
    """Return in words that the loop saw noise, and what became of it."""
    taken = (
        "output error is chosen, because fed-back noise biases least squares and may appear as "
        "unmodeled torque."
        if chosen == OUTPUT_ERROR_NAME
        else "output error, which accounts for it, failed; lower the gains of the recording "
        "controller."
    )
    return f"{found.sentence()[:-1]}; {taken}"


Estimators = Sequence[str] | Mapping[str, Estimator]
"""Estimators by name, or objects by the name that their estimates get."""
ConstantSource = Literal["fixed", "estimate"]
"""Whether a constant of the model is as given, or from the log where it shows another."""

DEFAULT_CONFIG = EstimationConfig()


def fit_plan(
    *,
    estimators: Estimators | None = None,
    chosen: str | None = None,
    preprocessor: Preprocessor | str = "adaptive",
    terms: str | Sequence[str] = DEFAULT_CONFIG.joint_terms,
    friction_velocity: ConstantSource = DEFAULT_CONFIG.eps,
    gravity: ConstantSource = DEFAULT_CONFIG.gravity,
    drive_gain_std: float = 0.0,
) -> FitPlan:
    """Return how logs become estimates; the parameters are those of `identify`.

    Raises `OptionError` or `UnknownNameError` if a name is refused, or if the chosen estimator is
    not among those that run.
    """
    names = DEFAULT_CONFIG.estimators if estimators is None else tuple(estimators)
    built = dict(estimators) if isinstance(estimators, Mapping) else {}
    if chosen is None:
        chosen = DEFAULT_CONFIG.chosen if DEFAULT_CONFIG.chosen in names else names[-1]
    if chosen not in names:
        raise OptionError(
            f"the chosen estimator '{chosen}' is not among those run: {', '.join(names)}"
        )
    kinds = select_kinds((terms,) if isinstance(terms, str) else tuple(terms))
    if isinstance(preprocessor, str):
        preprocessor = build_preprocessor(PreprocessConfig(name=preprocessor))
    return FitPlan(
        preprocessor=preprocessor,
        estimators=built or {name: ESTIMATORS.build(name) for name in names},
        chosen=chosen,
        estimate_eps=friction_velocity == "estimate",
        estimate_gravity=gravity == "estimate",
        drive_gain_std=drive_gain_std,
        joint_terms=FITTED_KINDS if kinds == (AUTO,) else kinds,
        terms_by_need=kinds == (AUTO,),
        heeds_loop_noise=estimators is None,
    )


def build_fit(config: "StudyConfig") -> FitPlan:
    """Return preprocessor and estimators; raise if the chosen estimator is not among them."""
    settings: EstimationConfig = config.estimation
    for name in settings.options:
        if name not in settings.estimators:
            raise OptionError(f"options for the estimator '{name}', which is not run")
    options = settings.options
    plan = fit_plan(
        estimators={n: ESTIMATORS.build(n, **options.get(n, {})) for n in settings.estimators},
        chosen=settings.chosen,
        preprocessor=build_preprocessor(config.preprocess),
        terms=settings.joint_terms,
        friction_velocity=settings.eps,
        gravity=settings.gravity,
        drive_gain_std=settings.drive_gain_std,
    )
    heeds = not {"chosen", "estimators"} & settings.model_fields_set
    return replace(plan, heeds_loop_noise=heeds)


def build_rows(config: PreprocessConfig) -> Rows:
    """Return which rows of a log enter the fit."""
    names = [field.name for field in fields(Rows) if field.name != "cutoffs"]
    for name in config.rows:
        if name not in names:
            raise UnknownNameError.from_names("key of preprocess.rows", name, names)
    return Rows(**config.rows, cutoffs=config.cutoffs)


def build_preprocessor(config: PreprocessConfig) -> Preprocessor:
    """Return the preprocessor, with the rows of the configuration where it has a field for them.

    Raises `OptionError` if rows are given to one that chooses them itself.
    """
    rows = build_rows(config)
    if "rows" in config.options:
        raise OptionError("preprocess.options.rows: rows have their own section, preprocess.rows")
    if has_rows(PREPROCESSORS[config.name]):
        return PREPROCESSORS.build(config.name, **config.options, rows=rows)
    if config.rows or config.cutoffs:
        raise OptionError(
            f"preprocessor '{config.name}' chooses its rows itself; remove preprocess.rows and "
            "preprocess.cutoffs, or give its class a field `rows: Rows`"
        )
    return PREPROCESSORS.build(config.name, **config.options)
