"""Conversion of a compiled MuJoCo model to a tree of links and joints, as URDF text.

A MuJoCo body may have several joints, each with an anchor of its own, and a joint may have a
position `ref` in the pose of the file. The frame of a URDF link is at its joint, at zero: so a link
is shifted to the anchor of the last joint of its body, links without mass are inserted between
several joints, and a joint is turned back by its `ref`, so that positions are those of MuJoCo.

The module also reads the elements that act on joints: drives, friction, springs, couplings. Names
of arrays are MuJoCo's; an older MuJoCo does not have all of them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lxml import etree
from scipy.spatial.transform import Rotation

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.inputs import real_path
from robotid_sim.model.geometry import number_text, rpy_from_rotation, transform
from robotid_sim.model.joint_terms import SPRING, JointTerm

HINGE, SLIDE = 3, 2
"""Types of joints that a robot may have; 0 is free, 1 a ball."""

FREE_JOINT_TYPE, BALL_JOINT_TYPE = 0, 1
EQUALITY_JOINT_TYPE = 2
JOINT_TRANSMISSIONS = (0, 1)
"""Transmissions of an actuator that act on a joint."""

FIXED_GAIN, NO_BIAS = 0, 0


@dataclass(frozen=True, slots=True, eq=False)
class MjcfDrives:
    """Drives of every joint, by the joint's number in the model, and notes on other actuators."""

    effort: Float1D
    """Torque limit [N m or N], zero where there is none, shape (njnt,)."""
    Fv: Float1D
    Fc: Float1D
    Ia: Float1D
    coupled: Mapping[int, int]
    """Joints with an equality constraint, and the joint that each follows (-1: a constant)."""
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
        # Actuators contribute to a joint by the square of their gear.
        values = np.asarray(getattr(model, field, np.zeros(model.nu)))
        added = model.actuator_gear[:, 0] ** 2 * values
        fields[name] += [float(sum(added[k] for k in _list_actuators(model, j))) for j in joints]
    springs = [
        JointTerm(SPRING, joint_names[j], (float(k), float(-k * position)))
        for j in single
        if (k := model.jnt_stiffness[j])
        for position in [model.qpos_spring[model.jnt_qposadr[j]]]
    ]
    effort = _efforts(model, joint_names, notes)
    for field, words in (("jnt_stiffnesspoly", "stiffness"), ("dof_dampingpoly", "damping")):
        if (curves := getattr(model, field, None)) is None:
            continue
        rows = single if field.startswith("jnt") else model.jnt_dofadr[single]
        curved = [joint_names[j] for j, row in zip(single, curves[rows], strict=True) if row.any()]
        if curved:
            notes.append(f"{words} beyond its linear part is omitted: {', '.join(curved)}")
    equal = [e for e in range(model.neq) if model.eq_type[e] == EQUALITY_JOINT_TYPE]
    coupled = {int(model.eq_obj1id[e]): int(model.eq_obj2id[e]) for e in equal}
    if names := ", ".join(dict.fromkeys(joint_names[j] for j in coupled)):
        notes.append(f"joints that follow others do not move: {names}")
    return MjcfDrives(
        effort=effort,
        Fv=fields["dof_damping"],
        Fc=fields["dof_frictionloss"],
        Ia=fields["dof_armature"],
        coupled=coupled,
        springs=tuple(springs),
        notes=(*notes, *_list_omissions(model)),
    )


def _list_actuators(model: Any, j: int) -> list[int]:
    """Return the actuators of a joint."""
    return [
        k
        for k in range(model.nu)
        if model.actuator_trntype[k] in JOINT_TRANSMISSIONS and model.actuator_trnid[k, 0] == j
    ]


def _efforts(model: Any, joint_names: list[str], notes: list[str]) -> Float1D:
    """Return the torque limit of every joint, zero where there is none, shape (njnt,)."""
    efforts, uneven = np.zeros(model.njnt), []
    for j in range(model.njnt):
        bounds = [_actuator_limits(model, k) for k in _list_actuators(model, j)]
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


