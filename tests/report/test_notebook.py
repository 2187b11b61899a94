"""What a notebook shows: figures and progress, in a real kernel."""

import base64
import io

import nbformat
import pytest
from nbclient import NotebookClient
from PIL import Image

import robotid_sim as rid

pytestmark = pytest.mark.slow


class Watched(NotebookClient):
    """A client that keeps every state of what is displayed."""

    def process_message(self, message, cell, cell_index):
        if "data" in message["content"]:
            self.shown.append(message["content"]["data"])
        return super().process_message(message, cell, cell_index)


@pytest.fixture
def run(tmp_path):
    """Return a function that runs a cell in a kernel of its own; it returns client and outputs."""

    def outputs(code):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code)])
        client = Watched(notebook, timeout=200, resources={"metadata": {"path": str(tmp_path)}})
        client.shown = []
        client.execute()
        return client.shown, notebook.cells[0].outputs

    return outputs


def test_a_figure_is_a_picture_whose_size_is_that_of_the_figure(run) -> None:
    code = """
import robotid_sim as rid
robot = rid.load_robot("twolink")
path = rid.PointToPoint(robot.joint_names, robot.home, robot.home + 0.2, 0.0, 2.0)
rid.plot(path, robot=robot)
"""
    _, (output,) = run(code)
    picture = Image.open(io.BytesIO(base64.b64decode(output.data["image/png"])))
    size = output.metadata["image/png"]
    assert picture.size == pytest.approx((2 * size["width"], 2 * size["height"]), abs=1)
    assert size["width"] == round(96 * 7.16)
    colors = picture.convert("RGB").getcolors(1 << 24)
    assert len(colors) > 50  # curves and letters
    assert max(colors)[1] == (255, 255, 255)


def test_a_study_shows_a_bar_that_goes(run) -> None:
    code = """
import robotid_sim as rid
study = rid.run_study(rid.build_setup("twolink", rid.StudyConfig().quick()), "out")
"""
    shown, outputs = run(code)
    bars = [data["text/html"] for data in shown if data["text/html"]]
    for stage in ("design", "simulate", "control"):
        assert any(bar.startswith("<progress") and stage in bar for bar in bars)
    (last,) = (o for o in outputs if o.output_type == "display_data")
    assert last.data == {"text/html": "", "text/plain": ""}


def test_a_bar_goes_when_the_work_fails(run) -> None:
    code = """
import robotid_sim as rid
try:
    with rid.progress_line() as progress:
        progress("design <1>", 0.25)
        raise ValueError
except ValueError:
    pass
"""
    shown, (output,) = run(code)
    assert shown[0]["text/html"] == '<progress value="0.250"></progress> design &lt;1&gt;: 25%'
    assert output.data["text/html"] == ""


def test_outside_a_notebook_a_study_is_silent(capfd, tmp_path) -> None:
    rid.run_study(rid.build_setup("twolink", rid.StudyConfig().quick()), tmp_path / "out")
    assert capfd.readouterr() == ("", "")
