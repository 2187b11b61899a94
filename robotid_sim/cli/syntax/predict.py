"""Words of ``robotid predict``."""

from robotid_sim.cli import options


@options.for_study(
    *("seed", "plugin", "nominal"), needs={"no_replay": "report"}, excludes={"seed": "nominal"}
)
def predict(
    robot: options.RobotArg,
    estimate: options.EstimateFile,
    log: options.LogFile,
    mapping: options.MapFile = None,
    out: options.ResultFile = None,
    report: options.ReportFile = None,
    no_replay: options.NoReplay = False,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Predict the torques of a log that an estimate has not seen, and score them by joint.

    The motion comes from the log's positions alone, friction velocities and torque delay from the
    estimate. For a machine's log ROBOT is the nominal model.
    """
