"""What a format has no place for, as TOML beside the file."""

from collections.abc import Sequence
from pathlib import Path

from robotid_sim.files import write_text
from robotid_sim.model.robot import Robot


def write_side_car(robot: Robot, path: str | Path, keys: Sequence[str]) -> Path:
    """Write what the file at `path` has no place for, with the suffix ``.toml``; return where.

    `keys` are which of ``Fv Fc Fo eps Ia velocity acceleration`` every joint shall have, SI units.
    Raises `FileFormatError` if the file cannot be written.
    """
    name = Path(path).name
    lines = [
        f"# What {name} has no place for. Friction: Fv dq + Fc tanh(dq / eps) + Fo; Ia: reflected",
        "# rotor inertia. Units: SI.",
        f'model = "{name}"',
        f'base = "{robot.base}"',
        f'tip = "{robot.tip}"',
    ]
    for joint in robot.joints:
        law = joint.friction
        values = {"Fv": law.Fv, "Fc": law.Fc, "Fo": law.Fo, "eps": law.eps}
        values |= {"Ia": joint.rotor_inertia, "velocity": joint.velocity}
        values |= {"acceleration": joint.acceleration}
        lines += ["", f'[joints."{joint.name}"]']
        lines += [f"{key} = {float(values[key])!r}" for key in keys]
    target = Path(path).with_suffix(".toml")
    write_text(target, "\n".join(lines) + "\n")
    return target
