"""Build the plan of a fit from names and options."""

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
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.loop_noise import LoopNoise, loop_noise
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
    """Cut-off of every joint's rows [Hz], at most `rows.cutoff`.  [default: `rows.cutoff`]"""


class EstimationConfig(ConfigSection):
    """The estimators and their parameters."""

    estimators: tuple[str, ...] = ("wls", "consistent")
    """Estimators that run, see `robotid list estimators`."""
    chosen: str = "consistent"
    """Estimate from which identified.urdf is made."""
    joint_parameters: tuple[str, ...] = ("Fv", "Fc", "Ia")
    """Joint parameters that are estimated: some of Fv, Fc, Fo, Ia."""
    eps: Literal["fixed", "estimate"] = "estimate"
    """Transition velocity of Coulomb friction: given, or estimated if the log determines it."""
    gravity: Literal["fixed", "estimate"] = "estimate"
    """Direction of gravity, for a tilted base: given, or estimated if the log determines it."""
    drive_gain_std: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Relative standard deviation of the drive gains, which a log cannot determine; the intervals
    include it."""
    joint_terms: tuple[str, ...] = (AUTO,)
    """Kinds of joint terms that the fit may select in addition to `joint_parameters`: ``none``,
    ``all``, kinds of `robotid list terms`, or ``auto``: all terms that predict the torque of a
    joint better than general functions of its state."""
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Options by estimator."""


@public_value
@dataclass(frozen=True, kw_only=True, eq=False)
class FitPlan:
    """Plan of a fit."""

    preprocessor: Preprocessor
    estimators: Mapping[str, Estimator]
    """Estimators by the names of their estimates, in the order of their runs."""
    chosen: str
    """Name of the estimate from which the identified robot is made."""
    estimate_eps: bool = False
    """Whether transition velocities are estimated if the log determines them."""
    estimate_gravity: bool = False
    """Whether gravity is estimated if the log determines it."""
    drive_gain_std: float = 0.0
    """Relative standard deviation of the drive gains."""
    joint_terms: tuple[str, ...] = ()
    """Kinds of joint terms that the fit may select."""
    terms_by_need: bool = False
    """Whether joint terms are selected only for unmodeled torque, and only if they predict the
    torque of a joint better than general functions of its state, such as of speed or load."""
    accounts_for_loop_noise: bool = False
    """Whether output error runs and is chosen for measurement noise fed back by the controller."""


OUTPUT_ERROR_NAME = "output-error"

MIN_LOOP_NOISE_SHARE = 0.1
"""Smallest share of fed-back noise in the torques for which output error is chosen.

`bench/feedback_noise.py`: with a share of 3 to 6 % least squares is as accurate as output error;
with 25 % its error is ten times larger, and the noise alone causes apparent unmodeled torque."""


def add_output_error(plan: FitPlan, logs: Sequence[Log]) -> tuple[FitPlan, LoopNoise | None]:
    """Add output error to a plan for measurement noise fed back by the controller.

    Returns the plan and the noise. Least squares assumes independent motion and torque noise, and
    the low-pass of its rows removes most of the motion that the noise causes; output error
    simulates this motion and uses it.
    """
    if not plan.accounts_for_loop_noise:
        return plan, None
    loop_noises = [
        noise for log in logs if (noise := loop_noise(log)) and noise.share > MIN_LOOP_NOISE_SHARE
    ]
    if not loop_noises:
        return plan, None
    added = {} if OUTPUT_ERROR_NAME in plan.estimators else {OUTPUT_ERROR_NAME: OutputError()}
    return replace(plan, estimators={**plan.estimators, **added}), loop_noises[0]


def choose_estimate(
    plan: FitPlan,
    estimates: Mapping[str, Estimate],
    noise: LoopNoise | None,
    problem: LinearProblem,
) -> str:
    """Choose the estimate by name: the estimate of the plan, or output error.

    The estimate of the plan is also chosen for a problem that cannot be simulated, such as one with
    joint terms, because output error is then least squares.
    """
    simulated = estimates.get(OUTPUT_ERROR_NAME)  # missing for long logs
    if noise is not None and simulated and simulated.success and can_simulate(problem):
        return OUTPUT_ERROR_NAME
    return plan.chosen


def loop_noise_sentence(noise: LoopNoise, chosen: str) -> str:
    """Describe measurement noise fed back by the controller, and the chosen estimator."""
    consequence = (
        "output error is chosen, because fed-back noise biases least squares and may appear as "
        "unmodeled torque."
        if chosen == OUTPUT_ERROR_NAME
        else "output error, which accounts for it, failed; lower the gains of the recording "
        "controller."
    )
    return f"{noise.sentence()[:-1]}; {consequence}"


Estimators = Sequence[str] | Mapping[str, Estimator]
"""Names of estimators, or estimators by the names of their estimates."""
ConstantSource = Literal["fixed", "estimate"]
"""Source of a constant: given, or estimated if the log determines it."""

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
    """Build the plan of a fit; the parameters are those of `identify`.

    `friction_velocity` is the source of the transition velocities. Raises `OptionError` or
    `UnknownNameError` if a name is unknown, or if the chosen estimator does not run.
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
        accounts_for_loop_noise=estimators is None,
    )


def build_fit(config: "StudyConfig") -> FitPlan:
    """Build preprocessor and estimators; raise if the chosen estimator is not among them."""
    settings: EstimationConfig = config.estimation
    for name in settings.options:
        if name not in settings.estimators:
            raise OptionError(
                f"estimator '{name}' has options but is not run; add it to estimators"
            )
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
    is_default = not {"chosen", "estimators"} & settings.model_fields_set
    return replace(plan, accounts_for_loop_noise=is_default)


def build_rows(config: PreprocessConfig) -> Rows:
    """Build the options of the rows of a fit."""
    names = [field.name for field in fields(Rows) if field.name != "cutoffs"]
    for name in config.rows:
        if name not in names:
            raise UnknownNameError.from_names("key of preprocess.rows", name, names)
    return Rows(**config.rows, cutoffs=config.cutoffs)


def build_preprocessor(config: PreprocessConfig) -> Preprocessor:
    """Build the preprocessor, with the rows of the configuration if it has a field for them.

    Raises `OptionError` if rows are given to a preprocessor without that field.
    """
    rows = build_rows(config)
    if "rows" in config.options:
        raise OptionError("move preprocess.options.rows to the section preprocess.rows")
    if has_rows(PREPROCESSORS[config.name]):
        return PREPROCESSORS.build(config.name, **config.options, rows=rows)
    if config.rows or config.cutoffs:
        raise OptionError(
            f"preprocessor '{config.name}' chooses its rows itself; remove preprocess.rows and "
            "preprocess.cutoffs, or give its class a field `rows: Rows`"
        )
    return PREPROCESSORS.build(config.name, **config.options)
