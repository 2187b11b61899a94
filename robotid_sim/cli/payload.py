"""``robotid payload``: a load at the tip, or the torque constants by a known one."""

from pathlib import Path
from typing import Any

import numpy as np

from robotid_sim.arrays import Float1D, Float2D
from robotid_sim.cli import logs, output
from robotid_sim.cli.study_options import parse_payload
from robotid_sim.errors import OptionError
from robotid_sim.estimation.payload import (
    SYMBOLS,
    PayloadEstimate,
    estimate_payload,
    payload_parameters,
)
from robotid_sim.estimation.torque_constants import TorqueConstants, estimate_torque_constants
from robotid_sim.files import require_writable, write_json
from robotid_sim.measurement.log import Log
from robotid_sim.measurement.motion import Motion
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_fit import build_preprocessor
from robotid_sim.pipeline.build_robot import build_basis, build_nominal_of_log, build_robot
from robotid_sim.pipeline.config import StudyConfig
from robotid_sim.pipeline.config_tables import PayloadConfig
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.threads import one_blas_thread


def payload(
    *,
    robot: str,
    log: Path,
    loaded: Path,
    load: str | None,
    torque_gain_std: float | None,
    out: Path | None,
    force: bool,
    json: bool,
    study: StudyConfig,
) -> int:
    """Do ``robotid payload``; its words are in `cli.syntax.payload`."""
    if out is not None:
        require_writable(out)
    given = None if load is None else _known(load)
    if given is not None and torque_gain_std is not None:
        raise OptionError(
            "with --load the torque constants are estimated; leave --torque-gain-std out"
        )
    model = build_robot(robot, study.robot)
    reads = [logs.read_one(path, model, None) for path in (log, loaded)]
    logs.require_distinct(reads)
    first, second = (read.log.require_torques() for read in reads)
    nominal = build_nominal_of_log(model, first, study)
    basis = build_basis(nominal, study, first.torque_measured | second.torque_measured)
    against = logs.contradicted(reads, nominal, basis, force=force).errors
    preprocessor = build_preprocessor(study.preprocess)
    with one_blas_thread():
        bare, heavy = (_motion(part, nominal, preprocessor) for part in (first, second))
        estimate: PayloadEstimate | TorqueConstants
        phi: float | Float1D
        if given is None:
            gain_std = torque_gain_std or 0.0
            estimate = estimate_payload(bare, heavy, nominal, basis, gain_std=gain_std)
        else:
            phi = given.mass
            if "com" in given.model_fields_set:
                phi = payload_parameters(nominal, given.mass, np.array(given.com), _tensor(given))
            estimate = estimate_torque_constants(bare, heavy, phi, nominal, basis)
            against = "; ".join(filter(None, (against, estimate.suspicion)))
    if isinstance(estimate, PayloadEstimate):
        content = _load_content(estimate)
    else:
        content = _gains_content(estimate)
    content = {"robot": model.name, "success": estimate.success, **content}
    content |= {"doubt": against} if against else {}
    if out is not None:
        write_json(out, "payload", 1, content)
    if json:
        output.print_json(content)
    else:
        logs.print_notes(reads)
        for sentence in estimate.sentences():
            output.print_line(sentence)
        logs.print_doubt(against)
        output.print_written([out])
    return 0 if estimate.success and not against else 1


def _known(text: str) -> PayloadConfig:
    """Return a known load, of its mass alone or with its place."""
    load = PayloadConfig.of(parse_payload(text, "--load"), f"--load '{text}'")
    if not load.mass > 0.0:
        raise OptionError(f"--load '{text}': a load without mass shows nothing; give its mass")
    return load


def _motion(log: Log, nominal: Robot, preprocessor: Preprocessor) -> Motion:
    return preprocessor.tuned(log, nominal)(log, nominal)


def _tensor(load: PayloadConfig) -> Float2D:
    """Return the inertia about the center of mass, shape (3, 3)."""
    xx, xy, yy, xz, yz, zz = load.inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _load_content(estimate: PayloadEstimate) -> dict[str, Any]:
    def numbers(values: Any) -> list[float | None]:
        return [float(v) if np.isfinite(v) else None for v in np.atleast_1d(values)]

    return {
        "message": estimate.message,
        "mass": numbers(estimate.mass)[0],
        "mass_std": numbers(estimate.mass_std)[0],
        "com": numbers(estimate.com),
        "com_std": numbers(estimate.com_std),
        "parameters": dict(zip(SYMBOLS, numbers(estimate.phi), strict=True)),
        "parameters_std": dict(zip(SYMBOLS, numbers(estimate.phi_std), strict=True)),
    }


def _gains_content(estimate: TorqueConstants) -> dict[str, Any]:
    return {
        "message": estimate.message,
        "joint_names": list(estimate.joint_names),
        "true_over_believed": estimate.gains.tolist(),
        "std": estimate.std.tolist(),
        "shown": estimate.shown.tolist(),
    }
