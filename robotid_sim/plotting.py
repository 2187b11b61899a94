"""Figures of results, such as studies and logs, for notebooks and scripts, as in HTML reports."""

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.chart import Chart, Curve, Panel, sample_evenly
from robotid_sim.errors import ArgumentTypeError, OptionError, UnknownNameError
from robotid_sim.estimation.estimate import Estimate
from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.palette import joint_role
from robotid_sim.pipeline.assess import Assessment
from robotid_sim.pipeline.identification import Identification
from robotid_sim.pipeline.study import Study
from robotid_sim.report.draw import FIGURE_WIDTH, NotebookFigure, figure
from robotid_sim.report.figures.excitation import excitation, tool_path
from robotid_sim.report.figures.parameters import base_parameters, correlation
from robotid_sim.report.finding import trust_charts
from robotid_sim.report.loop_section import loop_section
from robotid_sim.report.study_report import study_report
from robotid_sim.section import torque_unit
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.validation.closed_loop import ClosedLoop

MAX_SAMPLES = 1500
"""Maximum number of samples of a curve."""


class UnknownFigureError(UnknownNameError, AttributeError):
    """There is no figure of this name; the message names the nearest one."""


class NamedFigure:
    """A kind of figure; called with a study, a log or another result, it returns the figure.

    Options are those of `plot`.
    """

    def __init__(self, shows: str) -> None:
        self.__doc__ = shows

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name.replace("_", "-")

    def __call__(
        self, value: object, *, robot: Robot | None = None, width: float = FIGURE_WIDTH
    ) -> NotebookFigure:
        """Return the figure of a value; see `plot`."""
        return plot(value, self.name, robot=robot, width=width)

    def __repr__(self) -> str:
        return f"<figure '{self.name}': {self.__doc__}>"


class Plots:
    """Figures of results: ``plot(value, name)``, or ``plot.tool_errors(study)`` for the same.

    Every attribute is a figure, by the name of its file in a report.
    """

    excitation = NamedFigure("Share of the limits that a motion uses.")
    tool_path = NamedFigure("Path of the tool in space.")
    design_convergence = NamedFigure("Criterion of the design over the evaluations.")
    torque_filters = NamedFigure("Measured and filtered torque, over a period and at reversals.")
    base_parameters = NamedFigure("Base parameters with intervals, and true and nominal values.")
    correlation = NamedFigure("Correlation of the estimated parameters.")
    residuals_over_state = NamedFigure("Mean residual over position, velocity and load.")
    singular_values = NamedFigure("Identifiability of parameter directions.")
    information = NamedFigure("Where in the motion the information on every parameter is.")
    fit = NamedFigure("Measured and fitted torque of the log, and the residual.")
    residuals = NamedFigure("Spectrum and distribution of the residuals.")
    friction = NamedFigure("Friction over speed, measured and fitted.")
    prediction = NamedFigure("Measured and predicted torque of an unseen motion.")
    joint_errors = NamedFigure("Tracking error of the joints by model.")
    tool_errors = NamedFigure("Distance of the tool from its path by model.")
    driven_path = NamedFigure("Path of the tool in the loop, errors enlarged.")
    torque_differences = NamedFigure("Torque of every model against that of the true one.")
    energy = NamedFigure("Energy of the drives against that of the true model.")
    log = NamedFigure("Measured position and torque of every joint.")

    def __call__(
        self,
        value: object,
        name: str | None = None,
        *,
        robot: Robot | None = None,
        width: float = FIGURE_WIDTH,
    ) -> NotebookFigure:
        """Return a figure of a result.

        Parameters
        ----------
        value : Study, Identification, ClosedLoop, Log, FourierTrajectory, PointToPoint or Estimate
            A study has all figures of its report; an identification and a closed loop have some of
            them. A log has position and torque, a trajectory its share of the limits and the path
            of the tool, an estimate the correlation of its parameters.
        name : str, optional
            Name of the figure, as of its file; by default the first.
        robot : Robot, optional
            Robot of a trajectory or of a closed loop; other values do not need it.
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
            If it has no figure of this name; the message lists the names.

        Examples
        --------
        >>> import numpy as np
        >>> import robotid_sim as rid
        >>> setup = rid.build_setup("twolink", rid.StudyConfig().quick())
        >>> nominal, basis = setup.nominal, setup.basis
        >>> rng, short = np.random.default_rng(0), rid.FourierOptions(period=5.0, periods=1)
        >>> path = rid.random_design(nominal, basis, rng, options=short, candidates=5)
        >>> log = rid.simulate(setup.cell, path, rng=rng).log
        >>> len(rid.plot(log).axes)
        2
        >>> len(rid.plot.tool_path(path, robot=nominal).axes)
        1
        """
        charts = {chart.name: chart for chart in _charts(value, robot)}
        chosen = next(iter(charts)) if name is None else name
        if chosen not in charts:
            raise UnknownNameError.from_names(f"figure of a {type(value).__name__}", chosen, charts)
        return figure(charts[chosen], width)

    def __dir__(self) -> list[str]:
        return list(FIGURE_NAMES)

    if not TYPE_CHECKING:  # else a type checker accepts any name

        def __getattr__(self, name):
            """Raise an error that names the nearest figure."""
            if name.startswith("_"):
                raise AttributeError(name)
            raise UnknownFigureError.from_names("figure", name, FIGURE_NAMES)


FIGURE_NAMES = tuple(name for name, value in vars(Plots).items() if isinstance(value, NamedFigure))
"""Names of all figures, as attributes of `plot`."""

plot = Plots()
"""``plot(value, name=None, *, robot=None, width=7.16)`` returns a figure of a result: any in the
report of a study, or one that an identification, a closed loop, a log, a trajectory (with its
robot) or an estimate has. Without a name it is the first."""


def _charts(value: object, robot: Robot | None) -> Sequence[Chart]:
    """Make all figures of a value, the default one first."""
    match value:
        case Study():
            return _charts_of_page(value)
        case Identification(chosen=chosen):
            nominal_beta = value.basis.project(value.nominal.parameters())
            has_covariance = chosen.cov is not None
            charts = [base_parameters(chosen, nominal_beta, None, None)] if has_covariance else []
            return [*charts, *_charts(chosen, None), *trust_charts(Assessment(value, ()))[0]]
        case ClosedLoop():
            if robot is None:
                raise OptionError(
                    "a closed loop is shown with the joints of its robot; give robot="
                )
            return loop_section(value, robot).charts
        case Log():
            return [log_chart(value)]
        case FourierTrajectory() | PointToPoint():
            if robot is None:
                raise OptionError("a trajectory is shown over the limits of its robot; give robot=")
            return [excitation(value, robot), tool_path(value, robot)]
        case Estimate():
            return [] if value.cov is None else [correlation(value)]
    raise ArgumentTypeError(
        f"there is no figure of a {type(value).__name__}; give a Study, Identification, "
        "ClosedLoop, Log, FourierTrajectory, PointToPoint or Estimate"
    )


@lru_cache(maxsize=1)
def _charts_of_page(study: Study) -> tuple[Chart, ...]:
    """Return the figures of a study's page; those of the last study are cached."""
    sections = study_report(study, "").sections
    return tuple(chart for section in sections for chart in section.charts)


def log_chart(log: Log) -> Chart:
    """Return position and torque of every joint over time."""
    part = sample_evenly(log.t.size, MAX_SAMPLES)
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
