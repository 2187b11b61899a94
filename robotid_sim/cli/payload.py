"""``robotid payload``: a load at the tip, or the torque constants by a known one."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from threadpoolctl import threadpool_limits

from robotid_sim.arrays import Float2D
from robotid_sim.cli import options, output
from robotid_sim.errors import OptionError
from robotid_sim.estimation.payload import (
    SYMBOLS,
    PayloadEstimate,
    estimate_payload,
    payload_parameters,
)
from robotid_sim.estimation.torque_constants import TorqueConstants, estimate_torque_constants
from robotid_sim.files import require_writable, write_json
from robotid_sim.measurement.files import load_log
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.study.config import PayloadConfig, StudyConfig
from robotid_sim.study.excitation import basis_of
from robotid_sim.study.robots import read_robot
from robotid_sim.study.stages import nominal_of_log, preprocessor_of


@options.for_study
def payload(
    robot: options.RobotArg,
    log: Annotated[Path, typer.Argument(metavar="LOG", help="Log without the load.")],
    loaded: Annotated[Path, typer.Argument(metavar="LOADED", help="Log with the load.")],
    load: Annotated[
        str | None,
        typer.Option(
            metavar="M[,X,Y,Z[,IXX,IXY,IYY,IXZ,IYZ,IZZ]]",
            help="The load, if it is known: then the torque constants are estimated.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="File for the result (JSON).")
    ] = None,
    json: options.Json = False,
    *,
    study: StudyConfig,
) -> int:
    """Estimate a load at the tip from two logs, or by a known load the torque constants.

    Both logs must be of the same cell; the motions need not be the same. Exit 1 if the fit failed.
    """
    if out is not None:
        require_writable(out)
    known = None
    if load is not None:
        known = PayloadConfig.of(options.parse_payload(load), f"--load '{load}'")
        if not known.mass > 0.0:
            raise OptionError(f"--load '{load}': a load without mass shows nothing; give its mass")
    read = read_robot(robot, study.robot)
    first, second = load_log(log), load_log(loaded)
    nominal = nominal_of_log(read, first, study)
    basis = basis_of(nominal, study)
    with threadpool_limits(1):
        bare, heavy = (_motion(one, nominal, study) for one in (first, second))
        found: PayloadEstimate | TorqueConstants
        if known is None:
            found = estimate_payload(bare, heavy, nominal, basis)
        else:
            phi = payload_parameters(nominal, known.mass, np.array(known.com), _tensor(known))
            found = estimate_torque_constants(bare, heavy, phi, nominal, basis)
    if isinstance(found, PayloadEstimate):
        content = _load_content(found)
    else:
        content = _gains_content(found)
    content = {"robot": read.name, "success": found.success, **content}
    if out is not None:
        write_json(out, "payload", 1, content)
    if json:
        output.print_json(content)
    else:
        for sentence in found.sentences():
            output.print_line(sentence)
    return 0 if found.success else 1


def _motion(log: Log, nominal: Robot, study: StudyConfig) -> Motion:
    log.require_robot(nominal).require_torques()
    return preprocessor_of(study).tuned(log, nominal)(log, nominal)


def _tensor(known: PayloadConfig) -> Float2D:
    """Return the inertia about the center of mass, shape (3, 3)."""
    xx, xy, yy, xz, yz, zz = known.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _load_content(found: PayloadEstimate) -> dict[str, Any]:
    def known(values: Any) -> list[float | None]:
        return [float(v) if np.isfinite(v) else None for v in np.atleast_1d(values)]

    return {
        "message": found.message,
        "mass": known(found.mass)[0],
        "mass_std": known(found.mass_std)[0],
        "com": known(found.com),
        "com_std": known(found.com_std),
        "parameters": dict(zip(SYMBOLS, known(found.phi), strict=True)),
    }


def _gains_content(found: TorqueConstants) -> dict[str, Any]:
    return {
        "message": found.message,
        "joint_names": list(found.joint_names),
        "true_over_believed": found.gains.tolist(),
        "std": found.std.tolist(),
    }
