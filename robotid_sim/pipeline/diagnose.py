"""What is wrong with a log or with the model for it."""

from collections.abc import Sequence

from robotid_sim.diagnostics.cause import Diagnosis
from robotid_sim.diagnostics.diagnosis import diagnose as diagnose_log
from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.fit_config import EstimationConfig
from robotid_sim.threads import one_blas_thread


@one_blas_thread()
def diagnose(
    log: Logs | Log,
    nominal: Robot,
    *,
    joint_parameters: Sequence[str] = EstimationConfig().joint_parameters,
    basis: BaseParameters | None = None,
) -> Diagnosis:
    """Diagnose a log: causes of misfit by name, with evidence and remedy; its truth is ignored.

    Parameters
    ----------
    log : Logs or Log
        A log as by `read_log`; of several logs the first counts.
    nominal : Robot
        What is known of the robot.
    joint_parameters : sequence of str
        Parameters of every joint that are looked for, of Fv, Fc, Fo and Ia.
    basis : BaseParameters, optional
        The base parameters; by default those of `joint_parameters`.

    Returns
    -------
    diagnosis : Diagnosis
        Causes in the order in which they were found, and what the log cannot show.

    Raises
    ------
    LogError
        If the log is of another robot, has no torques, or is too short.
    """
    data = Logs.of(log)[0]
    basis = basis or base_parameters(nominal, tuple(joint_parameters), data.torque_measured)
    return diagnose_log(data, nominal, basis)
