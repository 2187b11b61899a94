"""Figures of values, for notebooks and scripts: the same that pages have."""

from collections.abc import Sequence
from functools import lru_cache, singledispatch

import numpy as np
from matplotlib.figure import Figure

from robotid_sim.chart import Chart, Curve, Panel, thinned
from robotid_sim.errors import ArgumentTypeError, OptionError, UnknownNameError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.palette import joint_role
from robotid_sim.report.draw import WIDTH, figure
from robotid_sim.report.figures.excitation import excitation, tool_path
from robotid_sim.report.figures.parameters import correlation
from robotid_sim.report.study_report import study_report
from robotid_sim.section import torque_unit
from robotid_sim.study.study import Study
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.quintic import PointToPoint

SAMPLES = 1500
"""Most samples of a curve."""


def plot(
    value: object, name: str | None = None, *, robot: Robot | None = None, width: float = WIDTH
) -> Figure:
    """Return a figure of a value.

    Parameters
    ----------
    value : Study, Log, FourierTrajectory, PointToPoint or Estimate
        A study has all figures of its page, a log what was recorded, a trajectory its share of the
        limits and the path of the tool, an estimate the correlation of its parameters.
    name : str, optional
        Which figure, as its file is called; by default the first.
    robot : Robot, optional
        Gives a trajectory its limits and torques; needed there only.
    width : float
        Width [in].

    Returns
    -------
    figure : matplotlib.figure.Figure
        A notebook shows it; ``figure.savefig`` writes it.

    Raises
    ------
    ArgumentTypeError
        If there is no figure of such a value.
    UnknownNameError
        If it has no figure of this name; the text lists what there is.

    Examples
    --------
    >>> import numpy as np
    >>> import robotid_sim as rid
    >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
    >>> nominal, basis = setup.nominal, setup.basis
    >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
    >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
    >>> log = rid.simulate(setup.cell, path, rng)
    >>> figure = rid.plot(log)
    >>> len(figure.axes)
    2
    """
    charts = {chart.name: chart for chart in _charts(value, robot)}
    chosen = next(iter(charts)) if name is None else name
    if chosen not in charts:
        raise UnknownNameError.of("figure", chosen, charts)
    return figure(charts[chosen], width)


@singledispatch
def _charts(value: object, robot: Robot | None) -> Sequence[Chart]:
    del robot
    raise ArgumentTypeError(
        f"there is no figure of a {type(value).__name__}; give a Study, Log, FourierTrajectory, "
        "PointToPoint or Estimate"
    )


@_charts.register
def _(value: Study, robot: Robot | None) -> Sequence[Chart]:
    del robot
    return _study_charts(value)


@lru_cache(maxsize=1)
def _study_charts(study: Study) -> tuple[Chart, ...]:
    """Return the figures of a study; kept of the last one, for they are asked for one by one."""
    return tuple(chart for section in study_report(study, "").sections for chart in section.charts)


@_charts.register
def _(value: Log, robot: Robot | None) -> Sequence[Chart]:
    del robot
    return [log_chart(value)]


@_charts.register(FourierTrajectory)
@_charts.register(PointToPoint)
def _(value: FourierTrajectory | PointToPoint, robot: Robot | None) -> Sequence[Chart]:
    if robot is None:
        raise OptionError("a trajectory is shown over the limits of its robot; give robot=")
    return [excitation(value, robot), tool_path(value, robot)]


@_charts.register
def _(value: Estimate, robot: Robot | None) -> Sequence[Chart]:
    del robot
    return [correlation(value)]


def log_chart(log: Log) -> Chart:
    """Return position and torque of every joint over time."""
    part = thinned(log.t.size, SAMPLES)
    torque = (torque_unit(unit) for unit in log.joint_units)
    channels = {
        f"position [{', '.join(dict.fromkeys(log.joint_units))}]": log.q,
        f"torque [{', '.join(dict.fromkeys(torque))}]": log.tau_meas,
    }
    panels = [
        Panel(
            marks=tuple(
                Curve(log.t[part], np.asarray(values[part, j]), joint, joint_role(j))
                for j, joint in enumerate(log.joint_names)
            ),
            x_label="time [s]",
            y_label=label,
        )
        for label, values in channels.items()
    ]
    return Chart(
        name="log",
        title="Log",
        caption="Measured position and torque of every joint.",
        panels=tuple(panels),
        panel_height=1.8,
        share_x=True,
    )
