r"""A robot's equations as source code: inverse dynamics, mass matrix, gravity.

The recursions of `robotid_sim.dynamics.kernels` run once on names instead of numbers and leave
straight-line code without the zeros and ones of this robot: recursive Newton-Euler [1]_, and
composite rigid bodies [2]_ for the mass matrix.

A `Term` is arithmetic on names, and a `Recorder` stores it as lines of source code. Numbers stay
numbers, so that zeros and ones vanish before they are written. The text of a product or a sum of
names is valid C and Python.

References
----------
.. [1] Luh, Walker, Paul (1980), "On-line computational scheme for mechanical manipulators",
   J. Dynamic Systems, Measurement, and Control, doi:10.1115/1.3149599.
.. [2] Walker, Orin (1982), "Efficient dynamic computer simulation of robotic mechanisms",
   J. Dynamic Systems, Measurement, and Control, doi:10.1115/1.3139699.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robotid_sim.model import inertia
from robotid_sim.model.robot import Robot

SUM, PRODUCT, NAME = range(3)
"""Precedence of the text of a term."""

Vector = NDArray[np.object_]
"""Terms and numbers, mixed."""

WORD_PATTERN = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class Term:
    """An expression in source code that stands for a number."""

    text: str
    precedence: int = NAME

    def __add__(self, other: "Term | float") -> "Term":
        if not isinstance(other, Term):
            if other == 0.0:
                return self
            other = Term(repr(float(other)))
        sign, text = _split_sign(other.text)
        return Term(f"{self.text} {sign} {text}", SUM)

    def __radd__(self, other: float) -> "Term":
        return self if other == 0.0 else Term(repr(float(other))) + self

    def __neg__(self) -> "Term":
        if self.precedence == SUM:
            return Term(f"-({self.text})", PRODUCT)
        sign, text = _split_sign(self.text)
        return Term(text, self.precedence) if sign == "-" else Term(f"-{text}", PRODUCT)

    def __sub__(self, other: "Term | float") -> "Term":
        return self + -other

    def __rsub__(self, other: float) -> "Term":
        return -self + other

    def __mul__(self, other: "Term | float") -> Any:
        if not isinstance(other, Term):
            if other in (0.0, 1.0, -1.0):
                return {0.0: 0.0, 1.0: self, -1.0: -self}[other]
            return Term(repr(float(other))) * self
        (sign, first), (other_sign, right) = (
            _split_sign(self._factor()),
            _split_sign(other._factor()),
        )
        product = f"{first}*{right}"
        return Term(product if sign == other_sign else f"-{product}", PRODUCT)

    __rmul__ = __mul__

    def _factor(self) -> str:
        return f"({self.text})" if self.precedence == SUM else self.text


def _split_sign(text: str) -> tuple[str, str]:
    """Return the sign in front of a text, and the text without it."""
    return ("-", text[1:]) if text.startswith("-") else ("+", text)


def call(function: str, argument: Term) -> Term:
    """Return a function of a term."""
    return Term(f"{function}({argument.text})")


def numbers(values: Any) -> Vector:
    """Return an array of plain numbers that terms can be multiplied with."""
    return np.array(np.asarray(values, dtype=float).tolist(), dtype=object)


def cross(a: Vector, b: Vector) -> Vector:
    """Return the vector product of two vectors of three."""
    turns = ((1, 2), (2, 0), (0, 1))
    return np.array([a[i] * b[j] - a[j] * b[i] for i, j in turns], dtype=object)


@dataclass(slots=True)
class Recorder:
    """Recorded assignments, in order."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    """Name and text of each."""

    def let(self, name: str, value: Any) -> Any:
        """Assign a term or array of terms to a name and return it; names and numbers stay."""
        if isinstance(value, np.ndarray):
            named = np.empty_like(value)
            for index in np.ndindex(value.shape):
                axes = "".join("xyz"[k] for k in index)
                named[index] = self.let(f"{name}{axes}", value[index])
            return named
        if not isinstance(value, Term) or WORD_PATTERN.fullmatch(value.text.removeprefix("-")):
            return value
        self.lines.append((name, value.text))
        return Term(name)

    def let_symmetric(self, name: str, value: Vector) -> Vector:
        """Return names for a symmetric matrix, the upper half of which is computed."""
        named = value.copy()
        for i, k in zip(*np.triu_indices(len(value)), strict=True):
            named[i, k] = named[k, i] = self.let(f"{name}{'xyz'[i]}{'xyz'[k]}", value[i, k])
        return named

    def list_assignments(self, results: Iterable[Any]) -> list[tuple[str, str]]:
        """Return the assignments that the results depend on."""
        used = {w for r in results if isinstance(r, Term) for w in WORD_PATTERN.findall(r.text)}
        used_lines = []
        for name, text in reversed(self.lines):
            if name in used:
                used_lines.append((name, text))
                used.update(WORD_PATTERN.findall(text))
        return used_lines[::-1]


ROUNDING_TOLERANCE = 1e-15
"""Distance from an integer below which an entry of a rotation is rounded to it."""


@dataclass(frozen=True, slots=True)
class Routine:
    """One function of the source code."""

    name: str
    summary: str
    inputs: tuple[str, ...]
    """Which of ``q dq ddq``, each with one number per joint."""
    output: str
    lines: tuple[tuple[str, str], ...]
    """Assignments: name and text."""
    results: tuple[tuple[tuple[int, ...], str], ...]
    """Index in the output and text of every result."""


def routines(robot: Robot) -> tuple[Routine, ...]:
    """Return the functions that make up a robot's source code."""
    return (_inverse_dynamics(robot), _mass_matrix(robot), _gravity(robot), _friction(robot))


