"""Charts as values, their colors, and figures in notebooks."""

import csv
import io
import re
from importlib.resources import files

import numpy as np
import pytest

import robotid_sim as rid
from robotid_sim.chart import Band, Chart, Curve, Matrix, Panel, Points, Space, csv_text
from robotid_sim.errors import ArgumentTypeError, OptionError, ShapeError, UnknownNameError
from robotid_sim.palette import ROLE_COLORS
from robotid_sim.plotting import FIGURE_NAMES
from robotid_sim.report.study_report import study_report

T = np.linspace(0.0, 1.0, 5)


def chart(*panels) -> Chart:
    return Chart(name="c", title="C", caption="what", panels=panels, columns=2)


def read(text: str) -> dict[str, list[str]]:
    rows = list(csv.reader(io.StringIO(text)))
    return {name: [row[k] for row in rows[1:]] for k, name in enumerate(rows[0])}


def test_marks_need_as_many_x_as_y() -> None:
    with pytest.raises(ShapeError, match="mark 'a': 5 x for 4 y"):
        Curve(T, T[:4], "a", "ink")
    with pytest.raises(ShapeError, match="expected"):
        Points(T[None], T[None], "a", "ink")


def test_marks_keep_their_own_numbers() -> None:
    y = T.copy()
    line = Curve(T, y, "a", "ink")
    y[:] = 7.0
    assert line.y[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        line.y[0] = 1.0


def test_legend_has_every_label_once_in_the_order_of_use() -> None:
    first = Panel(marks=(Curve(T, T, "b", "ink"), Curve(T, T, "", "ink")))
    second = Panel(marks=(Curve(T, T, "a", "ink"), Curve(T, T, "b", "ink")))
    assert list(chart(first, second).legend()) == ["b", "a"]


def test_rows_count_panels_over_columns() -> None:
    panel = Panel(marks=(Curve(T, T, "a", "ink"),))
    assert [chart(*[panel] * k).rows for k in (1, 2, 3)] == [1, 1, 2]


def test_csv_holds_every_number_of_every_mark_one_a_row() -> None:
    band = Band(T, -T, "band", "raw", upper=2.0 * T)
    points = Points(T[:2], T[:2], "points", "ink", x_error=np.array([0.1, 0.2]))
    marks = (Curve(T, T**2, "square", "ink"), band, points)
    panel = Panel(marks=marks, x_label="t [s]", y_label="y [m]", title="p")
    table = read(csv_text(chart(panel)))
    named = ["panel", "series", "quantity", "t [s]", "value", "upper", "half_width"]
    assert list(table) == named
    assert table["series"] == ["square"] * 5 + ["band"] * 5 + ["points"] * 2
    assert set(table["panel"]) == {"p"}
    assert set(table["quantity"]) == {"y [m]"}
    assert [float(v) for v in table["t [s]"]] == [*T, *T, *T[:2]]
    assert [float(v) for v in table["value"]] == pytest.approx([*T**2, *-T, *T[:2]])
    assert table["upper"] == [""] * 5 + [f"{v:g}" for v in 2.0 * T] + [""] * 2
    assert table["half_width"] == [""] * 10 + ["0.1", "0.2"]


def test_csv_of_panels_over_different_x_names_both() -> None:
    panels = [Panel(marks=(Curve(T, T, "a", "ink"),), x_label=x) for x in ("t [s]", "f [Hz]")]
    table = read(csv_text(chart(*panels)))
    assert list(table) == ["panel", "series", "quantity", "x_quantity", "x", "value"]
    assert table["x_quantity"] == ["t [s]"] * 5 + ["f [Hz]"] * 5
    assert set(table["panel"]) == {"1", "2"}


def test_csv_of_a_matrix_and_of_curves_in_space() -> None:
    table = read(csv_text(chart(Matrix(values=np.eye(2), names=("a", "b")))))
    assert table["row"] == ["a", "a", "b", "b"]
    assert table["column"] == ["a", "b", "a", "b"]
    assert table["value"] == ["1", "0", "0", "1"]
    curve = np.arange(6.0).reshape(2, 3)
    table = read(csv_text(chart(Space(curves=(("path", "ink", curve),)))))
    assert table["series"] == ["path", "path"]
    assert table["z [m]"] == ["2", "5"]


AA = 4.5
STYLE = (files("robotid_sim.report") / "assets" / "page.css").read_text(encoding="utf-8")


def luminance(color: str) -> float:
    shares = [int(color[k : k + 2], 16) / 255.0 for k in (1, 3, 5)]
    red, green, blue = (s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_texts_of_a_page_have_enough_contrast(theme, ground) -> None:
    own = {n: re.findall(rf"--{n}: (#\w+);", STYLE)[theme] for n in ("paper", "panel")}
    texts = {role: ROLE_COLORS[role][theme] for role in ("ink", "muted", "identified")}
    for name in ("passed", "failed"):
        texts[name] = re.findall(rf"--{name}: (#\w+);", STYLE)[theme]
    for name, color in texts.items():
        assert contrast(color, own[ground]) >= AA, name


def test_contrast_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.fixture
def study(quick_study):
    return quick_study[0]


def test_every_kind_of_value_has_its_figure(study, tmp_path) -> None:
    dof = study.plant.dof
    log = rid.plot(study.log)
    assert [len(axes.lines) for axes in log.axes] == [dof, dof]
    assert len(rid.plot(study.trajectory, robot=study.nominal).axes) == 4
    assert rid.plot(study.trajectory, "tool-path", robot=study.nominal).axes[0].name == "3d"
    (matrix, _) = rid.plot(study.fit.chosen).axes
    assert len(matrix.get_xticks()) == len(study.fit.chosen.names)
    rid.plot(study.log, width=3.5).savefig(tmp_path / "log.png")
    assert (tmp_path / "log.png").stat().st_size > 1000


def test_a_study_has_the_figures_of_its_page(study) -> None:
    shown = rid.plot(study, "tool-errors")
    assert shown.axes[0].get_ylabel() == "tool error [mm]"
    with pytest.raises(UnknownNameError, match=r"tool-error.*did you mean 'tool-errors'"):
        rid.plot(study, "tool-error")


def test_every_figure_of_a_page_is_an_attribute(study) -> None:
    page = study_report(study, "")
    names = [chart.name for section in page.sections for chart in section.charts]
    assert sorted(dir(rid.plot)) == sorted([*(n.replace("-", "_") for n in names), "log"])
    drawn = rid.plot.tool_errors(study, width=3.5)
    assert drawn.axes[0].get_ylabel() == "tool error [mm]"
    assert drawn.get_size_inches()[0] == 3.5
    assert "Distance of the tool" in rid.plot.tool_errors.__doc__


def test_parts_of_a_study_have_their_figures(study) -> None:
    names = ["base_parameters", "correlation", "residuals_over_state", "singular_values"]
    for name in (*names, "information"):
        assert rid.plot(study.fit, name.replace("_", "-")).axes
    assert rid.plot.excitation(study.trajectory, robot=study.nominal).axes
    assert len(rid.plot.energy(study.loop, robot=study.plant).axes) == 2 * study.plant.dof
    with pytest.raises(OptionError, match="give robot="):
        rid.plot(study.loop)


def test_an_unknown_figure_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'tool_error'.*did you mean 'tool_errors'"):
        rid.plot.tool_error  # noqa: B018 - to read it is the test
    assert not hasattr(rid.plot, "tool_error")
    assert not hasattr(rid.plot, "_repr_html_")
    assert "log" in FIGURE_NAMES


def test_what_has_no_figure_is_told(study) -> None:
    with pytest.raises(ArgumentTypeError, match="no figure of a ndarray; give a Study, Ident"):
        rid.plot(np.zeros(3))
    with pytest.raises(OptionError, match="give robot="):
        rid.plot(study.trajectory)


def test_the_package_has_what_a_study_needs() -> None:
    assert "rts" in rid.PREPROCESSORS
    assert "encoder-noise" in rid.SENSORS
    assert {"wls", "consistent"} <= set(rid.ESTIMATORS)
    assert rid.PREPROCESSORS.name_of(rid.Adaptive()) == "adaptive"
    assert {"plot", "identify", "simulate", "Study", "StudyConfig"} <= set(rid.__all__)


def test_a_second_figure_of_a_study_builds_no_page(study, monkeypatch) -> None:
    rid.plot(study, "prediction")
    monkeypatch.delattr("robotid_sim.plotting.study_report")
    assert rid.plot.excitation(study).axes
