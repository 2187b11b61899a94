"""Linear problems with exactly known motion."""

import numpy as np

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import joint_torque, torque_regressor
from robotid_sim.estimation.problem import LinearProblem
from robotid_sim.excitation.design import random_design
from robotid_sim.excitation.space import FourierOptions
from robotid_sim.measurement.motion import Motion


class Exact:
    """A robot on a designed trajectory: regressor, torque and parameters without any noise."""

    def __init__(self, robot, rate, *, period=10.0):
        self.robot = robot
        self.basis = base_parameters(robot)
        options = FourierOptions(period=period, periods=1)
        trajectory = random_design(
            robot, self.basis, np.random.default_rng(0), options=options, candidates=50
        )
        reference = trajectory(np.arange(round(period * rate)) / rate)
        state = (reference.q, reference.dq, reference.ddq)
        self.dt = 1.0 / rate
        self.state = state
        self.tau = joint_torque(robot, *state)
        columns = self.basis.columns
        self.W = torque_regressor(robot, *state, columns).reshape(-1, self.basis.rank)
        self.beta = self.basis.project(robot.parameters())
        self.noise = 0.01 * np.sqrt((self.tau**2).mean(axis=0))

    def problem(self, noise=0.0):
        """Return the problem with `noise`, shape (N, n), added to the torque."""
        return LinearProblem(
            self.W,
            (self.tau + noise).ravel(),
            self.basis,
            self.robot.joint_names,
            self.dt,
            self.robot,
        )

    def motion(self, tau):
        """Return the exact motion with measured torques `tau`, every sample a row."""
        t = self.dt * np.arange(len(tau))
        return Motion(t, *self.state, tau, self.robot.joint_names)

    def white(self, rng):
        """Return white noise of 1 % of the RMS torque of every joint."""
        return self.noise * rng.standard_normal(self.tau.shape)
