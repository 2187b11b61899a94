"""Joints of a robot's tree that are locked in its chain but may be in a log."""

import numpy as np

from robotid_sim.errors import LogError
from robotid_sim.importing.raw_log import RawLog
from robotid_sim.importing.units import UNITS, parse_column
from robotid_sim.model.chain import find_chain_ends, mass_behind, path_to
from robotid_sim.model.robot import Robot

MAX_REST_MOTION = 0.02
"""Largest motion of a joint at rest [rad or m]."""

MAX_MASS_SHARE = 0.1
"""Largest share of the arm's mass behind a joint whose motion is only reported."""


def joints_of_tree(robot: Robot) -> tuple[str, ...]:
    """List the joints of the robot and those of its file that are locked, which a log may have."""
    document = robot.document
    others = [] if document is None else [j.name for j in document.joints.values() if j.is_movable]
    return tuple(dict.fromkeys((*robot.joint_names, *others)))


def require_at_rest(recording: RawLog, robot: Robot) -> tuple[str, ...]:
    """Raise `LogError` if joints that the robot holds locked move in a recording.

    Mimic joints move with the joint that they follow. Joints that carry little, such as fingers,
    are only noted in the result.
    """
    document = robot.document
    motion_ranges: dict[str, float] = {}
    for name in recording.columns:
        column = parse_column(name, joints_of_tree(robot))
        if column.quantity == "position" and column.joint is not None:
            values = recording.columns[name][np.isfinite(recording.columns[name])]
            scale = UNITS["position"][column.unit or "rad"]
            motion_ranges[str(column.joint)] = float(np.ptp(values)) * scale if values.size else 0.0
    if document is None:
        return ()
    for joint in document.joints.values():  # mimic joints are rarely logged
        if joint.mimic:
            motion_ranges.setdefault(joint.name, motion_ranges.get(joint.mimic, 0.0))
    moving = [
        n
        for n, way in motion_ranges.items()
        if way > MAX_REST_MOTION and n not in robot.joint_names
    ]
    if not moving:
        return ()
    masses = {name: mass_behind(document, name) for name in moving}
    bound = MAX_MASS_SHARE * sum(float(link.phi[0]) for link in robot.links)
    way = {joint.name for joint in path_to(document, document.root, robot.tip)}
    significant = [name for name in moving if name in way or masses[name] > bound]
    if not significant:
        return (f"joints that are locked move in the log and carry little: {', '.join(moving)}",)
    followers = [name for name in significant if document.joints[name].mimic]
    if followers:
        raise LogError(
            f"{', '.join(followers)} of '{robot.name}' follow other joints (mimic) and move in the "
            "log; keep them at rest, or give a model without them"
        )
    remedy = find_chain_ends(document, [*robot.joint_names, *moving])
    remedy = remedy or find_chain_ends(document, [*robot.joint_names, *significant])
    raise LogError(
        f"in the log {', '.join(moving)} of '{robot.name}' moved, which the chain from "
        f"'{robot.base}' to '{robot.tip}' holds locked; "
        + (f"choose --base {remedy[0]} --tip {remedy[1]}" if remedy else "keep them at rest")
    )
