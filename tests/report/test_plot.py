"""Figures of values for notebooks."""

import numpy as np
import pytest

import robotid_sim as rid
from robotid_sim.errors import ArgumentTypeError, OptionError, UnknownNameError
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


def test_a_page_is_made_once_for_all_figures_of_a_study(study, monkeypatch) -> None:
    made = []

    def counted(*args):
        made.append(args)
        return study_report(*args)

    monkeypatch.setattr("robotid_sim.report.plot.study_report", counted)
    rid.plot(study, "fit")
    rid.plot(study, "prediction")
    assert len(made) <= 1  # none if another test has asked before


def test_what_has_no_figure_is_told(study) -> None:
    with pytest.raises(ArgumentTypeError, match="no figure of a ndarray; give a Study, Log"):
        rid.plot(np.zeros(3))
    with pytest.raises(OptionError, match="give robot="):
        rid.plot(study.trajectory)


def test_the_package_has_what_a_study_needs() -> None:
    assert "rts" in rid.PREPROCESSORS
    assert "encoder-noise" in rid.SENSORS
    assert {"wls", "consistent"} <= set(rid.ESTIMATORS)
    assert rid.PREPROCESSORS.name_of(rid.Adaptive()) == "adaptive"
    assert {"plot", "identify", "simulate", "Study", "StudyConfig"} <= set(rid.__all__)
