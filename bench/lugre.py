"""A plant whose joints have LuGre friction, which no model of ours has.

References
----------
.. [1] Canudas de Wit, Olsson, Astrom, Lischinsky (1995), "A new model for control of systems with
   friction", IEEE TAC 40(3), doi:10.1109/9.376053.
"""

from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics import kernels
from robotid_sim.engine.drives import DriveStep
from robotid_sim.engine.plant import Plant
from robotid_sim.model.friction_law import StickSlip
from robotid_sim.model.robot import Robot

DISTANCE = 1e-4
"""Deflection at the Coulomb level [rad]: Fc over the stiffness sigma0 of the bristles."""
STATIC = 1.3
"""Friction at standstill over the Coulomb level."""
STRIBECK = 0.1
"""Stribeck velocity [rad/s]."""
ROUNDS = 12


class LuGreStep:
    r"""Step of ``sigma0 z + sigma1 dz/dt + Fv v``, :math:`dz/dt = v - \sigma_0 |v| z / g(v)`.

    Implicit in the velocity, by Newton's method: the bristles are far too stiff for the step.
    """

    def __init__(self, robot: Robot, dt: float) -> None:
        self._model, self._dt = (robot.geometry, robot.gravity, robot.parameters()), dt
        self._rotors = np.diag([joint.rotor_inertia for joint in robot.joints])
        self._Fc = np.array([joint.friction.Fc for joint in robot.joints])
        self._Fv = np.array([joint.friction.Fv for joint in robot.joints])
        self._sigma0 = self._Fc / DISTANCE
        self._sigma1 = np.sqrt(self._sigma0 * np.diag(self._mass(robot.home)))
        self._z = np.zeros(robot.dof)

    def reset(self) -> None:
        """Let the bristles be unbent."""
        self._z[:] = 0.0

    def _mass(self, q: Float1D) -> np.ndarray:
        return kernels.mass_matrix(self._model[0], self._model[2], q[None])[0] + self._rotors

    def _torque(self, q: Float1D, dq: Float1D, ddq: Float1D) -> Float1D:
        return kernels.inverse_dynamics(*self._model, q[None], dq[None], ddq[None])[0]

    def _friction(self, v: Float1D) -> tuple[Float1D, Float1D, Float1D]:
        """Return friction at the end of a step, its slope over velocity, and the deflection."""
        h, s0 = self._dt, self._sigma0
        g = self._Fc * (1.0 + (STATIC - 1.0) * np.exp(-((v / STRIBECK) ** 2)))
        shrink = 1.0 + h * s0 * np.abs(v) / g
        z = (self._z + h * v) / shrink
        slope = h / shrink - (self._z + h * v) * h * s0 * np.sign(v) / g / shrink**2
        friction = s0 * z + self._sigma1 * (z - self._z) / h + self._Fv * v
        return friction, (s0 + self._sigma1 / h) * np.maximum(slope, 0.0) + self._Fv, z

    def __call__(self, q: Float1D, dq: Float1D, tau: Float1D) -> DriveStep:
        """Return what joints do within a step."""
        h, M, bias = self._dt, self._mass(q), self._torque(q, dq, np.zeros_like(q))
        v = dq.copy()
        for _ in range(ROUNDS):
            friction, slope, _ = self._friction(v)
            change = np.linalg.solve(
                M + h * np.diag(slope), M @ (v - dq) - h * (tau - bias - friction)
            )
            v = v - change
            if np.abs(change).max() < 1e-10:
                break
        friction, _, self._z = self._friction(v)
        ddq = np.linalg.solve(M, tau - bias - friction)
        return DriveStep(self._torque(q, dq, ddq), ddq, dq + 0.5 * h * ddq, friction)


class LuGrePlant(Plant):
    """The engine with LuGre friction in place of its own."""

    def __init__(self, robot: Robot, **options: Any) -> None:
        super().__init__(robot, friction=StickSlip(), **options)
        self._drive = LuGreStep(robot, self.dt / self.substeps)

    def reset(self, q: Float1D, dq: Float1D) -> None:
        """Start anew, with the bristles unbent."""
        super().reset(q, dq)
        if isinstance(self._drive, LuGreStep):  # not yet while the engine is being built
            self._drive.reset()
