"""Result of an estimator, and its file format."""

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, get_type_hints

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from robotid_sim.arrays import Bool1D, Float1D, Float2D, freeze
from robotid_sim.data_frames import data_frame
from robotid_sim.errors import FileFormatError, RobotIdError
from robotid_sim.files import read_json, write_json
from robotid_sim.renamed import (
    RENAMED_ESTIMATE_KEYS,
    RENAMED_KINDS,
    old_members,
    upgrade_keys,
    upgrade_word,
)
from robotid_sim.representation import public_value

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION = 2
"""Version of the file format; since version 2, keys are those of the glossary."""

NONNEGATIVE_SYMBOLS = ("Fv", "Fc", "Ia")
"""Joint parameters that are not negative."""

MAX_VARIANCE = 1e100
"""Maximum variance of a parameter; larger ones overflow in products."""

BOUND_TOLERANCE = 0.01
"""Standard deviations from zero within which a parameter is at its bound."""

_TEXT_FIELDS = ("names", "units", "joint_names")
_REQUIRED_FIELDS = ("estimator", *_TEXT_FIELDS)
_ARRAY_FIELDS = ("beta", "phi", "torque_rms", "noise_std", "cov", "cov_white", "weights", "dof")


@old_members(at_bound="is_at_bound")
@public_value
@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Estimated base parameters; a failed fit is an Estimate with ``success=False``.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng=rng).log
    >>> problem = rid.build_problem(rid.RtsSmoother()(log, nominal), nominal, basis)
    >>> estimate = rid.WeightedLeastSquares().fit(problem)
    >>> estimate.success, estimate.beta.shape == estimate.std.shape
    (True, True)
    """

    TABLED: ClassVar = ("std",)
    """Properties that a notebook shows in addition to the parameters."""

    estimator: str
    beta: Float1D
    """Base parameters, shape (b,)."""
    names: tuple[str, ...]
    units: tuple[str, ...]
    joint_names: tuple[str, ...]
    torque_rms: Float1D
    """RMS residual of every joint [N m], shape (n,)."""
    noise_std: Float1D
    """Estimated standard deviation of the rows of every joint [N m], shape (n,)."""
    phi: Float1D | None = None
    """Full parameters, if the estimator determines them, shape (14 n,)."""
    cov: Float2D | None = None
    """Covariance of `beta` for colored residuals (block sandwich), shape (b, b)."""
    cov_white: Float2D | None = None
    """Covariance of `beta` if residuals were white, shape (b, b)."""
    block: float | None = None
    """Length of the blocks of `cov` [s]; None without blocks."""
    cond: float = np.inf
    """Condition number of the weighted regressor with columns of unit length."""
    rows: int = 0
    nfev: int = 0
    """Evaluations of the cost function; 0 for closed forms."""
    seconds: float = 0.0
    success: bool = True
    message: str = ""
    criterion: str = "squares"
    """Minimized criterion: ``squares``, ``absolute``, ``huber`` or ``student`` residuals, or
    ``restricted`` squares, of some rows or with a prior."""
    criterion_over_optimum: float | None = None
    """Value of the criterion over its minimum, for searches; None for closed forms."""
    weights: Float1D | None = None
    """Weights of the joints in the criterion, shape (n,); None for `noise_std` inverted."""
    dof: Float1D | None = None
    """Degrees of freedom of `cov`, if it is not from a fit of the rows, shape (b,)."""
    unbiased: bool = True
    """Whether the covariance describes the whole error."""
    pseudo: Float1D | None = None
    """Torques of which this is the weighted least-squares fit, if they differ from the problem's,
    shape (N n,); not in files."""
    options: dict[str, Any] = field(default_factory=dict)
    """Hyper-parameters of the estimator."""

    def __post_init__(self) -> None:
        b, n = len(self.names), len(self.joint_names)
        freeze(self, (b,), "beta")
        freeze(self, (n,), "torque_rms", "noise_std")
        freeze(self, (b, b), "cov", "cov_white", optional=True)
        freeze(self, (None,), "phi", "pseudo", optional=True)
        freeze(self, (n,), "weights", optional=True)
        freeze(self, (b,), "dof", optional=True)

    @property
    def std(self) -> Float1D:
        """Standard deviation of every base parameter, shape (b,); NaN where unknown."""
        if self.cov is None:
            return np.full(len(self.names), np.nan)
        return np.asarray(np.sqrt(np.diag(self.cov)))

    @property
    def is_at_bound(self) -> Bool1D:
        """Whether a non-negative parameter is at zero, shape (b,)."""
        if self.phi is None:
            return np.zeros(len(self.names), dtype=bool)
        bounded = [name[:2] in NONNEGATIVE_SYMBOLS and name[2:].isdecimal() for name in self.names]
        return np.asarray(bounded & (self.beta < BOUND_TOLERANCE * self.std))

    def to_frame(self) -> "pandas.DataFrame":
        """Return the base parameters as a data frame: name, unit, value, standard deviation.

        Raises `MissingExtraError` if pandas is not installed.
        """
        columns = {"name": self.names, "unit": self.units, "value": self.beta, "std": self.std}
        return data_frame(columns)

    def content(self) -> dict[str, Any]:
        """Return the estimate as JSON values."""
        values: dict[str, Any] = {}
        for name in (slot for slot in self.__slots__ if slot != "pseudo"):
            value = getattr(self, name)
            values[name] = np.asarray(value).tolist() if np.ndim(value) else value
        values["cond"] = float(self.cond) if np.isfinite(self.cond) else None
        return values


def save_estimates(estimates: list[Estimate], path: str | Path, **context: Any) -> None:
    """Write estimates of one log as JSON, with further entries of the file."""
    content = {**context, "estimates": [estimate.content() for estimate in estimates]}
    write_json(path, "estimate", SCHEMA_VERSION, content)


def upgrade_estimate(content: dict[str, Any]) -> dict[str, Any]:
    """Replace old keys of an estimate file, and old kinds of its terms, by the new ones."""
    upgraded = upgrade_keys(content, RENAMED_ESTIMATE_KEYS)
    terms = upgraded.get("terms")
    for term in terms if isinstance(terms, list) else ():
        if isinstance(term, dict) and "kind" in term:
            term["kind"] = upgrade_word(str(term["kind"]), RENAMED_KINDS)
    return upgraded


def load_estimates(path: str | Path) -> tuple[list[Estimate], dict[str, Any]]:
    """Read estimates and their context; the inverse of `save_estimates`.

    Raises `FileFormatError` if the file is missing, incomplete, of a different kind or of a newer
    schema.
    """
    content = read_json(path, "estimate", SCHEMA_VERSION, {1: upgrade_estimate})
    try:
        estimates = [_from_content(values) for values in content.pop("estimates")]
        EstimateContext.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key, reason = ".".join(map(str, first["loc"])), first["msg"].removeprefix("Input ")
        raise FileFormatError(f"{path}: '{key}' {reason}, got {first['input']!r}") from error
    except (KeyError, TypeError, ValueError, RobotIdError) as error:
        raise FileFormatError(f"{path} is not a complete estimate file: {error}") from error
    return estimates, content


def load_chosen(path: str | Path) -> tuple[list[Estimate], Estimate, dict[str, Any]]:
    """Read all estimates of a file, the chosen one, and the further entries.

    Raises `FileFormatError` as `load_estimates` does, or if no estimate is chosen.
    """
    estimates, context = load_estimates(path)
    name = context.get("chosen")
    chosen = next((e for e in estimates if e.estimator == name), None)
    if chosen is None:
        raise FileFormatError(f"{path} has no chosen estimate; write it with 'chosen'")
    return estimates, chosen, context


ENTRY_TOLERANCE, ROUNDING_TOLERANCE = 1e-6, 1e-12
"""Tolerances of a covariance: relative to the bound of each entry, and to the largest variance."""

_STRICT_CONFIG = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

_FIELD_TYPES = (
    get_type_hints(Estimate) | dict.fromkeys(_TEXT_FIELDS, list[str]) | {"cond": float | None}
)

_FIELDS: dict[str, Any] = {
    slot.name: (_FIELD_TYPES[slot.name], ... if slot.name in _REQUIRED_FIELDS else None)
    for slot in fields(Estimate)
    if slot.name not in (*_ARRAY_FIELDS, "pseudo")
}
EstimateScalars = create_model("EstimateScalars", __config__=_STRICT_CONFIG, **_FIELDS)
"""Scalars in the JSON form of an estimate; missing ones have the defaults of `Estimate`."""


class EstimateContext(BaseModel):
    """Further entries of a file of estimates that are read."""

    model_config = _STRICT_CONFIG
    chosen: str | None = None
    warning: str = ""
    torque_delay: float | None = None
    drive_gain_std: float | None = Field(default=None, ge=0.0)
    torque_measured: list[bool] | None = None
    transition_velocity: list[float] | None = None
    gravity: list[float] | None = None
    cov_blocks: int | None = Field(default=None, ge=0)


def _from_content(values: dict[str, Any]) -> Estimate:
    EstimateScalars.model_validate(values)
    values = dict(values)
    for name in ("weights", "dof"):
        values.setdefault(name, None)  # missing from older files
    for name in _ARRAY_FIELDS:
        if values[name] is not None:
            values[name] = np.array(values[name], dtype=float)
    cov = values["cov"]
    if cov is not None and cov.ndim == 2 and len(cov) == len(cov.T):  # Estimate checks the shape
        scale = np.sqrt(np.abs(np.diag(cov)))
        bound, rounding = np.outer(scale, scale), ROUNDING_TOLERANCE * scale.max(initial=0.0) ** 2
        if not (bound < MAX_VARIANCE).all() or (np.diag(cov) < -rounding).any():
            raise ValueError("'cov' is not a covariance: variances must be finite and not negative")
        if (np.abs(cov) > (1.0 + ENTRY_TOLERANCE) * bound + rounding).any():
            raise ValueError("'cov' is not a covariance: entries exceed the bound by its variances")
        if (np.abs(cov - cov.T) > ENTRY_TOLERANCE * bound + rounding).any():
            raise ValueError("'cov' is not a covariance: it is not symmetric")
    for name in _TEXT_FIELDS:
        values[name] = tuple(values[name])
    values["cond"] = np.inf if values["cond"] is None else values["cond"]
    return Estimate(**values)
