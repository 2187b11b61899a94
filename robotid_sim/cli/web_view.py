"""``robotid view --web``: the replay of a page, served to a browser."""

import os
import signal
import sys
import webbrowser
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from robotid_sim.cli import output
from robotid_sim.errors import OptionError
from robotid_sim.report.page import Page, page_text
from robotid_sim.report.replay.motions import Replay, logs_motion, task_motion
from robotid_sim.viewer.sources import ViewerMotions

HOST_ADDRESS = "127.0.0.1"
"""Address of the server; other computers cannot reach it."""


def serve_motions(
    shown: ViewerMotions,
    magnification: float | None,
    camera: str,
    speed: float,
    port: int | None,
    no_open: bool,
    *,
    as_json: bool,
) -> int:
    """Serve the replay of motions until Ctrl-C."""
    plant, task = shown.plant, shown.task
    motion = logs_motion(shown.animations)
    if task is not None:
        motion = task_motion(task, magnification, plant)
    replay = Replay(plant, (motion.add_contacts(),), camera, speed)
    return serve(replay, shown.content(), port, no_open, as_json=as_json)


def serve(
    replay: Replay, summary: Mapping[str, Any], port: int | None, no_open: bool, *, as_json: bool
) -> int:
    """Serve the page of a replay until Ctrl-C; print its address, and open it in a browser."""
    title = f"{replay.robot.name}: {', '.join(summary['shown'])}"
    page = page_text(Page(title=title, finding="", sections=(), replay=replay)).encode()
    with _server(page, port or 0) as server:
        url = f"http://{HOST_ADDRESS}:{server.server_port}/"
        if as_json:
            output.print_json({**summary, "url": url})
        else:
            output.print_line(f"{title}: {url} (Ctrl-C ends it)")
        sys.stdout.flush()
        # In a terminal without a window, a text browser would open.
        shown = any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
        if not no_open and (shown or sys.platform in ("darwin", "win32")):
            webbrowser.open(url)
        _serve_until_interrupted(server)
    return 0


def _serve_until_interrupted(server: ThreadingHTTPServer) -> None:
    """Serve until Ctrl-C, which ends the server without an error."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        server.serve_forever(poll_interval=0.2)
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, handler)


class _PageServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that disconnects before it has read all, which is not an error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def _server(page: bytes, port: int) -> ThreadingHTTPServer:
    class PageHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path != "/":
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(page)))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            """Do not log requests."""

    try:
        return _PageServer((HOST_ADDRESS, port), PageHandler)
    except OSError as error:
        raise OptionError(f"port {port} cannot be used: {error.strerror}; give another") from error