def _actuator_limits(model: Any, k: int) -> Float1D:
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


def _list_omissions(model: Any) -> list[str]:
    """List elements of a model without a counterpart, one sentence each."""
    notes = []
    others = [e for e in range(model.neq) if model.eq_type[e] != EQUALITY_JOINT_TYPE]
    if others:
        notes.append(f"equality constraints are omitted: {_list_names(model, 'eq', others)}")
    if model.ntendon:
        notes.append(f"tendons are omitted: {_list_names(model, 'tendon', range(model.ntendon))}")
    elsewhere = [k for k in range(model.nu) if model.actuator_trntype[k] not in JOINT_TRANSMISSIONS]
    if elsewhere:
        which = _list_names(model, "actuator", elsewhere)
        notes.append(f"actuators that are not on a joint are omitted: {which}")
    servos = [k for k in range(model.nu) if model.actuator_biastype[k] != NO_BIAS]
    if servos:
        notes.append("gains of servo actuators are omitted; the controllers are robotid's own")
    compensated = [b for b in range(model.nbody) if model.body_gravcomp[b]]
    if compensated:
        notes.append(f"gravity compensation is omitted: {_list_names(model, 'body', compensated)}")
    return notes


def _list_names(model: Any, kind: str, numbers: Iterable[int]) -> str:
    return ", ".join(getattr(model, kind)(k).name or f"number {k}" for k in numbers)


SHAPE_NAMES = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box", 7: "mesh"}
"""Types of geoms that a robot may have, by MuJoCo's number."""

OTHER_SHAPE_NAMES = {0: "plane", 1: "height field", 4: "ellipsoid", 8: "signed distance field"}

MIN_HIDDEN_GROUP = 3
"""First group of geoms that MuJoCo's viewer hides by default."""

URDF_KINDS = {
    FREE_JOINT_TYPE: "floating",
    BALL_JOINT_TYPE: "floating",
    HINGE: "revolute",
    SLIDE: "prismatic",
}


