"""The tables of a configuration that say how logs become estimates."""

from typing import Any, Literal

from pydantic import Field

from robotid_sim.config_section import ConfigSection


class PreprocessConfig(ConfigSection):
    """The preprocessor and the rows of the fit."""

    name: str = "adaptive"
    """The preprocessor, see `robotid list preprocessors`."""
    options: dict[str, Any] = Field(default_factory=dict)
    """Its options, see `robotid list preprocessors NAME`."""
    rows: dict[str, float] = Field(default_factory=dict)
    """Rows of the fit: cutoff and rate [Hz], tail and edge [s], outliers, low_velocity."""
    cutoffs: tuple[float, ...] = ()
    """Cut-off of every joint's rows [Hz], none above `rows.cutoff`.  [default: `rows.cutoff`]"""


class EstimationConfig(ConfigSection):
    """The estimators and the parameters they look for."""

    estimators: tuple[str, ...] = ("ols", "wls", "consistent")
    """Estimators that run, see `robotid list estimators`."""
    chosen: str = "consistent"
    """The estimate that identified.urdf is made from."""
    joint_parameters: tuple[str, ...] = ("Fv", "Fc", "Ia")
    """Parameters of every joint that are looked for: of Fv, Fc, Fo, Ia."""
    eps: Literal["fixed", "estimate"] = "estimate"
    """Transition velocity of Coulomb friction: as given, or from the log where it shows another."""
    gravity: Literal["fixed", "estimate"] = "estimate"
    """Gravity, which a tilted base turns: as given, or from the log where it shows another."""
    torque_gain_std: float = Field(default=0.0, ge=0.0, lt=1.0)
    """Standard deviation of the relative errors of the torque constants, which no log shows: the
    intervals hold them."""
    joint_terms: tuple[str, ...] = ()
    """Kinds of terms of a joint's torque that the fit may choose by evidence beside
    `joint_parameters`: ``all``, or some of those of `robotid list terms`."""
    options: dict[str, dict[str, Any]] = Field(default_factory=dict)
    """Options by estimator."""
