"""Self-contained source files that compute a robot's dynamics: Python and C."""

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.source_code import Routine, routines
from robotid_sim.files import write_text
from robotid_sim.model.robot import Robot

HEAD_TEMPLATE = """Dynamics of the robot '{name}', {dof} joints.

Written by robotid_sim {version} from {source}. Units are SI.

    tau = M(q) ddq + C(q, dq) dq + g(q) + Fv dq + Fc tanh(dq / eps) + Fo

M includes the rotor inertia Ia, reflected to the joints. Gravity is ({gravity}) m/s^2 in
the root frame.

joint{pad}  unit            Fv            Fc            Fo           eps            Ia
{joints}
"""

PYTHON_TEMPLATE = '''"""{head}
Arguments have the shape (n,), or (N, n) for N samples at once; so do the results, except
that the mass matrix has one more axis.
"""

import numpy as np
from numpy import cos, sin, tanh

JOINTS = ({names})


def _columns(values):
    return np.moveaxis(np.asarray(values, dtype=float), -1, 0)
{functions}'''

C_TEMPLATE = """/*
{head}
Plain C99: compile with `cc -O2 -c`, link with -lm. No memory is allocated, no state is kept.

{prototypes}
*/

#include <math.h>
{functions}"""


HEADER_TEMPLATE = """/*
{head}
Header for C99 and C++. No memory is allocated, no state is kept.

{prototypes}
*/

#ifndef ROBOTID_{guard}_H
#define ROBOTID_{guard}_H

#include <math.h>
{functions}
#endif
"""

CURRENTS_TEXT = """
Results are motor currents [A]: torques over {constants} N m/A. The mass
matrix is in kg m^2.
"""


def write_python(robot: Robot, path: str | Path, constants: Float1D | None = None) -> None:
    """Write a module that needs numpy alone, with the robot's dynamics; see `routines`.

    With torque constants [N m/A], shape (n,), results are currents. Raises `FileFormatError` if the
    file cannot be written.
    """
    text = PYTHON_TEMPLATE.format(
        head=_head(robot, constants),
        names=_tuple([f'"{plain_text(name)}"' for name in robot.joint_names]),
        functions="".join(
            _write_python_routine(routine, robot.dof)
            for routine in _scale_routines(robot, constants)
        ),
    )
    write_text(path, text)


def write_c(robot: Robot, path: str | Path, constants: Float1D | None = None) -> None:
    """Write a C99 file with the robot's dynamics, or a header if its name ends in ``.h``.

    The names begin with that of the robot. With torque constants [N m/A], shape (n,), results are
    currents. Raises `FileFormatError` if the file cannot be written.
    """
    prefix, is_header = c_prefix(robot), Path(path).suffix == ".h"
    functions = {
        _prototype(routine, prefix, robot.dof): _write_c_routine(routine, robot.dof)
        for routine in _scale_routines(robot, constants)
    }
    kind = "static inline " if is_header else ""
    text = (HEADER_TEMPLATE if is_header else C_TEMPLATE).format(
        head=_head(robot, constants),
        guard=prefix.upper(),
        prototypes="\n".join(f"    {prototype};" for prototype in functions),
        functions="".join(f"\n{kind}{name}\n{body}" for name, body in functions.items()),
    )
    write_text(path, text)


def _scale_routines(robot: Robot, constants: Float1D | None) -> list[Routine]:
    """Return the functions with their torques over torque constants."""
    if constants is None:
        return [*routines(robot)]
    inverse = (1.0 / constants).tolist()
    return [
        routine
        if routine.output != "tau"
        else replace(
            routine,
            results=tuple((at, f"({text})*{inverse[at[0]]!r}") for at, text in routine.results),
        )
        for routine in routines(robot)
    ]


def c_prefix(robot: Robot) -> str:
    """Make the prefix of the C functions of a robot."""
    name = re.sub(r"\W+", "_", robot.name, flags=re.ASCII).strip("_").lower()
    return name if re.match(r"[a-z]", name) else f"robot_{name}".rstrip("_")


def _head(robot: Robot, constants: Float1D | None) -> str:
    width = max(len("joint"), *(len(plain_text(name)) for name in robot.joint_names))
    rows = []
    for joint, unit in zip(robot.joints, robot.joint_units, strict=True):
        law = joint.friction
        values = (law.Fv, law.Fc, law.Fo, law.eps, joint.rotor_inertia)
        cells = " ".join(f"{value:13.6g}" for value in values)
        rows.append(f"{plain_text(joint.name):{width}}  {unit:4}{cells}")
    shown = "" if constants is None else " ".join(f"{value:.6g}" for value in constants)
    currents = CURRENTS_TEXT.format(constants=shown) if shown else ""
    return (
        HEAD_TEMPLATE.format(
            name=plain_text(robot.name),
            dof=robot.dof,
            version=version("robotid_sim"),
            source="no file" if robot.document is None else plain_text(robot.document.path.name),
            gravity=", ".join(f"{g:g}" for g in robot.gravity),
            pad=" " * (width - len("joint")),
            joints="\n".join(rows),
        )
        + currents
    )


def plain_text(text: str) -> str:
    """Return a name as it may stand in a comment or a string of source code."""
    return re.sub(r"[^\w .:()+-]", "_", text)


def _tuple(items: list[str]) -> str:
    """Return items as they stand in the parentheses of a tuple."""
    return ", ".join(items) + ("," if len(items) == 1 else "")


def _write_python_routine(routine: Routine, dof: int) -> str:
    name = routine.output
    lines = [f"def {routine.name}({', '.join(routine.inputs)}):", f'    """{routine.summary}"""']
    for value in routine.inputs:
        columns = _tuple([f"{value}{k + 1}" for k in range(dof)])
        lines.append(f"    {columns} = _columns({value})")
    lines += [f"    {name} = {text}" for name, text in routine.lines]
    first = routine.inputs[0]
    shape = f"np.shape({first})" if name == "tau" else f"(*np.shape({first}), {dof})"
    lines.append(f"    {name} = np.empty({shape})")
    lines += [f"    {name}[..., {', '.join(map(str, at))}] = {t}" for at, t in routine.results]
    return "\n".join(["", "", *lines, f"    return {name}", ""])


def _prototype(routine: Routine, prefix: str, dof: int) -> str:
    inputs = [f"const double {name}[{dof}]" for name in routine.inputs]
    size = f"[{dof}]" * len(routine.results[0][0])
    return f"void {prefix}_{routine.name}({', '.join(inputs)}, double {routine.output}{size})"


def _write_c_routine(routine: Routine, dof: int) -> str:
    texts = [text for _, text in (*routine.lines, *routine.results)]
    used = {word for text in texts for word in re.findall(r"\b[a-z]\w*", text)}
    lines = ["{", f"    /* {routine.summary} */"]
    for name in routine.inputs:
        read = [k for k in range(dof) if f"{name}{k + 1}" in used]
        lines += [f"    const double {name}{k + 1} = {name}[{k}];" for k in read]
        lines += [] if read else [f"    (void){name};"]
    lines += [f"    const double {name} = {text};" for name, text in routine.lines]
    for at, text in routine.results:
        place = "".join(f"[{k}]" for k in at)
        lines.append(f"    {routine.output}{place} = {text};")
    return "\n".join([*lines, "}", ""])