class MjcfTree:
    """The URDF of a compiled model, built link by link."""

    def __init__(self, spec: Any, model: Any, drives: MjcfDrives, names: "MjcfNames") -> None:
        self._spec, self._model, self._drives, self._names = spec, model, drives, names
        self._folder = Path(spec.modelfiledir) / (spec.meshdir or "")
        self.root = etree.Element("robot", name=names.robot)
        self.dropped: dict[str, list[str]] = {}
        """Links with omitted shapes, by the reason of the omission."""
        shifts: list[Float1D] = [np.zeros(3) for _ in range(model.nbody)]
        for b in range(model.nbody):
            if b > 0:
                shifts[b] = self._add_joints(b, shifts[model.body_parentid[b]])
            link = etree.SubElement(self.root, "link", name=self._names.bodies[b])
            if b > 0 and model.body_mass[b] > 0.0:
                # The tensor in the axes of the link, without a rotation that would be rounded.
                R = _pose(np.zeros(3), model.body_iquat[b])[:3, :3]
                tensor = R @ np.diag(model.body_inertia[b]) @ R.T
                inertial = etree.SubElement(link, "inertial")
                inertial.append(_origin(_translation(model.body_ipos[b] - shifts[b])))
                etree.SubElement(inertial, "mass", value=number_text(model.body_mass[b]))
                keys = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
                values = map(number_text, tensor[np.triu_indices(3)])
                etree.SubElement(inertial, "inertia", dict(zip(keys, values, strict=True)))
            first = int(model.body_geomadr[b])
            for g in range(first, first + int(model.body_geomnum[b])):
                self._add_shape(link, g, shifts[b])
        for s in range(model.nsite):
            name, body = model.site(s).name, model.site_bodyid[s]
            # A link of its own, because it may be the tip, if it has a name.
            if name and names.is_unused(name):
                etree.SubElement(self.root, "link", name=names.fresh(name))
                T = _translation(-shifts[body]) @ _pose(model.site_pos[s], model.site_quat[s])
                self._add_fixed(names.bodies[body], name, T)

    def _add_joints(self, b: int, shift: Float1D) -> Float1D:
        """Add the joints of a body, below a parent whose link is shifted; return its shift."""
        model, name = self._model, self._names.bodies[b]
        T = _translation(-shift) @ _pose(model.body_pos[b], model.body_quat[b])
        parent = self._names.bodies[model.body_parentid[b]]
        first, count = int(model.body_jntadr[b]), int(model.body_jntnum[b])
        if count == 0:
            self._add_fixed(parent, name, T)
            return np.zeros(3)
        anchor = np.zeros(3)
        for j in range(first, first + count):
            child = name if j == first + count - 1 else self._names.fresh(f"{name}_{j - first + 1}")
            T = T @ _translation(model.jnt_pos[j] - anchor)
            # From the pose of the file, at `ref`, to the zero position.
            offset = -model.qpos0[model.jnt_qposadr[j]] * model.jnt_axis[j]
            if model.jnt_type[j] == SLIDE:
                T = T @ _translation(offset)
            elif model.jnt_type[j] == HINGE:
                T = T @ transform(Rotation.from_rotvec(offset).as_matrix(), np.zeros(3))
            if child != name:
                etree.SubElement(self.root, "link", name=child)
            drives, kind = self._drives, URDF_KINDS[int(model.jnt_type[j])]
            limited = bool(model.jnt_limited[j])
            if kind == "revolute" and not limited:
                kind = "continuous"
            element = self._joint(self._names.joints[j], kind, parent, child, T)
            etree.SubElement(element, "axis", xyz=number_text(model.jnt_axis[j]))
            limit = etree.SubElement(element, "limit", effort=number_text(drives.effort[j]))
            if limited and kind != "floating":
                lower, upper = model.jnt_range[j]
                limit.attrib.update({"lower": number_text(lower), "upper": number_text(upper)})
            values = {"damping": drives.Fv[j], "friction": drives.Fc[j]}
            etree.SubElement(element, "dynamics", {k: number_text(v) for k, v in values.items()})
            if (leader := drives.coupled.get(j)) is not None:
                other = self._names.joints[leader if leader >= 0 else j - 1]  # a constant has none
                etree.SubElement(element, "mimic", joint=other)
            parent, T, anchor = child, np.eye(4), np.array(model.jnt_pos[j])
        return anchor

    def _add_fixed(self, parent: str, child: str, T: Float2D) -> None:
        self._joint(self._names.fresh_joint(f"{child}_fixed"), "fixed", parent, child, T)

    def _joint(self, name: str, kind: str, parent: str, child: str, T: Float2D) -> etree._Element:
        element = etree.SubElement(self.root, "joint", name=name, type=kind)
        element.append(_origin(T))
        etree.SubElement(element, "parent", link=parent)
        etree.SubElement(element, "child", link=child)
        return element

    def _add_shape(self, link: etree._Element, g: int, shift: Float1D) -> None:
        model, kind = self._model, int(self._model.geom_type[g])
        T = _translation(-shift) @ _pose(model.geom_pos[g], model.geom_quat[g])
        form = etree.Element(SHAPE_NAMES.get(kind, "none"))
        size = model.geom_size[g]
        match SHAPE_NAMES.get(kind):
            case "sphere":
                form.set("radius", number_text(size[0]))
            case "capsule" | "cylinder":
                form.set("radius", number_text(size[0]))
                form.set("length", number_text(2.0 * size[1]))
            case "box":
                form.set("size", number_text(2.0 * size))
            case "mesh":
                m = int(model.geom_dataid[g])
                mesh = self._spec.mesh(model.mesh(m).name)
                file = None if mesh is None or not mesh.file else self._folder / mesh.file
                # MuJoCo shifts the mesh in the frame of its geom by `refpos` and `refquat`.
                if (
                    file is None
                    or not file.is_file()
                    or np.any(mesh.refpos)
                    or not np.allclose(mesh.refquat, [1.0, 0.0, 0.0, 0.0])
                ):
                    self._omit("meshes without a file of their own size and place", link)
                    return
                form.set("filename", real_path(file).as_posix())
                form.set("scale", number_text(mesh.scale))
                T = T @ np.linalg.inv(_pose(model.mesh_pos[m], model.mesh_quat[m]))
            case _:
                self._omit(f"shapes of the type {OTHER_SHAPE_NAMES.get(kind, str(kind))}", link)
                return
        roles = [
            *(["collision"] if self._has_collision(g) else []),
            *(["visual"] if self._is_drawn(g) else []),
        ]
        for role in roles:
            element = etree.SubElement(link, role)
            element.append(_origin(T))
            etree.SubElement(element, "geometry").append(etree.fromstring(etree.tostring(form)))
            if role == "visual":
                material = etree.SubElement(element, "material", name="")
                etree.SubElement(material, "color", rgba=number_text(self._color(g)))

    def _has_collision(self, g: int) -> bool:
        return bool(self._model.geom_contype[g] or self._model.geom_conaffinity[g])

    def _is_drawn(self, g: int) -> bool:
        """Return whether a geom is drawn: not if it is for collision and its body has visual geoms.

        Drawn together, both would flicker.
        """
        groups, bodies = self._model.geom_group, self._model.geom_bodyid
        if not groups[g] < MIN_HIDDEN_GROUP:
            return False
        others = np.flatnonzero(
            (bodies == bodies[g]) & (groups != groups[g]) & (groups < MIN_HIDDEN_GROUP)
        )
        return not self._has_collision(g) or all(map(self._has_collision, others.tolist()))

    def _color(self, g: int) -> Float1D:
        material = int(self._model.geom_matid[g])
        own_color = self._model.geom_rgba[g]
        return np.asarray(own_color if material < 0 else self._model.mat_rgba[material])

    def _omit(self, reason: str, link: etree._Element) -> None:
        links = self.dropped.setdefault(reason, [])
        if link.get("name") not in links:
            links.append(str(link.get("name")))


