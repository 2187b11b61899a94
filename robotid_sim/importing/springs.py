"""Known springs and counterbalances: what they add to the torque of a drive, by position."""

import reprlib

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import OptionError
from robotid_sim.importing.channels import Channels
from robotid_sim.importing.formula import FUNCTIONS, evaluate_formula
from robotid_sim.importing.import_map import ImportMap, Spring
from robotid_sim.model.robot import Robot


def with_springs(
    samples: Channels, mapping: ImportMap, robot: Robot
) -> tuple[Channels, tuple[str, ...]]:
    r"""Return samples with the torques of known springs added, and what is said of them.

    The drive and the spring move a joint together, :math:`\tau_m + \tau_s(q)` is what bodies and
    friction take. Raises `OptionError` if an expression cannot be evaluated, or a table does not
    hold the positions of the log.
    """
    springs = {
        name: spring
        for name in robot.joint_names
        if (spring := mapping.joints[name].spring) is not None
    }
    if not springs:
        return samples, ()
    added, notes = np.zeros_like(samples.q), []
    for name, spring in springs.items():
        j = robot.joint_names.index(name)
        added[:, j] = _torque(spring, samples.q, j, name)
        unit = "N" if robot.joints[j].prismatic else "N m"
        low, high = np.nanmin(added[:, j]), np.nanmax(added[:, j])
        notes.append(
            f"the spring of {name} gives {low:.4g} to {high:.4g} {unit}, which are added to its "
            "torque; the identified robot has no spring"
        )
    return samples._replace(
        tau=samples.tau + added,
        tau_cmd=None if samples.tau_cmd is None else samples.tau_cmd + added,
        current=None,  # the drives alone no longer make the torque
        torque_constant=None,
    ), tuple(notes)


def _torque(spring: Spring, q: Float2D, joint: int, name: str) -> Float1D:
    if isinstance(spring, str):
        return _evaluated(spring, q, joint, name)
    at, torque = np.array(spring).T
    inside = q[np.isfinite(q[:, joint]), joint]
    if not (np.diff(at) > 0.0).all():
        raise OptionError(f"map: the positions of the spring of {name} must rise from row to row")
    if inside.size and (inside.min() < at[0] or inside.max() > at[-1]):
        raise OptionError(
            f"map: the spring of {name} is given from {at[0]:g} to {at[-1]:g}, and the log goes "
            f"from {inside.min():.4g} to {inside.max():.4g}; add rows"
        )
    return np.asarray(np.interp(q[:, joint], at, torque))


def _evaluated(expression: str, q: Float2D, joint: int, name: str) -> Float1D:
    """Return an expression of q, the joint's position, and of q1 to qn, those of all joints."""
    known = {"q": q[:, joint], **{f"q{k}": column for k, column in enumerate(q.T, start=1)}}
    what = f"map: the spring {reprlib.repr(expression)} of {name}"
    try:
        torque = np.broadcast_to(evaluate_formula(expression, known), len(q))
    except ValueError as error:
        raise OptionError(
            f"{what} is no expression of {', '.join(known)}: {error}; write it with numbers, "
            f"+ - * / ** and {', '.join(FUNCTIONS)}, or give a table"
        ) from error
    if not np.isfinite(torque[np.isfinite(q).all(axis=1)]).all():
        raise OptionError(f"{what} is not finite at positions of the log; give a table")
    return np.asarray(torque)
