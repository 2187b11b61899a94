"""Old names of functions, members, options and keys, which work with a deprecation warning."""

import abc
import logging
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_log = logging.getLogger(__name__)

RENAMED_FUNCTIONS = {
    "closed_loop": "run_closed_loops",
    "lift": "make_consistent",
    "tracking_path": "make_tracking_path",
}
"""New names of functions of the package, by old name."""

RENAMED_METHODS = {
    "applied": "note_torque",
    "given": "set_data",
    "informed": "set_nominal",
    "of_root": "differentiate",
    "on_grid": "make_grid",
    "settled": "fix_draws",
    "tuned": "tune",
}
"""New names of methods that user classes may override, by old name."""

RENAMED_OPTIONS = {"--draws": "--posterior-samples", "--torque-gain-std": "--drive-gain-std"}
"""New names of options of the command line, by old name."""

RENAMED_ESTIMATE_KEYS = {
    "doubt": "warning",
    "friction_velocity": "transition_velocity",
    "lacks": "unmodeled_torque",
    "lift": "consistent_robot",
    "torque_gain_std": "drive_gain_std",
}
"""New names of keys of ``estimate.json``, by old name."""

RENAMED_STUDY_KEYS = {"torque_gain_std": "drive_gain_std"}
"""New names of keys of the section ``[estimation]`` of ``study.toml``, by old name."""

RENAMED_KINDS = {"friction-velocity": "transition-velocity"}
"""New names of joint terms and friction laws, by old name."""

RENAMED_CHECKS = {
    "consistent_fit_over_least_squares": "consistent_fit_matches_least_squares",
    "consistent_urdf_reloaded": "written_urdf_matches_model",
    "failed_loops": "all_closed_loops_completed",
    "limits_respected": "motion_within_limits",
    "model_error_unseen": "model_predicts_validation_motion",
    "nees_in_band": "covariance_matches_error",
    "no_cause_named": "no_fault_found",
    "no_contact": "no_link_contact",
    "no_saturation": "no_torque_saturation",
    "rank_full": "all_base_parameters_excited",
    "residual_over_expected_noise": "residual_matches_noise",
    "torque_mismatch_left": "torque_error_reduced",
    "tracking_gap_left": "tracking_gap_closed",
}
"""New names of checks of the verdict in ``result.json``, by old name."""

T = TypeVar("T", bound=type)


def upgrade_word(word: str, names: Mapping[str, str]) -> str:
    """Replace an old option or kind by the new one, with a warning in the log."""
    if word not in names:
        return word
    _log.warning("%s is deprecated, use %s", word, names[word])
    return names[word]


def upgrade_keys(content: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Replace the old keys of a table of a file by the new ones."""
    return {upgrade_word(key, names): value for key, value in content.items()}


def warn_of_name(old: str, new: str) -> None:
    """Issue a `DeprecationWarning` at the line that uses the old name."""
    warnings.warn(f"{old} is deprecated, use {new}", DeprecationWarning, stacklevel=3)


def upgrade_methods(cls: type) -> None:
    """Rename old methods of a user's class, with a warning in the log."""
    for old, new in RENAMED_METHODS.items():
        if old in vars(cls) and new not in vars(cls):
            _log.warning("%s.%s is deprecated, name it %s", cls.__name__, old, new)
            setattr(cls, new, vars(cls)[old])
    abc.update_abstractmethods(cls)


def old_members(**names: str) -> Callable[[T], T]:
    """Keep old names of members of a class, ``old="new"``; place it above ``@dataclass``."""

    def decorate(cls: T) -> T:
        for old, new in names.items():
            setattr(cls, old, _make_alias(cls.__name__, old, new))
        return cls

    return decorate


def _make_alias(owner: str, old: str, new: str) -> property:
    def read(item: Any) -> Any:
        warn_of_name(f"{owner}.{old}", f"{owner}.{new}")
        return getattr(item, new)

    return property(read, doc=f"Deprecated name of `{new}`.")