class MjcfNames:
    """Names of links and joints, with generated names for unnamed elements."""

    def __init__(self, model: Any, root: str, robot: str) -> None:
        self.robot = robot
        stated = [model.body(b).name for b in range(1, model.nbody)]
        self._links = {root, *filter(None, stated)}
        named = (name or self.fresh(f"body_{b}") for b, name in enumerate(stated, start=1))
        self.bodies = [root, *named]
        stated = [model.joint(j).name for j in range(model.njnt)]
        self._joints = set(filter(None, stated))
        self.joints = [name or self.fresh_joint(f"joint_{j + 1}") for j, name in enumerate(stated)]

    def is_unused(self, name: str) -> bool:
        """Return whether no link has the name."""
        return name not in self._links

    def fresh(self, name: str) -> str:
        """Reserve and return an unused name of a link, `name` with a number if needed."""
        return _fresh(name, self._links)

    def fresh_joint(self, name: str) -> str:
        """Reserve and return an unused name of a joint, `name` with a number if needed."""
        return _fresh(name, self._joints)


def _fresh(name: str, used: set[str]) -> str:
    names: Iterable[str] = (name, *(f"{name}_{k}" for k in range(2, len(used) + 3)))
    free = next(candidate for candidate in names if candidate not in used)
    used.add(free)
    return free


def _pose(position: Float1D, quaternion: Float1D) -> Float2D:
    """Return a frame from position and quaternion w x y z, shape (4, 4)."""
    return transform(Rotation.from_quat(quaternion, scalar_first=True).as_matrix(), position)


def _translation(by: Float1D) -> Float2D:
    return transform(np.eye(3), by)


def _origin(T: Float2D) -> etree._Element:
    rpy = rpy_from_rotation(T[:3, :3])
    return etree.Element("origin", xyz=number_text(T[:3, 3]), rpy=number_text(rpy))
