"""How many engine steps a control step needs, so that explicit friction stays stable."""

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.dynamics.dynamics import effective_inertia, gravity_torque, mass_matrix
from robotid_sim.errors import OptionError
from robotid_sim.model.friction_laws import FrictionLaw, SmoothCoulomb, steepest_slope
from robotid_sim.model.robot import Robot

MAX_SUBSTEPS = 256


def substeps_for(
    robot: Robot, q: Float2D, dt: float, minimum: int = 4, friction: FrictionLaw | None = None
) -> int:
    """Return the sub-steps per control step that keep explicit friction stable along a path.

    Friction has the slope ``Fc / eps + Fv`` at standstill; integrated explicitly on a light joint
    it chatters between samples, invisibly in the log, unless ``dt_sub (Fc / eps + Fv) / M_eff <=
    1`` with the inertia ``M_eff`` that the joint feels.

    `q` are positions along the path, shape (N, n), `dt` is the control step [s], and `minimum` the
    smallest number returned. A `friction` law stands for a plant whose friction is not that of the
    robot; see `steepest_slope`. Raises `OptionError` if more than MAX_SUBSTEPS would be needed;
    names the joint.
    """
    law = SmoothCoulomb() if friction is None else friction
    lightest = effective_inertia(robot, q).min(axis=0)
    load = _largest_load(robot, q)
    need = dt * steepest_slope(law, robot, load) / lightest
    worst = int(need.argmax())
    if need[worst] > MAX_SUBSTEPS:
        joint = robot.joints[worst]
        named = "" if friction is None else f" under the law {friction.describe()['law']}"
        raise OptionError(
            f"joint '{joint.name}' has friction Fc {joint.friction.Fc:g}, Fv "
            f"{joint.friction.Fv:g} with eps {joint.friction.eps:g}{named} on an inertia of "
            f"{lightest[worst]:.2g}, which needs {need[worst]:.0f} sub-steps per control step (at "
            f"most {MAX_SUBSTEPS}); give its rotor inertia Ia, raise eps or the control rate"
        )
    return max(minimum, int(np.ceil(need[worst])))


def _largest_load(robot: Robot, q: Float2D) -> Float1D:
    """Return a bound on the torques that the gears transmit along a path, shape (n,).

    Gravity, and the inertia of the joint itself at its acceleration limit; at most the effort.
    """
    path = np.atleast_2d(q)
    inertia = np.diagonal(mass_matrix(robot, path, rotors=False), axis1=1, axis2=2).max(axis=0)
    gravity = np.abs(gravity_torque(robot, path)).max(axis=0)
    load = gravity + inertia * robot.limits.acceleration
    return np.asarray(np.minimum(load, robot.limits.effort))
