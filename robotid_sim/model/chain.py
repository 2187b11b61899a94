"""Selection of a serial chain in a URDF tree, and fusion of all links fixed to its bodies."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.errors import UnknownNameError, suggestion
from robotid_sim.model import inertia
from robotid_sim.model.geometry import GeometryShape
from robotid_sim.model.urdf import MOVABLE_KINDS, UrdfDocument, UrdfJoint

MAX_JOINTS = 64
"""Maximum number of joints of a chain; the cost of its dynamics grows with their cube."""

MAX_SUGGESTIONS = 6
"""Maximum number of tips that a message suggests."""


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """A movable body: the link behind a chain joint, fused with all links fixed to it."""

    joint: UrdfJoint
    """The chain joint that moves the body."""
    T_parent_joint: Float2D
    """Joint frame at zero in the frame of the previous body (of the URDF root for the first), shape
    (4, 4)."""
    phi: Float1D
    """Inertial parameters of the fused body about the frame of its link, shape (10,)."""
    phi_locked: Float1D
    """Part of `phi` behind joints that are locked at zero, shape (10,)."""
    fixed: tuple[str, ...]
    """Names of the links fused to it through fixed joints only."""
    locked: tuple[str, ...]
    """Names of the links fused to it behind at least one joint locked at zero."""
    shapes: tuple[GeometryShape, ...]
    """Shapes of all fused links, in the frame of the body."""


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """A serial chain from base to tip."""

    base: str
    tip: str
    bodies: tuple[Body, ...]
    T_last_tip: Float2D
    locked_joints: tuple[str, ...]


def select_chain(document: UrdfDocument, base: str | None, tip: str | None) -> Chain:
    """Return the chain from `base` to `tip`, with the rest of the tree locked and fused.

    By default, base and tip come from the file's ``<robotid>`` element. Otherwise, with a tip
    alone, bodies with several movable branches divide the path from the root to the tip into
    sections; the base is the start of the section with the most joints, such as the torso that
    carries an arm. Without a tip, the base is the root, and the tip is the link with the most free
    joints between root and link; of several such links, the one with the fewest links between.
    Mimic joints, and all joints behind the first body with several movable branches, are not free.

    Raises `UnknownNameError` if a name is not a link of the robot, `UrdfError` if the tip is not
    below the base or no joint moves between them.
    """
    base, tip = base or document.base, tip or document.tip
    if tip and not base:
        end = _require_link(document, tip)
        start = _longest_section(document, end).first
    else:
        start = _require_link(document, base) if base else document.root
        end = (
            _require_link(document, tip)
            if tip
            else max(_walk(document, start), key=lambda item: (item[1], -item[2]))[0]
        )
    path = path_to(document, start, end)
    moving = [joint for joint in path if joint.is_movable and not joint.mimic]
    if not moving:
        line = document.links[start].line
        leaves = [n for n, _, _ in _walk(document, start) if not document.joints_below(n)]
        sections = {part for leaf in leaves if (part := _longest_section(document, leaf)).joints}
        longest = sorted(sections, key=lambda part: (-part.joints, part.last))[:MAX_SUGGESTIONS]
        tips = ", ".join(f"{p.last} with {p.joints} joints from {p.first}" for p in longest)
        text = f"the chain from '{start}' to '{end}' has no movable joint"
        remedy = f"choose --tip ({tips})" if tips else "no other chain has one either"
        document.fail(line, f"{text}; {remedy}")
    if len(moving) > MAX_JOINTS:
        line, count = document.links[start].line, len(moving)
        text = f"the chain from '{start}' to '{end}' has {count} joints, at most {MAX_JOINTS}"
        document.fail(line, f"{text} are identified together; choose --base and --tip")
    for joint in moving:
        if joint.kind not in MOVABLE_KINDS:
            last = [other for other in moving if other.kind not in MOVABLE_KINDS][-1]
            text = f"joint '{joint.name}' on the chain is {joint.kind}"
            remedy = (
                f"supported are {', '.join(MOVABLE_KINDS)}; begin behind it: --base {last.child}"
            )
            document.fail(joint.line, f"{text}; {remedy}")
    on_chain = {joint.name for joint in moving}
    placed = _place(document, on_chain)
    bodies = tuple(_fuse(document, joint, placed) for joint in moving)
    locked = [j.name for j in document.joints.values() if j.is_movable and j.name not in on_chain]
    return Chain(start, end, bodies, placed[end].T_body_link, tuple(locked))


@dataclass(frozen=True, slots=True, eq=False)
class _LinkPlace:
    """Place of a link: its body, by the name of the chain joint, and its pose in that body."""

    body: str | None
    T_body_link: Float2D
    behind_locked: bool


def _place(document: UrdfDocument, moving: set[str]) -> dict[str, _LinkPlace]:
    placed = {document.root: _LinkPlace(None, np.eye(4), behind_locked=False)}
    stack = [document.root]
    while stack:
        parent = placed[stack[-1]]
        for joint in document.joints_below(stack.pop()):
            if joint.name in moving:
                placed[joint.child] = _LinkPlace(joint.name, np.eye(4), behind_locked=False)
            else:
                T = parent.T_body_link @ joint.T_parent_joint
                locked = parent.behind_locked or joint.is_movable
                placed[joint.child] = _LinkPlace(parent.body, T, locked)
            stack.append(joint.child)
    return placed


def _fuse(document: UrdfDocument, joint: UrdfJoint, placed: dict[str, _LinkPlace]) -> Body:
    members = {name: p for name, p in placed.items() if p.body == joint.name}
    phi, phi_locked = np.zeros(10), np.zeros(10)
    shapes: list[GeometryShape] = []
    for name, place in members.items():
        link = document.links[name]
        is_child = name == joint.child
        share = link.phi if is_child else inertia.transform(link.phi, place.T_body_link)
        phi += share
        phi_locked += share if place.behind_locked else 0.0
        for shape in link.shapes:
            shapes.append(replace(shape, T_body_shape=place.T_body_link @ shape.T_body_shape))
    others = {name: p for name, p in members.items() if name != joint.child}
    return Body(
        joint=joint,
        T_parent_joint=placed[joint.parent].T_body_link @ joint.T_parent_joint,
        phi=phi,
        phi_locked=phi_locked,
        fixed=tuple(name for name, p in others.items() if not p.behind_locked),
        locked=tuple(name for name, p in others.items() if p.behind_locked),
        shapes=tuple(shapes),
    )


def _require_link(document: UrdfDocument, link: str) -> str:
    if link not in document.links:
        names = ", ".join(document.links)
        raise UnknownNameError(
            f"{document.path}: no link '{link}'{suggestion(link, document.links)}; links: {names}"
        )
    return link


def path_to(document: UrdfDocument, base: str, tip: str) -> list[UrdfJoint]:
    """List the joints between two links; raise `UrdfError` if one is not below the other."""
    parents = {joint.child: joint for joint in document.joints.values()}
    path: list[UrdfJoint] = []
    link = tip
    while link != base:
        if link not in parents:
            line = document.links[tip].line
            document.fail(line, f"link '{tip}' is not below '{base}'; choose --base and --tip")
        path.append(parents[link])
        link = path[-1].parent
    return path[::-1]


def mass_behind(document: UrdfDocument, joint: str) -> float:
    """Sum the masses of the links that a joint moves [kg]."""
    links = [document.joints[joint].child]
    for link in links:
        links += [below.child for below in document.joints_below(link)]
    return float(sum(document.links[link].phi[0] for link in links))


def find_chain_ends(document: UrdfDocument, joints: Sequence[str]) -> tuple[str, str] | None:
    """Find base and tip of the shortest chain that contains the given joints; None if none does."""
    paths = [path_to(document, document.root, document.joints[name].child) for name in joints]
    longest = max(paths, key=len)
    names = [joint.name for joint in longest]
    if not set(joints) <= set(names):
        return None
    first = next(joint for joint in longest if joint.name in joints)
    return first.parent, longest[-1].child


class _Section(NamedTuple):
    """Part of the path to a link between two bodies at which other movable branches leave."""

    first: str
    last: str
    """The link behind its last free joint."""
    joints: int
    """Number of free joints."""


def _walk(document: UrdfDocument, start: str) -> Iterator[tuple[str, int, int]]:
    """Yield every link below `start` with its numbers of free joints and of links on the way."""
    below: dict[str, int] = {}

    def movable_below(link: str) -> int:
        if link not in below:
            children = document.joints_below(link)
            below[link] = sum(j.is_movable + movable_below(j.child) for j in children)
        return below[link]

    stack = [(start, 0, 0, False)]
    while stack:
        link, joints, links, locked = stack.pop()
        yield link, joints, links
        children = document.joints_below(link)
        branches = [j for j in children if j.is_movable or movable_below(j.child)]
        behind_branch = locked or len(branches) > 1
        for joint in reversed(children):
            # A floating or planar joint counts if it is the first.
            counts = joint.kind in MOVABLE_KINDS or (joint.is_movable and joints == 0)
            free = counts and not joint.mimic and not behind_branch
            stack.append((joint.child, joints + free, links + 1, behind_branch))


def _has_motion(document: UrdfDocument, joint: UrdfJoint) -> bool:
    """Return whether a joint or one below it can move."""
    below = document.joints_below(joint.child)
    return joint.is_movable or any(_has_motion(document, other) for other in below)


def _longest_section(document: UrdfDocument, end: str) -> _Section:
    """Return the section of the path from the root to `end` with the most joints.

    A section ends at a body at which another branch with movable joints leaves.
    """
    sections = [_Section(document.root, document.root, 0)]
    for joint in path_to(document, document.root, end):
        others = [j for j in document.joints_below(joint.parent) if j is not joint]
        if any(_has_motion(document, other) for other in others):
            sections.append(_Section(joint.parent, joint.parent, 0))
        if joint.is_movable and not joint.mimic:
            sections[-1] = _Section(sections[-1].first, joint.child, sections[-1].joints + 1)
    # Among equals, the one nearest to the root.
    return max(sections, key=lambda part: part.joints)


def find_locked_joints(document: UrdfDocument, joint_names: Sequence[str]) -> list[str]:
    """List the free joints of a tree that are not among `joint_names`, and are therefore locked."""
    free = [j.name for j in document.joints.values() if j.is_movable and not j.mimic]
    return [name for name in free if name not in joint_names]


def chain_notes(chain: Chain, document: UrdfDocument) -> list[str]:
    """Describe how the links and joints of a document were used, one sentence each."""
    locked, bodies = chain.locked_joints, {b.joint.child: b.phi for b in chain.bodies}
    moved = [n for b in chain.bodies for n in (b.joint.child, *b.fixed, *b.locked)]
    links = [document.links[name] for name in moved]
    groups = {
        "joints off the chain locked at zero": locked,
        "mimic joints, which do not follow but stay at zero": [
            name for name in locked if document.joints[name].mimic
        ],
        "movable bodies without mass": [name for name, phi in bodies.items() if phi[0] == 0.0],
        "bodies with mass and no inertia, which MuJoCo gets as balls of 1 mm": [
            name for name, phi in bodies.items() if inertia.is_point(phi)
        ],
        "links with a shape and no inertia, which add nothing": [
            link.name for link in links if link.shapes and not link.phi.any()
        ],
        "links with inertia and no mass, which other tools drop": [
            link.name for link in links if link.phi[0] == 0.0 and link.phi.any()
        ],
    }
    notes = [f"{text}: {', '.join(names)}" for text, names in groups.items() if names]
    return [f"chain of {len(bodies)} joint(s) from '{chain.base}' to '{chain.tip}'", *notes]
