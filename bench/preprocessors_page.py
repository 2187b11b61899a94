"""The page of the preprocessors: their errors on every cell, and what filters make of a torque."""

from collections.abc import Sequence
from dataclasses import replace

from robotid_sim.measurement.log import Log
from robotid_sim.model.robot import Robot
from robotid_sim.preprocess.kalman_torque import FivePointCubic, KalmanTorque, five_point_cubic
from robotid_sim.preprocess.rts import RtsSmoother
from robotid_sim.report.figures.torques import torque_filters
from robotid_sim.report.page import Page
from robotid_sim.section import Section
from robotid_sim.table import Table

COLUMNS = (
    *("sensors", "preprocessor", "torque error / noise", "at reversals", "velocity error"),
    *("acceleration error", "parameter error / bound", "worst", "model error [%]", "time [s]"),
)


def preprocessors_page(
    rows: Sequence[tuple[str, ...]],
    decisions: Sequence[str],
    log: Log,
    nominal: Robot,
    command: str,
) -> Page:
    """Return the page.

    Parameters
    ----------
    rows : sequence of tuple of str
        One a cell and preprocessor, as COLUMNS.
    decisions : sequence of str
        What the adaptive preprocessor decided, cell by cell.
    log : Log
        A log under the preset ``lab``, for the figure.
    nominal : Robot
        The model whose torque the Kalman filter takes as input.
    command : str
        How to do it again.
    """
    return Page(
        title="Preprocessors on the sensors of typical cells",
        finding="Errors of torque, velocity and parameters after every preprocessor, for the same "
        "engine run measured by the sensors of four kinds of cells and by plain encoders.",
        sections=(
            Section(
                title="All cells",
                text="Torque errors are over the sensors' own, away from friction reversals and "
                "within 60 ms of one; parameter errors over the Cramér-Rao standard deviation of "
                "white noise of that size, median and worst parameter. What sensors do to all "
                "samples alike, as a wrong torque constant does, no preprocessor can see: it "
                "dominates the parameters under industrial and harsh.",
                tables=(Table(columns=COLUMNS, rows=tuple(rows), text_columns=2),),
                notes=tuple(decisions),
            ),
            figure_section(log, nominal),
            Section(title="Reproduce", code=command),
        ),
    )


def figure_section(log: Log, nominal: Robot) -> Section:
    """Return measured torque, five-point smoothing and Kalman smoothing joint by joint."""
    motion = RtsSmoother().tune(log, nominal)
    kalman = KalmanTorque(motion=motion).tune(log, nominal)
    filtered = {
        "five-point": five_point_cubic(log.tau_meas),
        "Kalman": replace(kalman, form="smoother").filter_torque(log, nominal),
    }
    chart = torque_filters(log, FivePointCubic()(log, nominal), filtered)
    return Section(
        title="Kalman filter against five-point smoothing",
        text="The comparison of Tang et al. (2023), doi:10.3390/machines11020316, Figure 2, under "
        "the preset lab: the Kalman filter with the nominal model's torque as input, in its "
        "smoother form.",
        charts=(replace(chart, name="kalman-against-five-point"),),
    )
