"""``robotid view --web``: a page for a browser, without display and engine, until Ctrl-C."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import numpy as np
import pytest
from results import sealed
from robots import DATA
from test_without_engines import HIDING

import robotid_sim
from robotid_sim.cli import web_view
from robotid_sim.measurement.files import save_log
from robotid_sim.measurement.log import Log
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.tasks.task import TaskRun
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.closed_loop import TaskMotions
from robotid_sim.viewer import sources as command

ARM = DATA / "2r.urdf"
T = np.arange(0.0, 2.0, 0.02)


def log_of(robot: Robot, q: np.ndarray) -> Log:
    units = {"joint_names": robot.joint_names, "joint_units": robot.joint_units}
    return Log(t=T, q=q, tau_meas=5.0 * q, **units)


@pytest.fixture(scope="module")
def robot() -> Robot:
    return Robot.from_urdf(ARM)


@pytest.fixture(scope="module")
def folder(robot, tmp_path_factory) -> Path:
    """A result as far as the viewer reads it, with a trajectory."""
    folder = tmp_path_factory.mktemp("result")
    save_log(log_of(robot, 0.5 * np.sin(T[:, None] + np.array([0.0, 1.0]))), folder / "log.h5")
    write_urdf(robot, folder / "nominal.urdf")
    amplitudes = np.array([[0.4, -0.4], [-0.3, 0.3]])
    wave = FourierTrajectory(
        joint_names=robot.joint_names,
        q0=np.zeros(2),
        a=amplitudes,
        b=np.zeros((2, 2)),
        base_period=2.0,
        periods=1,
    )
    wave.save(folder / "trajectory.json")
    return sealed(folder)


@pytest.fixture
def served(robotid, monkeypatch):
    """Return a function that runs the command and gives the replay that it would serve."""
    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.setattr(web_view, "_serve_until_interrupted", lambda server: None)

    def run(*words: object):
        seen = []
        serve = web_view.serve

        def keep(replay, *rest, **more):
            seen.append(replay)
            return serve(replay, *rest, **more)

        with monkeypatch.context() as patch:
            patch.setattr(web_view, "serve", keep)
            done = robotid("view", *words, "--web", "--no-open")
        assert (done.code, done.err) == (0, ""), done
        return seen[0], done.out

    return run


@pytest.mark.slow
@pytest.mark.parametrize("asked", [("--web", "--no-open"), ()])
def test_without_display_and_engine_it_serves_until_ctrl_c(folder, tmp_path, asked) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    root = Path(robotid_sim.__file__).parents[1]
    paths = os.pathsep.join(map(str, (tmp_path, root)))
    environment = {k: v for k, v in os.environ.items() if k != "DISPLAY"} | {"PYTHONPATH": paths}
    words = ("view", ARM, "--trajectory", folder / "trajectory.json", *asked, "--json")
    process = subprocess.Popen(
        [sys.executable, "-m", "robotid_sim", *map(str, words)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = []
        while not lines or lines[-1].rstrip() != "}":
            lines.append(process.stdout.readline())
            assert lines[-1], process.stderr.read()
        said = json.loads("".join(lines))
        assert said["shown"] == ["trajectory"]
        with urlopen(said["url"]) as answer:
            page = answer.read().decode()
        assert 'id="replay-data"' in page
        assert "Content-Security-Policy" in page
        with pytest.raises(HTTPError, match="404"):
            urlopen(said["url"] + "etc/passwd")
    finally:
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("option", [("--size", "800x600"), ("--show", "path")])
def test_options_of_the_window_are_refused_where_there_is_none(
    refused, monkeypatch, option
) -> None:
    monkeypatch.setattr("robotid_sim.viewer.display.is_installed", lambda name: False)
    assert f"{option[0]} has no effect in a browser" in refused("view", ARM, *option)


@pytest.mark.parametrize("broken", [False, True])
def test_a_browser_that_goes_is_no_error_and_a_defect_of_ours_is(
    capfd, monkeypatch, broken
) -> None:
    with web_view._server(bytes(50_000_000), 0) as server:  # more than sockets hold
        server.daemon_threads = False  # closing waits for the answers
        if broken:
            monkeypatch.setattr(server.RequestHandlerClass, "do_GET", lambda self: 1 / 0)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        with socket.create_connection(server.server_address) as browser:
            browser.sendall(b"GET / HTTP/1.0\r\n\r\n")
            browser.recv(1)  # the answer has begun, or the connection is closed
        server.shutdown()
        thread.join()
    said = capfd.readouterr().err
    assert "ZeroDivisionError" in said if broken else not said


def test_a_sweep_is_shown_from_the_side_that_is_asked_for(served) -> None:
    replay, out = served(ARM, "--camera", "top", "--speed", "2")
    assert [motion.name for motion in replay.motions] == ["joint sweep"]
    assert (replay.camera, replay.speed) == ("top", 2.0)
    assert "http://127.0.0.1:" in out


def test_logs_are_the_arm_and_ghosts(served, folder, robot, tmp_path) -> None:
    save_log(log_of(robot, np.zeros((T.size, 2))), tmp_path / "still.h5")
    replay, _ = served(ARM, "--log", folder / "log.h5", "--log", tmp_path / "still.h5")
    (motion,) = replay.motions
    assert (motion.name, [arm.name for arm in motion.ghosts]) == ("log", ["still"])
    np.testing.assert_allclose(motion.ghosts[0].difference, -motion.animation.q)


@pytest.mark.parametrize("words", [("FOLDER",), (ARM, "--result", "FOLDER")])
def test_a_result_shows_its_log(served, folder, words) -> None:
    replay, _ = served(*(folder if word == "FOLDER" else word for word in words))
    assert [motion.name for motion in replay.motions] == ["log"]
    assert replay.motions[0].animation.end == pytest.approx(T[-1])


def test_a_task_shows_its_models_as_ghosts(served, folder, robot, monkeypatch) -> None:
    path = PointToPoint(robot.joint_names, np.zeros(2), np.full(2, 0.5), 0.0, 2.0)
    logs = {model: log_of(robot, path(T).q + k * 1e-3) for k, model in enumerate(("true", "wls"))}
    motions = TaskMotions(TaskRun("lap", path), "pid", logs)
    monkeypatch.setattr(command, "task_of_result", lambda *_: motions)
    replay, _ = served(ARM, "--result", folder, "--task", "lap", "--magnify", 50)
    (motion,) = replay.motions
    assert (motion.name, motion.magnification) == ("lap", 50.0)
    assert [arm.name for arm in motion.ghosts] == ["true", "wls"]
    np.testing.assert_allclose(motion.ghosts[1].difference, 1e-3, atol=1e-12)
    assert motion.ghosts[0].role == "true"


def test_a_port_that_is_taken_is_one_line(robotid) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = robotid("view", ARM, "--web", "--no-open", "--port", port)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert f"port {port} cannot be used" in done.err


@pytest.mark.parametrize(("words", "opened"), [((), 1), (("--no-open",), 0)])
def test_the_browser_is_opened_unless_told_not_to(ran, monkeypatch, words, opened) -> None:
    urls = []
    monkeypatch.setattr(web_view, "_serve_until_interrupted", lambda server: None)
    monkeypatch.setattr(web_view.webbrowser, "open", urls.append)
    monkeypatch.setenv("DISPLAY", ":7")
    done = ran("view", ARM, "--web", *words)
    assert len(urls) == opened
    assert all(url in done.out for url in urls)
