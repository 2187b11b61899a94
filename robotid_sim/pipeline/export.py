"""Write a robot for other tools."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.deployment.load_formats import LOAD_FORMATS, Load
from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.code_files import write_c, write_python
from robotid_sim.errors import FileFormatError, OptionError, UnknownNameError
from robotid_sim.files import make_folder, require_writable, write_text
from robotid_sim.model.export import list_urdf_losses, write_urdf
from robotid_sim.model.joint_terms import JointTerm, describe_omissions
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.model.mjcf import write_mjcf
from robotid_sim.model.robot import Robot
from robotid_sim.model.sdf import write_sdf
from robotid_sim.model.side_car import require_side_car, write_side_car
from robotid_sim.pipeline.config_tables import PayloadConfig
from robotid_sim.pipeline.currents import read_constants
from robotid_sim.pipeline.fit_plan import EstimationConfig
from robotid_sim.pipeline.predict import SavedEstimate, terms_of
from robotid_sim.validation.log_prediction import apply_saved_eps, apply_saved_gravity


class Format(StrEnum):
    """Format in which a robot can be written."""

    URDF = "urdf"
    MJCF = "mjcf"
    SDF = "sdf"
    PYTHON = "python"
    C = "c"
    HEADER = "c-header"
    LEROBOT = "lerobot-gravity"
    UR = "ur-payload"
    FRANKA = "franka-endeffector"
    KUKA = "kuka-load"
    ROS2 = "ros2-inertia"


SUFFIX_FORMATS = {
    ".urdf": Format.URDF,
    ".xml": Format.MJCF,
    ".sdf": Format.SDF,
    ".py": Format.PYTHON,
    ".c": Format.C,
    ".h": Format.HEADER,
}
"""Formats by the suffixes of their files."""

CODE_WRITERS = {
    Format.PYTHON: write_python,
    Format.C: write_c,
    Format.HEADER: write_c,
    Format.LEROBOT: write_python,
}


def format_of(out: Path, requested: Format | str | None = None) -> Format:
    """Return the format of a file by its suffix.

    Raises `OptionError` or `UnknownNameError` if it is unknown, or contradicts `requested`.
    """
    if requested is not None and requested not in [*Format]:
        raise UnknownNameError.from_names("format", requested, [*Format])
    if requested is not None and requested in LOAD_FORMATS:
        return Format(requested)  # text for a file or a dialog of the vendor, with any suffix
    by_suffix = SUFFIX_FORMATS.get(out.suffix.lower())
    if requested == Format.LEROBOT and by_suffix is Format.PYTHON:
        return Format.LEROBOT
    listed = ", ".join(SUFFIX_FORMATS)
    if by_suffix is None:
        raise OptionError(f"cannot export to {out}: its suffix must be one of {listed}")
    if requested not in (None, by_suffix):
        suffixes = {name: suffix for suffix, name in SUFFIX_FORMATS.items()}
        suffix = suffixes.get(Format(requested), ".py")
        raise OptionError(
            f"--format {requested} contradicts {out}, which is {by_suffix}; end its name in "
            f"{suffix}"
        )
    return by_suffix


def export(
    robot: Robot,
    path: str | Path,
    *,
    format: Format | str | None = None,
    meshes: MeshMode = MeshMode.COPY,
    estimate: str | Path | None = None,
    amperes: bool = False,
    load: PayloadConfig | None = None,
) -> tuple[list[Path], tuple[str, ...]]:
    """Write a robot or its load for other tools: as URDF, MJCF, SDF, source code, or load data.

    Parameters
    ----------
    robot : Robot
        The robot to write.
    path : str or Path
        File to write; its suffix determines the format.
    format : str, optional
        ``urdf``, ``mjcf``, ``sdf``, ``python``, ``c``, ``c-header``, ``lerobot-gravity``, or for
        the load ``ur-payload``, ``franka-endeffector``, ``kuka-load``, ``ros2-inertia``.
    meshes : MeshMode
        Whether meshes are copied.
    estimate : str or Path, optional
        An estimate file of the robot: source code then has its base parameters.
    amperes : bool
        Source code returns motor currents, computed with the torque constants of the estimate.
    load : PayloadConfig, optional
        The load at the tip, for formats of loads.

    Returns
    -------
    files : list of Path
        The file, and a side-car file with quantities that the format cannot represent.
    notes : tuple of str
        Quantities that the files do not contain.

    Raises
    ------
    OptionError
        If the suffix is unknown, or contradicts the format; or the load or the estimate is missing
        or has no effect.
    FileFormatError
        If a file cannot be written.
    """
    out = Path(path)
    chosen = format_of(out, format)
    if chosen not in CODE_WRITERS and (estimate is not None or amperes):
        raise OptionError(f"an estimate and amperes are for source code, not for {chosen}")
    if estimate is not None and load is not None:
        raise OptionError("a payload has no effect on the parameters of an estimate; remove it")
    require_writable(out)
    if chosen in LOAD_FORMATS:
        write_text(out, LOAD_FORMATS[chosen](_build_load(load, chosen)))
        return [out], ()
    if chosen in CODE_WRITERS:
        constants, terms = None, robot.terms
        if estimate is not None:
            robot, constants, terms = read_base_model(estimate, robot)
        returns_currents = amperes or chosen is Format.LEROBOT
        if returns_currents and constants is None:
            raise OptionError(
                "currents need an estimate from a log of motor currents; give --estimate"
            )
        CODE_WRITERS[chosen](robot, out, constants if returns_currents else None)
        return [out], describe_omissions(terms)
    require_side_car(out)
    files = [out, out.with_suffix(".toml")]
    if chosen is Format.MJCF:
        return files, write_mjcf(robot, out, meshes=meshes)
    if chosen is Format.SDF:
        return files, write_sdf(robot, out, meshes=meshes)
    notes = write_urdf(robot, out, meshes=meshes)
    write_side_car(robot, out, ("Ia", "Fo", "eps", "acceleration"))
    return files, (*notes, *list_urdf_losses(robot))


def _build_load(config: PayloadConfig | None, format: str) -> Load:
    if config is None:
        raise OptionError(f"{format} needs the load; give --payload {LOAD_TEXT}")
    xx, xy, yy, xz, yz, zz = config.inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Load(config.mass, np.array(config.com), tensor)


def read_base_model(
    estimate: str | Path, nominal: Robot
) -> tuple[Robot, Float1D | None, tuple[JointTerm, ...]]:
    """Read the base parameters of an estimate file as a robot, with torque constants and terms.

    Parameters without a base parameter are zero. The robot has the torques of the estimate, but its
    inertia is not consistent. Raises `FileFormatError` if the estimate failed or is of another
    robot.
    """
    saved = SavedEstimate.from_estimate(estimate)
    measured = saved.find_measured_joints(nominal)
    robot = apply_saved_eps(apply_saved_gravity(nominal, saved.context), saved.context)
    basis = base_parameters(robot, EstimationConfig().joint_parameters, measured)
    chosen = saved.select_robot(robot, basis).chosen
    if not chosen.success:
        raise FileFormatError(f"{saved.name}: the chosen fit failed: {chosen.message}")
    phi = basis.complete(chosen.beta, np.zeros(len(robot.parameter_names)))
    constants = read_constants(saved.context, robot.dof, saved.name)
    terms = tuple(terms_of(saved.context, robot))
    return robot.with_parameters(phi, formal=True), constants, terms


LOAD_TEXT = "M,X,Y,Z,Ixx,Ixy,Iyy,Ixz,Iyz,Izz"

MAX_SAMPLES = 10_000
"""Largest number of posterior samples."""

SAMPLE_FILE_PATTERN = "sample_*.urdf"


def list_sample_files(count: int, folder: Path) -> list[Path]:
    """Make the folder of posterior samples and return their files.

    Raises `OptionError` if `count` is out of range, `FileFormatError` if the folder cannot be
    written or has other samples.
    """
    if not 1 <= count <= MAX_SAMPLES:
        raise OptionError(
            f"the number of posterior samples must be 1 to {MAX_SAMPLES}, got {count}"
        )
    make_folder(folder, "--posterior-samples")
    digits = max(2, len(str(count)))
    files = [folder / f"sample_{k:0{digits}d}.urdf" for k in range(1, count + 1)]
    if others := sorted(set(folder.glob(SAMPLE_FILE_PATTERN)) - set(files)):
        raise FileFormatError(
            f"{folder} has other posterior samples, such as {others[0].name}; remove them, or "
            "choose another folder"
        )
    return files


def write_samples(robots: Sequence[Robot], files: Sequence[Path], meshes: MeshMode) -> None:
    """Write posterior samples as URDF."""
    for robot, file in zip(robots, files, strict=True):
        write_urdf(robot, file, meshes=meshes)
