"""The links of a robot that do not move, and their shapes."""

from dataclasses import replace

import numpy as np

from robotid_sim.arrays import Float2D
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.robot import Robot


def fixed_links(robot: Robot) -> list[tuple[str, Float2D, tuple[GeometryShape, ...]]]:
    """Return name, pose in the root frame, shape (4, 4), and shapes of every link of the base."""
    document = robot.document
    if document is None:
        return []
    links: list[tuple[str, Float2D, tuple[GeometryShape, ...]]] = []
    stack: list[tuple[str, Float2D]] = [(document.root, np.eye(4))]
    while stack:
        name, T = stack.pop()
        links.append((name, T, document.links[name].shapes))
        for joint in document.joints_below(name):
            if joint.name not in robot.joint_names:
                stack.append((joint.child, T @ joint.T_parent_joint))
    return links


def base_shapes(robot: Robot) -> tuple[GeometryShape, ...]:
    """Return the shapes of everything that does not move, placed in the root frame."""
    return tuple(
        replace(shape, T_body_shape=T @ shape.T_body_shape)
        for _, T, shapes in fixed_links(robot)
        for shape in shapes
    )
