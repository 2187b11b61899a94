"""Figures of values for notebooks."""

import numpy as np
import pytest

import robotid_sim as rid
from robotid_sim.errors import ArgumentTypeError, OptionError, UnknownNameError
from robotid_sim.plotting import FIGURES
from robotid_sim.report.study_report import study_report


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
    assert "log" in FIGURES


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
