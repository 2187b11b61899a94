"""Derivatives of the torque by the state, and mass matrices, along a motion."""

import numpy as np
from scipy.interpolate import make_interp_spline

from robotid_sim.arrays import Float, Float2D, Int1D
from robotid_sim.dynamics.dynamics import mass_matrix, rigid_body_torque
from robotid_sim.dynamics.running_terms import rotor_coupling
from robotid_sim.dynamics.term_torques import term_slopes
from robotid_sim.model.robot import Robot

COARSE = 0.02
"""Time between the states at which derivatives and inertia of rigid bodies are taken [s]."""


def slopes_of(robot: Robot, q: Float2D, dq: Float2D, ddq: Float2D, dt: float) -> Float:
    """Return the derivatives of every joint's torque by its own q, dq and ddq.

    Those of rigid bodies change slowly and are taken at some of the samples; that of the smooth
    sign is exact.

    Motions have shape (N, n), the slopes (3, N, n): torque [N m or N] per unit of position,
    velocity and acceleration.
    """
    some = _some_of(len(q), dt)
    at, result = (q[some], dq[some], ddq[some]), np.empty((3, *q.shape))
    inertia = np.diagonal(mass_matrix(robot, at[0]), axis1=1, axis2=2)
    every = np.arange(len(q))
    for j, joint in enumerate(robot.joints):
        for kind in (0, 1):
            sides = []
            for sign in (1.0, -1.0):
                moved = [part.copy() for part in at]
                moved[kind][:, j] += sign * 1e-5
                sides.append(rigid_body_torque(robot, *moved)[:, j])
            result[kind, :, j] = np.interp(every, some, (sides[0] - sides[1]) / 2e-5)
        result[2, :, j] = np.interp(every, some, inertia[:, j])
        law = joint.friction
        steep = 1.0 - np.tanh(dq[:, j] / law.eps) ** 2
        result[1, :, j] += law.Fv + law.Fc / law.eps * steep
    if robot.terms:
        result += term_slopes(robot, q, dq, ddq)
    return result


def inertia_of(robot: Robot, q: Float2D, dt: float) -> Float:
    """Return the mass matrices with motors that joints share, interpolated between some samples.

    Positions have shape (N, n), samples dt apart [s], and the matrices shape (N, n, n).
    """
    some, coupling = _some_of(len(q), dt), rotor_coupling(robot, robot.terms)
    found = make_interp_spline(some, mass_matrix(robot, q[some]), k=1)(np.arange(len(q)))
    return np.asarray(found if coupling is None else found + coupling)


def _some_of(samples: int, dt: float) -> Int1D:
    """Return the samples at which what changes slowly is taken."""
    step = max(1, round(COARSE / dt))
    return np.unique(np.append(np.arange(0, samples, step), samples - 1))
