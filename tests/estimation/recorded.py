"""Recordings of a robot in a loop whose controller no estimator knows."""

from dataclasses import replace

import numpy as np

from robotid_sim.dynamics import kernels
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, mass_matrix
from robotid_sim.estimation.problem import LinearProblem, build_problem
from robotid_sim.estimation.recording import RecordedLog
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.friction_law import coefficients_of

STIFFNESS, DAMPING = 400.0, 40.0
"""Of the controller, over the inertia [1/s^2, 1/s]."""

LOUDER = 3.0
"""Noise of the rows that give the start, over that of the recorded torques."""


class Recorded:
    """A robot on a designed trajectory, stepped by the midpoint rule."""

    def __init__(self, robot, *, rate=250.0, period=6.0):
        self.robot, self.dt = robot, 1.0 / rate
        self.basis = base_parameters(robot)
        self.beta = self.basis.project(robot.parameters())
        options = FourierOptions(period=period, periods=1)
        rng = np.random.default_rng(0)
        trajectory = random_design(robot, self.basis, rng, options=options, candidates=50)
        self.reference = trajectory(np.arange(round(period * rate)) / rate)
        states = (self.reference.q, self.reference.dq, self.reference.ddq)
        self.ahead = joint_torque(robot, *states)
        self.inertia = np.diagonal(mass_matrix(robot, self.reference.q), axis1=1, axis2=2)
        size = np.sqrt((self.ahead**2).mean(axis=0))
        self.position_noise = np.full(robot.dof, 1e-4)
        self.torque_noise = 0.01 * size

    def problem(self, seed=None, *, feedback=False) -> LinearProblem:
        """Return rows along the exact motion, and the recording; without noise if no seed is given.

        With `feedback` the controller sees the noisy positions.
        """
        rng = np.random.default_rng(seed)
        level = 0.0 if seed is None else 1.0
        shape = self.reference.q.shape
        n = level * self.position_noise * rng.standard_normal(shape)
        v = level * self.torque_noise * rng.standard_normal(shape)
        start, q, (middle, tau) = self._run(n if feedback else 0.0 * n)
        rows = tau + LOUDER * v[::-1]
        motion = Motion(self.dt * np.arange(len(q)), *middle, rows, self.robot.joint_names)
        recording = RecordedLog(
            q=q + n,
            tau=tau + v,
            dq=start,
            valid=np.ones(shape, dtype=bool),
            dt=self.dt,
            lead=0.0,
            position_noise=self.position_noise if level else np.full(self.robot.dof, 1e-9),
        )
        problem = build_problem(motion, self.robot, self.basis)
        return replace(problem, recordings=(recording,))

    def _run(self, seen):
        """Return the first velocity, the positions, and state and torque of every step."""
        robot, h, reference = self.robot, self.dt, self.reference
        model = (robot.geometry, robot.gravity, robot.parameters(), coefficients_of(robot))
        q, dq = reference.q[0].copy(), reference.dq[0].copy()
        start, positions, steps, torques = dq.copy(), [], [], []
        for k in range(len(reference.q)):
            error = reference.q[k] - q - seen[k]
            rate = reference.dq[k] - dq
            tau = self.ahead[k] + self.inertia[k] * (STIFFNESS * error + DAMPING * rate)
            middle = q + 0.5 * h * dq
            _, ddq, acted, _, ok = kernels.plant_step(*model, middle, dq, tau, h)
            assert ok
            positions.append(q.copy())
            steps.append((middle, acted, ddq))
            torques.append(tau)
            q, dq = q + h * dq + 0.5 * h * h * ddq, dq + h * ddq
        parts = (np.array(part) for part in zip(*steps, strict=True))
        return start, np.array(positions), (tuple(parts), np.array(torques))
