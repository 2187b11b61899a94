"""What acts on the joints of a compiled MuJoCo model: drives, friction, springs, couplings.

Names of arrays are MuJoCo's; a model of an older MuJoCo lacks some of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model.joint_terms import SPRING, JointTerm

HINGE, SLIDE = 3, 2
"""Types of joints that a robot may have; 0 is free, 1 a ball."""

FREE, BALL = 0, 1
EQUALITY_JOINT = 2
ON_JOINT = (0, 1)
"""Transmissions of an actuator that act on a joint."""

FIXED_GAIN, NO_BIAS = 0, 0


@dataclass(frozen=True, slots=True, eq=False)
class MjcfDrives:
    """What acts on every joint, by its number in the model, and what has no counterpart."""

    effort: Float1D
    """Torque limit [N m or N], zero where there is none, shape (njnt,)."""
    Fv: Float1D
    Fc: Float1D
    Ia: Float1D
    coupled: frozenset[int]
    """Joints whose position an equality constraint makes that of another one."""
    springs: tuple[JointTerm, ...]
    notes: tuple[str, ...]


def read_drives(model: Any, joint_names: list[str]) -> MjcfDrives:
    """Return the drives of a compiled ``mujoco.MjModel``, whose joints have these names."""
    joints = range(model.njnt)
    single = [j for j in joints if model.jnt_type[j] in (HINGE, SLIDE)]
    notes: list[str] = []
    fields = {"dof_damping": np.zeros(model.njnt), "dof_frictionloss": np.zeros(model.njnt)}
    fields["dof_armature"] = np.zeros(model.njnt)
    for name, values in fields.items():
        values[single] = getattr(model, name)[model.jnt_dofadr[single]]
    for field, name in (("actuator_armature", "dof_armature"), ("actuator_damping", "dof_damping")):
        # What actuators add to a joint is by the square of their gear.
        values = np.asarray(getattr(model, field, np.zeros(model.nu)))
        added = model.actuator_gear[:, 0] ** 2 * values
        fields[name] += [float(sum(added[k] for k in _on_joint(model, j))) for j in joints]
    springs = [
        JointTerm(SPRING, joint_names[j], (float(k), float(-k * rest)))
        for j in single
        if (k := model.jnt_stiffness[j])
        for rest in [model.qpos_spring[model.jnt_qposadr[j]]]
    ]
    effort = _efforts(model, joint_names, notes)
    for field, words in (("jnt_stiffnesspoly", "stiffness"), ("dof_dampingpoly", "damping")):
        if (curves := getattr(model, field, None)) is None:
            continue
        rows = single if field.startswith("jnt") else model.jnt_dofadr[single]
        bent = [joint_names[j] for j, row in zip(single, curves[rows], strict=True) if row.any()]
        if bent:
            notes.append(f"{words} beyond its linear part is left out: {', '.join(bent)}")
    coupled = _coupled(model)
    if names := ", ".join(dict.fromkeys(joint_names[j] for j in coupled)):
        notes.append(f"joints that follow others do not move: {names}")
    return MjcfDrives(
        effort=effort,
        Fv=fields["dof_damping"],
        Fc=fields["dof_frictionloss"],
        Ia=fields["dof_armature"],
        coupled=frozenset(coupled),
        springs=tuple(springs),
        notes=(*notes, *_left_out(model)),
    )


def _on_joint(model: Any, j: int) -> list[int]:
    """Return the actuators of a joint."""
    return [
        k
        for k in range(model.nu)
        if model.actuator_trntype[k] in ON_JOINT and model.actuator_trnid[k, 0] == j
    ]


def _efforts(model: Any, joint_names: list[str], notes: list[str]) -> Float1D:
    """Return the torque limit of every joint, zero where there is none, shape (njnt,)."""
    efforts, uneven = np.zeros(model.njnt), []
    for j in range(model.njnt):
        bounds = [_of_actuator(model, k) for k in _on_joint(model, j)]
        total = np.sum(bounds, axis=0) if bounds else np.full(2, np.inf)
        if model.jnt_actfrclimited[j]:
            lower, upper = model.jnt_actfrcrange[j]
            total = np.minimum(total, [-lower, upper])
        least = float(min(total)) if min(total) > 0.0 else float(max(total))
        efforts[j] = least if 0.0 < least < np.inf else 0.0
        if total[0] != total[1]:
            uneven.append(joint_names[j])
    if uneven:
        notes.append(
            "torque limits that differ between the directions, the smaller one is taken: "
            + ", ".join(uneven)
        )
    return efforts


def _of_actuator(model: Any, k: int) -> Float1D:
    """Return the largest torques of an actuator in either direction, down and up, shape (2,)."""
    force = np.full(2, np.inf)
    if model.actuator_forcelimited[k]:
        force = np.array([-1.0, 1.0]) * model.actuator_forcerange[k]
    elif (
        model.actuator_ctrllimited[k]
        and model.actuator_gaintype[k] == FIXED_GAIN
        and model.actuator_biastype[k] == NO_BIAS
    ):
        force = np.array([-1.0, 1.0]) * model.actuator_ctrlrange[k] * model.actuator_gainprm[k, 0]
    gear = float(model.actuator_gear[k, 0])
    return np.asarray(abs(gear) * (force if gear >= 0.0 else force[::-1]))


def _coupled(model: Any) -> Iterable[int]:
    for e in range(model.neq):
        if model.eq_type[e] == EQUALITY_JOINT:
            yield int(model.eq_obj1id[e])


def _left_out(model: Any) -> list[str]:
    """Return what of a model has no counterpart, one sentence each."""
    notes = []
    others = [e for e in range(model.neq) if model.eq_type[e] != EQUALITY_JOINT]
    if others:
        notes.append(f"equality constraints are left out: {_listed(model, 'eq', others)}")
    if model.ntendon:
        notes.append(f"tendons are left out: {_listed(model, 'tendon', range(model.ntendon))}")
    elsewhere = [k for k in range(model.nu) if model.actuator_trntype[k] not in ON_JOINT]
    if elsewhere:
        which = _listed(model, "actuator", elsewhere)
        notes.append(f"actuators that are not on a joint are left out: {which}")
    servos = [k for k in range(model.nu) if model.actuator_biastype[k] != NO_BIAS]
    if servos:
        notes.append("gains of servo actuators are left out; the controllers are robotid's own")
    held = [b for b in range(model.nbody) if model.body_gravcomp[b]]
    if held:
        notes.append(f"gravity compensation is left out: {_listed(model, 'body', held)}")
    return notes


def _listed(model: Any, kind: str, numbers: Iterable[int]) -> str:
    return ", ".join(getattr(model, kind)(k).name or f"number {k}" for k in numbers)
