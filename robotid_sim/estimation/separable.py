"""Linear problems with dry friction whose shape is not known."""

from dataclasses import dataclass, field

import numpy as np

from robotid_sim.arrays import Float, Float1D, Float2D, Int1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.errors import OptionError
from robotid_sim.estimation.extension import extended, joint_columns, rows_of
from robotid_sim.estimation.friction_shapes import FrictionShape
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot


@dataclass(frozen=True, slots=True, eq=False)
class SeparableProblem:
    """Rows with dry friction of some shape; nonlinear parameters are arrays (k, n)."""

    linear: LinearProblem
    """The rows with the friction of the nominal model."""
    motion: Motion
    """Where they come from."""
    nominal: Robot
    shape: FrictionShape
    coulomb: Int1D = field(init=False)
    """Columns of the linear problem that are Fc of every joint, shape (n,)."""

    def __post_init__(self) -> None:
        names = list(self.linear.basis.names)
        expected = [f"Fc{j + 1}" for j in range(self.nominal.dof)]
        if missing := [name for name in expected if name not in names]:
            raise OptionError(
                f"the shape of friction shows through Fc, which the problem lacks: "
                f"{', '.join(missing)}; add Fc to the joint parameters"
            )
        indices = np.array([names.index(name) for name in expected], dtype=np.intp)
        object.__setattr__(self, "coulomb", indices)

    def shaped(self, values: Float2D) -> Float:
        """Return the shaped columns' own rows, shape (m, N, n)."""
        columns = self.shape.columns(self.motion.dq, values, self.nominal.eps)
        return np.array([rows_of(self.motion, c) for c in columns])

    def slopes(self, values: Float2D) -> Float:
        """Return their derivatives by the logarithms of `values`, shape (k, m, N, n)."""
        all_slopes = self.shape.derivatives(self.motion.dq, values, self.nominal.eps)
        return np.array([[rows_of(self.motion, c) for c in row] for row in all_slopes])

    def design(self, values: Float2D, active: Int1D) -> LinearProblem:
        """Return the linear problem for given nonlinear parameters.

        Only active joints have the further linear parameters of the shape, which come last,
        by parameter.
        """
        first, *more = self.shaped(values)
        W = np.array(self.linear.W)
        W[:, self.coulomb] = joint_columns(first)
        problem = LinearProblem(
            W, self.linear.y, self.linear.basis, self.linear.joint_names, self.linear.dt
        )
        if not more or not active.size:
            return problem
        symbols = [f"{name}{j + 1}" for name in self.shape.linear[1:] for j in active]
        units = [self.linear.basis.units[self.coulomb[j]] for _ in more for j in active]
        columns = np.hstack([joint_columns(rows)[:, active] for rows in more])
        return extended(problem, columns, symbols, units)

    def tangent(self, values: Float2D, beta: Float1D, active: Int1D) -> Float2D:
        """Return the torque per change of the active joints' log parameters, shape (N n, k a).

        Nonlinear `values` have shape (k, n), and `beta` are the linear parameters of
        `design`.
        """
        levels = np.zeros((len(self.shape.linear), self.nominal.dof))
        levels[0] = beta[self.coulomb]
        levels[1:, active] = beta[self.linear.basis.rank :].reshape(-1, active.size)
        torque = (self.slopes(values) * levels[:, None]).sum(axis=1)
        return np.hstack([joint_columns(rows)[:, active] for rows in torque])


def separable_problem(
    motion: Motion, nominal: Robot, basis: BaseParameters, shape: FrictionShape
) -> SeparableProblem:
    """Return the separable problem of a motion; see `build_problem`.

    The basis has Fc of every joint among its parameters; the eps of the nominal robot is that
    of shapes which do not search it.
    """
    return SeparableProblem(build_problem(motion, nominal, basis), motion, nominal, shape)
