"""One joint in closed form, and small loops for it."""

import numpy as np

from robotid_sim.control.controller import Setpoint
from robotid_sim.control.gains import LoopGains
from robotid_sim.engine.plant import Plant
from robotid_sim.model.robot import Robot
from robotid_sim.trajectory.reference import PointToPoint

INERTIA = 0.4  # [kg m^2]
DT = 1e-3  # [s]
EFFORT = 1000.0  # [N m]

TURNTABLE = """<robot name="turntable">
  <link name="base"/>
  <link name="table">
    <inertial>
      <mass value="3"/>
      <inertia ixx="0.3" ixy="0" ixz="0" iyy="0.3" iyz="0" izz="{inertia}"/>
    </inertial>
  </link>
  <joint name="turn" type="revolute">
    <parent link="base"/>
    <child link="table"/>
    <axis xyz="0 0 1"/>
    <limit lower="-3" upper="3" velocity="20" effort="{effort}"/>
  </joint>
</robot>
"""


def turntable_robot(folder, effort=EFFORT):
    """Return one vertical joint without gravity torque and friction."""
    path = folder / "turntable.urdf"
    path.write_text(TURNTABLE.format(inertia=INERTIA, effort=effort))
    return Robot.from_urdf(path)


def loop_gains(bandwidth, gain, disturbance=0.0):
    """Return gains of the turntable, as the specification would make them."""
    return LoopGains(
        bandwidth=bandwidth,
        inertia=np.array([INERTIA]),
        gain=np.array([gain]),
        layer=np.array([gain / (INERTIA * bandwidth)]),
        error_bound=np.array([disturbance / (INERTIA * bandwidth**2)]),
        disturbance=np.array([disturbance]),
        rate=1.0 / DT,
    )


def regulate(robot, controller, offset, seconds, disturbance=0.0, *, goal=0.0):
    """Return error, its rate and the command of a setpoint at `goal`, shape (N,) each.

    The disturbance [N m] is a number or a function of time.
    """
    zero, target = np.zeros(1), np.array([goal])
    outside = disturbance if callable(disturbance) else lambda t: disturbance
    rows = []
    controller.reset()
    with Plant(robot, dt=DT) as plant:
        plant.reset(target - offset, zero)
        for k in range(round(seconds / DT)):
            torque = controller(k * DT, plant.q, plant.dq, Setpoint(target, zero, zero))
            rows.append((goal - plant.q[0], -plant.dq[0], torque[0]))
            plant.step(torque, np.array([outside(k * DT)]))
    return np.array(rows).T


def sliding_alone(controller, start, seconds, dt, disturbance=lambda t, s: 0.0):
    """Return the sliding variable [rad/s] of the turntable's velocity, shape (N,), by Euler steps.

    The position is held at the setpoint, so that s is minus the velocity and the law of s is all
    there is: for closed forms, at steps that the engine would be slow at. The bandwidth of the law
    must be next to nothing.
    """
    zero, s, found = np.zeros(1), start, []
    controller.reset()
    for k in range(round(seconds / dt)):
        found.append(s)
        torque = controller(k * dt, zero, np.array([-s]), Setpoint(zero, zero, zero))[0]
        s -= dt * (torque + disturbance(k * dt, s)) / INERTIA
    return np.array(found)


def some_state(robot, seed):
    """Return a random position within the limits, velocity and acceleration."""
    rng = np.random.default_rng(seed)
    q = rng.uniform(robot.limits.lower, robot.limits.upper)
    return q, *rng.standard_normal((2, robot.dof))


def path_of(robot):
    """Return a short motion from the home pose."""
    motion = PointToPoint(robot.joint_names, robot.home, robot.home + 0.1, 0.0, 0.5)
    return motion(np.linspace(0.0, 0.5, 20))
