r"""Base parameters in the groupings of the literature.

Gautier and Khalil regroup the parameters of link j onto link j - 1 by rule [1]_ [2]_. With the
joint axis along z, a revolute joint eliminates YYj, MZj and Mj: XXj, XYj, XZj, YZj, ZZj, MXj, MYj
lead. A prismatic joint gives all six moments of inertia to link j - 1: Mj, MXj, MYj, MZj lead.
Joints parallel to previous ones eliminate more parameters.

Here the only rule is the order of preference: from the base outwards, link by link, a column leads
if previous columns do not span it. The special cases follow from that, and joint axes may point
anywhere in the link frame, as in URDF.

References
----------
.. [1] Gautier, Khalil (1990), "Direct calculation of minimum set of inertial parameters of serial
   robots", IEEE Trans. Robotics and Automation 6(3), doi:10.1109/70.56655.
.. [2] Khalil, Dombre (2002), "Modeling, Identification and Control of Robots", ch. 9,
   doi:10.1016/B978-1-903996-66-9.X5000-3.
"""

import numpy as np

from robotid_sim.arrays import Float2D, Int1D
from robotid_sim.dynamics.base_parameters import (
    NEGLIGIBLE_RANK_TOLERANCE,
    BaseParameters,
    base_parameters,
)
from robotid_sim.model import parameters
from robotid_sim.model.joint import Joint
from robotid_sim.model.robot import Robot

RANK_TOLERANCE = 1e-7
"""Smallest part of a column outside of the span of others, over its size or one.

An offset of 1 mm between axes leaves 1e-6. Where the base has dropped negligible directions it is
`NEGLIGIBLE_RANK_TOLERANCE`: columns in these directions alone have entries of 1e-5.
"""

AXIS_DECIMALS = 3
"""Decimals to which the components of axes are compared; rounded right angles count as right."""

FIRST_MOMENTS = ("mx", "my", "mz")
MOMENTS_OF_INERTIA = ("Ixx", "Iyy", "Izz")
PRODUCTS_OF_INERTIA = ("Ixy", "Ixz", "Iyz")


def textbook_base(robot: Robot, basis: BaseParameters | None = None) -> BaseParameters:
    r"""Return base parameters led by the columns of the literature [1]_ [2]_.

    For two joints about z, a apart: :math:`ZZ_{1R} = ZZ_1 + a^2 M_2`, with symbols of this package
    ``Izz1 + a^2 m2``. Rotors appear with the moments about their axes,
    :math:`ZZ_{1R} = Ia_1 + ZZ_1 + \dots`, as in [2]_.

    Parameters
    ----------
    robot : Robot
        Its joints determine the preferred columns.
    basis : BaseParameters, optional
        Base parameters of the same robot, in any grouping; default is `base_parameters`.

    Returns
    -------
    base : BaseParameters
        The same base regrouped; ``basis.map_to(base)`` maps estimates and covariances to it.

    References
    ----------
    .. [1] Gautier, Khalil (1990), "Direct calculation of minimum set of inertial parameters of
       serial robots", IEEE Trans. Robotics and Automation 6(3), doi:10.1109/70.56655.
    .. [2] Khalil, Dombre (2002), "Modeling, Identification and Control of Robots", ch. 9.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> robot = rid.load_robot("twolink")
    >>> basis = rid.textbook_base(robot)
    >>> basis.rank
    11
    """
    original = base_parameters(robot) if basis is None else basis
    # Considered columns in order of preference.
    index = {symbol: k for k, symbol in enumerate(original.symbols)}
    inertial = [
        index[f"{symbol}{k}"]
        for k, joint in enumerate(robot.joints, start=1)
        for symbol in _order_symbols(joint)
    ]
    others = [c for c in original.considered.tolist() if c not in set(inertial)]
    order = np.array([*inertial, *others], dtype=np.intp)
    # Columns of B have the dependences of the regressor's columns: Y = Y_b B.
    tolerance = NEGLIGIBLE_RANK_TOLERANCE if original.negligible else RANK_TOLERANCE
    leads = order[_find_independent(original.B[:, order], tolerance)]
    return original.change_leads(np.sort(leads), parameters.units(robot.prismatic))


def _order_symbols(joint: Joint) -> tuple[str, ...]:
    """Return the symbols of the inertial parameters of a link, the preferred leads first.

    Of the first moments, the one nearest to the axis comes last, as MZ in [1]. Of the moments of
    inertia, that about the axis comes first; of the two others, the later one is dependent, as YY.
    """
    along = np.round(np.abs(joint.axis), AXIS_DECIMALS)
    first = [FIRST_MOMENTS[k] for k in np.argsort(along, kind="stable")]
    about, transverse, left_over = (
        MOMENTS_OF_INERTIA[k] for k in np.argsort(-along, kind="stable")
    )
    if joint.prismatic:
        return ("m", *first, about, transverse, *PRODUCTS_OF_INERTIA, left_over)
    return (about, transverse, *PRODUCTS_OF_INERTIA, *first[:2], left_over, first[2], "m")


def _find_independent(columns: Float2D, tolerance: float) -> Int1D:
    """Return columns that are independent of previous ones, as many as there are rows.

    `columns`, shape (b, c), has rank b. If too few pass the tolerance, the columns farthest from
    the span of the others follow.
    """
    rank, remaining = len(columns), columns.copy()
    size = np.maximum(np.linalg.norm(columns, axis=0), 1.0)
    leads: list[int] = []
    for k in range(remaining.shape[1]):
        if np.linalg.norm(remaining[:, k]) > tolerance * size[k] and len(leads) < rank:
            leads.append(k)
            remaining = _outside(remaining, k)
    while len(leads) < rank:
        farthest = int((np.linalg.norm(remaining, axis=0) / size).argmax())
        leads.append(farthest)
        remaining = _outside(remaining, farthest)
    return np.array(leads, dtype=np.intp)


def _outside(columns: Float2D, k: int) -> Float2D:
    """Remove the parts of columns along column k."""
    direction = columns[:, k] / np.linalg.norm(columns[:, k])
    # Twice, because rounding errors of one pass reach the tolerance.
    for _ in range(2):
        columns = columns - np.outer(direction, direction @ columns)
    columns[:, k] = 0.0
    return columns
