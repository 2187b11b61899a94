"""Computation delay: commands come one sample late, unchanged."""

import numpy as np

from robotid_sim.control.controller import Controller, Delayed, Setpoint
from robotid_sim.control.linear_feedback import ComputedTorque
from robotid_sim.engine.plant import Plant
from robotid_sim.experiment.rollout import rollout
from robotid_sim.trajectory.reference import PointToPoint


class Counter(Controller):
    """Returns how often it was called, in an array that it reuses."""

    def __init__(self):
        self.command = np.zeros(2)

    def __call__(self, t, q, dq, setpoint):
        self.command += 1.0
        return self.command

    def reset(self):
        self.command[:] = 0.0


ZERO = np.zeros(2)
SETPOINT = Setpoint(ZERO, ZERO, ZERO)


def commands(controller, count):
    return [controller(0.0, ZERO, ZERO, SETPOINT)[0] for _ in range(count)]


def test_commands_come_one_sample_late_and_the_first_is_held():
    assert commands(Delayed(Counter()), 5) == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_reset_forgets_the_waiting_command_and_resets_the_controller():
    delayed = Delayed(Counter())
    first = commands(delayed, 3)
    delayed.reset()
    assert commands(delayed, 3) == first


def test_delays_add_up():
    assert commands(Delayed(Delayed(Counter())), 5) == [1.0, 1.0, 1.0, 2.0, 3.0]


def test_a_loop_with_delay_tracks_a_little_worse(arm):
    motion = PointToPoint(arm.joint_names, arm.home, arm.home + 0.3, 0.0, 0.5)
    errors = []
    for controller in (ComputedTorque(arm), Delayed(ComputedTorque(arm))):
        with Plant(arm) as plant:
            log = rollout(plant, controller, motion)
        errors.append(np.abs(log.q - motion(log.t).q).max())
    assert errors[0] < errors[1] < 1e-3
