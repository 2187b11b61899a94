"""Conversion of chains to and from models of Pinocchio, an optional package."""

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import UrdfError, require_extra
from robotid_sim.model.geometry import Link
from robotid_sim.model.joint import (
    ACCELERATION_RATIO,
    DEFAULT_EPS_PRISMATIC,
    DEFAULT_EPS_REVOLUTE,
    MAX_RANGE,
    UNLIMITED_VELOCITY,
    Friction,
    Joint,
)


def build_pinocchio(
    joints: Sequence[Joint], links: Sequence[Link], gravity: Float1D, tip: tuple[str, Float2D]
) -> Any:
    """Build a Pinocchio model of a chain; `tip` is a frame on the last body, by name and pose."""
    pin = _pinocchio()
    model, parent = pin.Model(), 0
    model.gravity = pin.Motion(np.array(gravity), np.zeros(3))
    for joint, link in zip(joints, links, strict=True):
        kind = (
            pin.JointModelPrismaticUnaligned if joint.prismatic else pin.JointModelRevoluteUnaligned
        )
        placement, limits = pin.SE3(np.array(joint.T_parent_joint)), (joint.effort, joint.velocity)
        ends = (joint.lower, joint.upper)
        numbers = (np.array([value]) for value in (*limits, *ends))
        parent = model.addJoint(parent, kind(np.array(joint.axis)), placement, joint.name, *numbers)
        model.addJointFrame(parent)
        if link.phi[0] > 0.0:
            body = pin.Inertia.FromDynamicParameters(np.array(link.phi))
            model.appendBodyToJoint(parent, body, pin.SE3.Identity())
        _add_frame(pin, model, link.name, parent, np.eye(4), "BODY")
    model.armature = np.array([joint.rotor_inertia for joint in joints])
    model.damping = np.array([joint.friction.Fv for joint in joints])
    model.friction = np.array([joint.friction.Fc for joint in joints])
    _add_frame(pin, model, tip[0], parent, tip[1], "OP_FRAME")
    return model


def read_pinocchio(model: Any) -> tuple[tuple[Joint, ...], tuple[Link, ...], Float1D]:
    """Read joints, links and gravity of a Pinocchio model that is a chain.

    Raises `UrdfError` if the model branches, or a joint has no limits, or does not have exactly one
    degree of freedom.
    """
    pin = _pinocchio()
    if list(model.parents)[1:] != list(range(model.njoints - 1)):
        raise UrdfError("the Pinocchio model branches; reduce it with pinocchio.buildReducedModel")
    many = [str(model.names[k]) for k in range(1, model.njoints) if model.nvs[k] != 1]
    if many:
        raise UrdfError(f"joint '{many[0]}' of the Pinocchio model needs one degree of freedom")
    data = model.createData()
    joints = []
    for k in range(1, model.njoints):
        pin.forwardKinematics(model, data, pin.neutral(model), np.eye(model.nv)[model.idx_vs[k]])
        joints.append(_joint(model, k, data.v[k]))
    frames = {
        frame.parentJoint: frame.name
        for frame in reversed(list(model.frames))
        if frame.type == pin.FrameType.BODY
    }
    links = tuple(
        Link(frames.get(k, model.names[k]), model.inertias[k].toDynamicParameters())
        for k in range(1, model.njoints)
    )
    return tuple(joints), links, np.array(model.gravity.linear)


def _joint(model: Any, k: int, motion: Any) -> Joint:
    """Read joint k, whose axis is along its velocity in its own frame."""
    name, at = str(model.names[k]), model.idx_vs[k]
    prismatic = bool(np.linalg.norm(motion.linear) > np.linalg.norm(motion.angular))
    lower, upper = -np.pi, np.pi  # limits of a continuous joint, which has two coordinates
    if model.nqs[k] == 1:
        place = model.idx_qs[k]
        lower, upper = model.lowerPositionLimit[place], model.upperPositionLimit[place]
    velocity, effort = float(model.velocityLimit[at]), float(model.effortLimit[at])
    if not (0.0 < velocity < UNLIMITED_VELOCITY and upper - lower <= MAX_RANGE):
        raise UrdfError(
            f"joint '{name}' of the Pinocchio model has no limits; set lowerPositionLimit, "
            "upperPositionLimit and velocityLimit of the model"
        )
    return Joint(
        name=name,
        T_parent_joint=model.jointPlacements[k].homogeneous,
        axis=np.array(motion.linear if prismatic else motion.angular),
        prismatic=prismatic,
        lower=float(lower),
        upper=float(upper),
        velocity=velocity,
        acceleration=ACCELERATION_RATIO * velocity,
        effort=effort if 0.0 < effort < np.inf else np.inf,
        friction=Friction(
            Fv=float(model.damping[at]),
            Fc=float(model.friction[at]),
            eps=DEFAULT_EPS_PRISMATIC if prismatic else DEFAULT_EPS_REVOLUTE,
        ),
        rotor_inertia=float(model.armature[at]),
    )


def _add_frame(pin: Any, model: Any, name: str, joint: int, T: Float2D, kind: str) -> None:
    model.addFrame(pin.Frame(name, joint, pin.SE3(np.array(T)), getattr(pin.FrameType, kind)))


def _pinocchio() -> Any:
    with require_extra("models of Pinocchio need it", "pinocchio"):
        return importlib.import_module("pinocchio")