def _inverse_dynamics(robot: Robot) -> Routine:
    code = Recorder()
    tau = _newton_euler(code, robot, *(_symbols(name, robot.dof) for name in ("dq", "ddq")))
    dq, ddq = _symbols("dq", robot.dof), _symbols("ddq", robot.dof)
    for k, joint in enumerate(robot.joints):
        tau[k] = tau[k] + joint.rotor_inertia * ddq[k] + _friction_of(robot, k, dq[k])
    text = "Torques of the drives: rigid bodies, rotors and friction."
    return _routine("inverse_dynamics", text, ("q", "dq", "ddq"), "tau", code, _index_values(tau))


def _gravity(robot: Robot) -> Routine:
    code, still = Recorder(), numbers(np.zeros(robot.dof))
    tau = _newton_euler(code, robot, still, still)
    text = "Torques that hold the robot still."
    return _routine("gravity", text, ("q",), "tau", code, _index_values(tau))


def _friction(robot: Robot) -> Routine:
    dq = _symbols("dq", robot.dof)
    tau = [_friction_of(robot, k, dq[k]) for k in range(robot.dof)]
    text = "Torques of friction: Fv dq + Fc tanh(dq / eps) + Fo."
    return _routine("friction", text, ("dq",), "tau", Recorder(), _index_values(tau))


def _mass_matrix(robot: Robot) -> Routine:
    code = Recorder()
    R, p, u = _place_bodies(code, robot)
    entries: dict[tuple[int, ...], Any] = {}
    m, l, L = 0.0, numbers(np.zeros(3)), numbers(np.zeros((3, 3)))
    for i in reversed(range(robot.dof)):
        body = _body(robot, i)
        m, l, L = m + body[0], l + body[1], L + body[2]  # all that joint i carries
        l, L = code.let(f"l{i + 1}", l), code.let_symmetric(f"L{i + 1}", L)
        if robot.joints[i].prismatic:
            f, n = m * u[i], cross(l, u[i])
        else:
            f, n = cross(u[i], l), L @ u[i]
        for j in range(i, -1, -1):
            along = f if robot.joints[j].prismatic else n
            entries[j, i] = code.let(f"M{j + 1}_{i + 1}", u[j] @ along)
            f = code.let(f"f{i + 1}_{j}", R[j] @ f)
            n = code.let(f"n{i + 1}_{j}", R[j] @ n + cross(p[j], f))
        entries[i, i] = entries[i, i] + robot.joints[i].rotor_inertia
        l = code.let(f"r{i + 1}", R[i] @ l)
        about = 2.0 * (p[i] @ l) + m * (p[i] @ p[i])
        mixed = np.outer(p[i], l)
        L = R[i] @ code.let(f"T{i + 1}", L @ R[i].T) - mixed - mixed.T - m * np.outer(p[i], p[i])
        l, L = l + m * p[i], L + numbers(np.eye(3)) * about
    entries |= {(i, j): value for (j, i), value in entries.items()}
    text = "Mass matrix, with the rotors on its diagonal."
    return _routine("mass_matrix", text, ("q",), "M", code, dict(sorted(entries.items())))


