"""From logs to an identified robot: what the command, a study and a campaign all call."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robotid_sim.dynamics.base_parameters import BaseParameters, base_parameters
from robotid_sim.importing.reading import Logs
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_fit import ConstantSource, Estimators, fit_plan
from robotid_sim.pipeline.fit_config import EstimationConfig
from robotid_sim.pipeline.fit_plan import FitPlan
from robotid_sim.pipeline.hold_out import HoldOut, fit_and_predict, measured_error, training_logs
from robotid_sim.pipeline.identification import HeldOutPrediction, Identification, with_doubt
from robotid_sim.pipeline.log_checks import EXCERPTS, LogWarnings, check_logs
from robotid_sim.pipeline.long_logs import can_stream, identify_long
from robotid_sim.preprocess.preprocessor import Preprocessor
from robotid_sim.progress import Progress, silent
from robotid_sim.streams import stream_of
from robotid_sim.threads import one_blas_thread

DEFAULT = EstimationConfig()


@one_blas_thread()
def identify(
    logs: Logs | Log | Sequence[Log],
    nominal: Robot,
    *,
    estimators: Estimators | None = None,
    chosen: str | None = None,
    preprocessor: Preprocessor | str = "adaptive",
    terms: str | Sequence[str] = "none",
    joint_parameters: Sequence[str] = DEFAULT.joint_parameters,
    friction_velocity: ConstantSource = DEFAULT.eps,
    gravity: ConstantSource = DEFAULT.gravity,
    torque_gain_std: float = 0.0,
    hold_out: HoldOut | str | Logs | Sequence[Log] | None = None,
    model_error: bool = False,
    check: bool = True,
    force: bool = False,
    basis: BaseParameters | None = None,
    plan: FitPlan | None = None,
    rng: int | np.random.Generator = 0,
    progress: Progress = silent,
) -> Identification:
    """Identify the parameters of a robot from logs, of a machine or virtual.

    Nothing here looks at the truth of a virtual log.

    Parameters
    ----------
    logs : Logs, Log or sequence of Log
        As by `read_logs`; several at one rate are fitted together, each weighed by its noise.
    nominal : Robot
        What is known of the robot before.
    estimators : sequence of str, or mapping of str to Estimator, optional
        What runs. By default ordinary, weighted and physically consistent least squares, and output
        error where the controller shakes the robot with the noise of its encoders.
    chosen : str, optional
        The estimate that the robot is made from; by default the consistent one, else the last.
    preprocessor : Preprocessor or str
        Makes motion and torque of a log.
    terms : str or sequence of str
        Terms of joints that the fit may choose by evidence: ``none``, ``all``, or kinds.
    joint_parameters : sequence of str
        Parameters of every joint that are looked for, of Fv, Fc, Fo and Ia.
    friction_velocity : str
        Transition velocity of Coulomb friction: ``fixed``, or ``estimate``, from the log where it
        shows another.
    gravity : str
        Likewise of gravity, which a tilted base turns.
    torque_gain_std : float
        Relative standard deviation of the torque constants, which no log shows.
    hold_out : HoldOut, str, Logs or sequence of Log, optional
        Data that are left out of the fit and predicted: ``last:30%``, ``blocks:4``, or logs.
    model_error : bool
        Measure how far predictions may be off, for bands about them; done with `hold_out`, too.
    check : bool
        Look for errors of the logs (sign, unit, zero, column, delay, clipping) before the fit.
    force : bool
        Go on with logs that hold one; the identification is in doubt then.
    basis : BaseParameters, optional
        The base parameters; by default those of `joint_parameters`.
    plan : FitPlan, optional
        Built options, in place of those from `estimators` to `torque_gain_std`.
    rng : int or numpy.random.Generator
        Seed, or source, of what estimators draw.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    identification : Identification
        Estimates, the chosen one, the identified robot, and what speaks against them.

    Raises
    ------
    LogError
        If a log is of another robot, has no torques, or holds an error.
    OptionError, UnknownNameError
        If a name or an option is refused.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> log = rid.simulate(setup.cell, setup.unseen, rng=0).log
    >>> fit = rid.identify(log, setup.nominal, estimators=["wls"])
    >>> fit.chosen.success
    True
    """
    given = Logs.of(logs)
    held = None if hold_out is None else HoldOut.of(hold_out)
    plan = plan or fit_plan(
        estimators=estimators,
        chosen=chosen,
        preprocessor=preprocessor,
        terms=terms,
        friction_velocity=friction_velocity,
        gravity=gravity,
        torque_gain_std=torque_gain_std,
    )
    if held is not None or model_error or not can_stream(plan):
        given = given.whole()
    tested = Logs.of(hold_out.whole() if isinstance(hold_out, Logs) else held.logs if held else ())
    Logs((*given.read, *tested.read)).require_distinct()
    if basis is None:
        measured = np.any([log.torque_measured for log in given], axis=0)
        basis = base_parameters(nominal, tuple(joint_parameters), measured)
    warnings = LogWarnings("", "")
    if check:
        looked_at = [*given.excerpts(EXCERPTS), *tested.read]
        warnings = check_logs(looked_at, nominal, basis, refuse=not force)
    stream = stream_of(rng, "identify")
    if given.long is not None:
        fit = identify_long(given.long, nominal, basis, plan, stream, progress=progress)
        fit, prediction = replace(fit, samples=given.long.samples), None
    else:
        fit, prediction = fit_and_predict(list(given), held, nominal, basis, plan, stream, progress)
    if held is not None and prediction is not None:
        fit = replace(
            fit, held_out=HeldOutPrediction(held.text or ", ".join(tested.names), prediction)
        )
    if fit.chosen.success and (model_error or prediction is not None):
        fitted = training_logs(list(given), held)
        fit = replace(fit, model_error=measured_error(fit, fitted, plan, prediction))
    return with_doubt(replace(fit, names=tuple(given.names), notes=given.notes), str(warnings))
