"""Files of what was identified: estimates with their context, parameters, and the robot."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from robotid_sim.estimation.estimate import save_estimates
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mass_comparison import unlikely_masses
from robotid_sim.model.mesh_files import MeshMode
from robotid_sim.study.folder import ESTIMATE, LOG, PARAMETERS
from robotid_sim.study.identification import Identification, covariance_blocks, intervals_of
from robotid_sim.study.parameter_file import write_parameters


def write_fit(fit: Identification, folder: Path, meshes: MeshMode) -> Path | None:
    """Write what was identified from the log of a study.

    Parameters
    ----------
    fit : Identification
        What is written.
    folder : Path
        Where the files go.
    meshes : MeshMode
        Whether the meshes come along.

    Returns
    -------
    path : Path or None
        The URDF; None if there is no consistent robot.

    Raises
    ------
    FileFormatError
        If a file cannot be written.
    """
    save_estimates(list(fit.estimates), folder / ESTIMATE, **estimate_context(fit, [LOG]))
    write_parameters(fit, folder / PARAMETERS)
    return write_identified(fit, folder / "identified.urdf", meshes)


def estimate_context(fit: Identification, logs: Sequence[str]) -> dict[str, object]:
    """Return what an estimate file says beside the estimates.

    Parameters
    ----------
    fit : Identification
        What the estimates are part of.
    logs : sequence of str
        Names of its logs.

    Returns
    -------
    context : dict
        Entries of the file.
    """
    return {
        "logs": list(logs),
        "preprocessing": [preprocessor.message for preprocessor in fit.preprocessors],
        "weights": fit.weights.tolist(),
        "chosen": fit.chosen.estimator,
        "groupings": list(fit.basis.groupings),
        "lift": None if fit.lift is None else fit.lift.message,
        "unlikely_masses": [] if fit.lift is None else unlikely_masses(fit.lift.robot, fit.nominal),
        "doubt": fit.doubt,
        "lacks": [asdict(lack) for lack in fit.discrepancy.lacks],
        "residuals_repeat": fit.discrepancy.repeats,
        "terms": [fitted.content() for fitted in fit.structure.terms],
        "torque_gain_std": fit.torque_gain_std,
        "friction_velocity": [joint.friction.eps for joint in fit.nominal.joints],
        "gravity": fit.nominal.gravity.tolist(),
        "torque_delay": fit.preprocessor.delay,
        "torque_measured": fit.plain.measured.tolist(),
        **_freedom_of_covariance(fit),
    }


def _freedom_of_covariance(fit: Identification) -> dict[str, object]:
    """Return how certain the covariance of the chosen estimate is: what a comparison asks."""
    intervals = intervals_of(fit)
    if intervals is None:
        return {"cov_dof": None, "cov_blocks": None}
    return {"cov_dof": intervals.dof.tolist(), "cov_blocks": covariance_blocks(fit, fit.chosen)}


def write_identified(
    fit: Identification, path: Path, meshes: MeshMode = MeshMode.COPY
) -> Path | None:
    """Write the identified robot as URDF.

    Parameters
    ----------
    fit : Identification
        With the robot, or without.
    path : Path
        File to write; removed if there is no robot.
    meshes : MeshMode
        Whether the meshes come along.

    Returns
    -------
    path : Path or None
        None if there is no consistent robot.

    Raises
    ------
    FileFormatError
        If a file cannot be written.
    """
    if fit.lift is None:
        path.unlink(missing_ok=True)  # of an earlier run
        return None
    write_urdf(fit.lift.robot, path, meshes=meshes)
    return path