def _newton_euler(code: Recorder, robot: Robot, dq: Vector, ddq: Vector) -> Vector:
    """Return the torques of the rigid bodies [1]."""
    R, p, u = _place_bodies(code, robot)
    w, dw, a = numbers(np.zeros(3)), numbers(np.zeros(3)), numbers(-robot.gravity)
    forces, moments = [], []
    for i, joint in enumerate(robot.joints):
        k = i + 1
        wp = code.let(f"wp{k}", cross(w, p[i]))
        a = R[i].T @ code.let(f"b{k}", a + cross(dw, p[i]) + cross(w, wp))
        w, dw = R[i].T @ w, R[i].T @ dw
        if joint.prismatic:
            w, dw = code.let(f"w{k}", w), code.let(f"dw{k}", dw)
            a = a + u[i] * ddq[i] + 2.0 * cross(w, u[i]) * dq[i]
        else:
            w = code.let(f"w{k}", w + u[i] * dq[i])
            dw = code.let(f"dw{k}", dw + u[i] * ddq[i] + cross(w, u[i]) * dq[i])
        a = code.let(f"a{k}", a)
        m, l, L = _body(robot, i)
        wl, Lw = code.let(f"wl{k}", cross(w, l)), code.let(f"Lw{k}", L @ w)
        forces.append(code.let(f"f{k}", m * a + cross(dw, l) + cross(w, wl)))
        moments.append(code.let(f"n{k}", L @ dw + cross(l, a) + cross(w, Lw)))
    tau = numbers(np.zeros(robot.dof))
    f, n = numbers(np.zeros(3)), numbers(np.zeros(3))
    for i in reversed(range(robot.dof)):
        f = code.let(f"F{i + 1}", forces[i] + f)
        n = code.let(f"N{i + 1}", moments[i] + n)
        tau[i] = u[i] @ (f if robot.joints[i].prismatic else n)
        f = code.let(f"g{i + 1}", R[i] @ f)
        n = R[i] @ n + cross(p[i], f)
    return tau


def _place_bodies(code: Recorder, robot: Robot) -> tuple[list[Vector], list[Vector], list[Vector]]:
    """Return rotation and origin of every body in the previous one, and its joint axis."""
    rotations, origins, axes = [], [], []
    for k, (row, q) in enumerate(zip(robot.geometry, _symbols("q", robot.dof), strict=True)):
        origin, axis, prismatic, axis_before = row[:3], row[3:6], row[6] == 1.0, row[7:10]
        constant, by_cos, by_sin = row[10:].reshape(3, 3, 3)
        if prismatic:
            rotation = numbers(_round_values(constant + by_cos))
            origins.append(
                code.let(f"p{k + 1}", numbers(origin) + numbers(_round_values(axis_before)) * q)
            )
        else:
            c, s = (code.let(f"{f[0]}{k + 1}", call(f, q)) for f in ("cos", "sin"))
            parts = [numbers(_round_values(part)) for part in (constant, by_cos, by_sin)]
            rotation = code.let(f"R{k + 1}", parts[0] + parts[1] * c + parts[2] * s)
            origins.append(numbers(origin))
        rotations.append(rotation)
        axes.append(numbers(_round_values(axis)))
    return rotations, origins, axes


def _round_values(values: Any) -> Any:
    nearest = np.round(values)
    return np.where(np.abs(values - nearest) < ROUNDING_TOLERANCE, nearest, values)


def _body(robot: Robot, i: int) -> tuple[float, Vector, Vector]:
    """Return mass, first moment and tensor of a body about the origin of its link."""
    phi = robot.links[i].phi
    return float(phi[0]), numbers(phi[1:4]), numbers(inertia.inertia_matrix(phi))


def _friction_of(robot: Robot, k: int, dq: Term) -> Any:
    law = robot.joints[k].friction
    return law.Fv * dq + law.Fc * call("tanh", Term(f"{dq.text}/{law.eps!r}")) + law.Fo


def _symbols(name: str, dof: int) -> Vector:
    return np.array([Term(f"{name}{k + 1}") for k in range(dof)], dtype=object)


def _index_values(values: Any) -> dict[tuple[int, ...], Any]:
    return {(k,): value for k, value in enumerate(values)}


def _routine(
    name: str,
    summary: str,
    inputs: tuple[str, ...],
    output: str,
    code: Recorder,
    results: dict[tuple[int, ...], Any],
) -> Routine:
    texts = {at: v.text if isinstance(v, Term) else repr(float(v)) for at, v in results.items()}
    lines = tuple(code.list_assignments(results.values()))
    return Routine(name, summary, inputs, output, lines, tuple(texts.items()))
