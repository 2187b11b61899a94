"""A hostile file: what it is named, the command that reads it, and how it is written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

MARKER = "code-of-a-stranger"
"""File that code in a hostile file would write into the working folder."""

PAYLOAD = f"open('{MARKER}', 'w').close()"

SAMPLES = 400

ARM = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial><origin xyz="0.2 0 0"/><mass value="4"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.09" iyz="0" izz="0.09"/></inertial>
    {upper}
  </link>
  <link name="lower">
    <inertial><origin xyz="0.2 0 0"/><mass value="2"/>
      <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.04" iyz="0" izz="0.04"/></inertial>
  </link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="90"/></joint>
  <joint name="elbow" type="revolute"><origin xyz="0.5 0 0"/>
    <parent link="upper"/><child link="lower"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" velocity="3" effort="60"/></joint>
</robot>
"""

Write = Callable[[Path], None]


@dataclass(frozen=True)
class HostileFile:
    """A file of a stranger, and the command that a user gives it to."""

    name: str
    words: str
    write: Write
    """Writes it into the working folder, where `arm.urdf` and `log.csv` are."""
    said: str = ""
    """What the line must name."""
    code: int = 2
    """Exit code; 0 where what is hostile is omitted and told."""


def arm(upper: str = "") -> str:
    """Return the URDF of a planar arm, with more in its first link."""
    return ARM.format(upper=upper)


def log_text() -> str:
    """Return a log of the arm as CSV."""
    t = np.arange(SAMPLES) / 250.0
    wave = np.column_stack([t, np.sin(3.0 * t), np.cos(2.0 * t), np.sin(t), np.cos(t)])
    rows = "\n".join(",".join(map(repr, row)) for row in wave.tolist())
    return f"t,q.shoulder,q.elbow,tau.shoulder,tau.elbow\n{rows}\n"


def text(name: str, content: str | bytes) -> Write:
    """Return what writes a file of a content."""
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogateescape")

    def write(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)

    return write


def both(*writes: Write) -> Write:
    """Return what writes several files."""
    return lambda folder: [write(folder) for write in writes] and None


def hdf5(name: str, fill: Callable[[h5py.File], object]) -> Write:
    """Return what writes an HDF5 file."""

    def write(folder: Path) -> None:
        with h5py.File(folder / name, "w") as file:
            fill(file)

    return write
