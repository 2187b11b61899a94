"""Words of ``robotid diagnose``."""

from robotid_sim.cli import options


@options.for_study("seed", "plugin", "nominal", excludes={"seed": "nominal"})
def diagnose(
    robot: options.RobotArg,
    log: options.LogFile,
    mapping: options.MapFile = None,
    json: options.Json = False,
) -> None:
    """Say what is wrong with a log or with the model for it: cause, joint, evidence, remedy.

    For a machine's log ROBOT is the nominal model. Exit 1 if there is a cause.
    """
