"""``robotid view``: a motion in a window, or recorded to a file."""

import robotid_sim as rid
from robotid_sim.cli import options, output
from robotid_sim.cli import view_options as of_view
from robotid_sim.cli.command import command

SIMULATION_OPTIONS = ("seed", "nominal", "preset", "plant_friction", "plant_drive", "engine")
"""Options that act only on a simulated motion."""


@command(
    *(*SIMULATION_OPTIONS, "no_clearance", "plugin"),
    needs={
        **dict.fromkeys(SIMULATION_OPTIONS, "trajectory"),
        **dict.fromkeys(("time", "fps", "renderer", "joint"), "record"),
        **dict.fromkeys(("magnify", "no_clearance"), "task"),
        **dict.fromkeys(("port", "no_open"), "web"),
        **dict.fromkeys(("plant_friction", "plant_drive", "engine"), ("trajectory", "task")),
    },
    excludes={
        **dict.fromkeys(("trajectory", "log"), "task"),
        **dict.fromkeys(("record", "size", "show"), "web"),
    },
)
def view(
    robot: options.RobotArg,
    trajectory: of_view.TrajectoryFile = None,
    log: of_view.LogFiles = None,
    result: of_view.ResultFolder = None,
    task: of_view.TaskName = None,
    magnify: of_view.Magnification = None,
    record: of_view.RecordFile = None,
    time: of_view.Time = None,
    size: of_view.Size = None,
    fps: of_view.Fps = None,
    speed: of_view.Speed = None,
    camera: of_view.CameraName = "iso",
    show: of_view.Layers = None,
    joint: of_view.JointName = None,
    renderer: of_view.RendererName = None,
    web: of_view.Web = False,
    port: of_view.Port = None,
    no_open: of_view.NoOpen = False,
    json: options.Json = False,
    *,
    study: options.Configuration,
) -> int:
    """Show a motion of ROBOT: a trajectory, a log, a result, a task, or a sweep of every joint.

    ROBOT may be a folder of `robotid run`, wherever it was moved to. The window is PyBullet's, with
    sliders; Ctrl and the mouse turn the view. With --web or without PyBullet a browser shows it.
    """
    from robotid_sim.viewer import sources
    from robotid_sim.viewer.display import require_display
    from robotid_sim.viewer.view_settings import require_speed

    output.begin()
    folder, result = sources.folders_of(robot, trajectory, log, result, task)
    web = web or of_view.is_browser_needed(record, size, show)
    settings = of_view.settings_of(size, camera, show, joint, renderer, windowed=record is None)
    fps, speed = of_view.rates(record, fps, speed)
    if record is not None:
        from robotid_sim.viewer.recorder import require_recordable  # loads Pillow

        require_recordable(record, settings, fps, speed)
    elif web:
        require_speed(speed)
    elif trajectory or task:
        require_display()
    plant = rid.build_robot(robot if folder is None else sources.model_in(folder), study.robot)
    settings.joint_of(plant)
    with output.progress_line() as progress:
        inputs = (trajectory, log, result, task, magnify)
        shown = sources.ViewerMotions.from_inputs(
            plant, study, *inputs, progress, true=folder is None, engine_needed=not web
        )
        if record is not None:
            recorded = shown.record(record, settings, fps, speed, time, progress)
    if record is not None:
        of_view.print_recording(recorded, record, as_json=json)
    elif web:
        from robotid_sim.cli.web_view import serve_motions

        return serve_motions(shown, magnify, camera, speed, port, no_open, as_json=json)
    else:
        shown.show(settings, speed)
        output.print_result(shown.content(), [], as_json=json)
    return 0
