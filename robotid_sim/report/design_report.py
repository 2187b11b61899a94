"""The report of an excitation design."""

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.dynamics.base_parameters import BaseParameters
from robotid_sim.model.robot import Robot
from robotid_sim.report.page import Page, Section, Table
from robotid_sim.report.sections import excitation_section
from robotid_sim.report.wording import assumptions, number, reproduction, unit_text
from robotid_sim.study.config import StudyConfig
from robotid_sim.trajectory.design import Assessment, assess
from robotid_sim.trajectory.fourier import FourierTrajectory
from robotid_sim.trajectory.optimal import DesignResult


def design_report(
    nominal: Robot,
    basis: BaseParameters,
    design: DesignResult,
    expected_std: Float1D,
    config: StudyConfig,
    command: str,
    versions: dict[str, str],
) -> Page:
    """Return the report of an excitation design.

    Parameters
    ----------
    nominal : Robot
        The model that it was designed with.
    basis : BaseParameters
        The parameters it makes visible.
    design : DesignResult
        The trajectory and how it was found.
    expected_std : ndarray, shape (b,)
        Standard deviation that every base parameter can be expected to have.
    config, command, versions
        How to do it again.
    """
    path = design.trajectory
    assessed = assess(nominal, basis, path)
    values = basis.of(nominal.parameters())
    weak = int((np.abs(values) < 10.0 * expected_std).sum())
    return Page(
        title=f"Excitation of {nominal.name}",
        finding=f"The design takes {config.design.criterion} from {number(design.value_before)} "
        f"(best random draw) to {number(design.value_after)}; {basis.rank - weak} of "
        f"{basis.rank} base parameters can be expected to 10 % or better.",
        facts=_design_facts(path, assessed, basis),
        sections=(
            excitation_section(
                path,
                nominal,
                assessed,
                [
                    ("periods", f"{path.periods} of {path.base_period:g} s"),
                    ("harmonics", str(path.harmonics)),
                    (f"{config.design.criterion}, best random draw", number(design.value_before)),
                    (f"{config.design.criterion}, design", number(design.value_after)),
                    ("solver", design.message),
                ],
            ),
            Section(
                title="Expected accuracy",
                text="Standard deviation of every base parameter for white torque noise of 1 % of "
                "the RMS torque and exactly known motion: the Cramér-Rao bound.",
                tables=(_expected_table(basis, values, expected_std),),
            ),
            assumptions(nominal, nominal.assumptions, "nominal"),
            reproduction(command, config, versions),
        ),
    )


def _design_facts(
    path: FourierTrajectory, assessed: Assessment, basis: BaseParameters
) -> tuple[tuple[str, str], ...]:
    return (
        ("base parameters", str(basis.rank)),
        ("duration", f"{path.duration - path.start:g} s"),
        ("condition number", number(assessed.cond_raw, 3)),
        ("with unit columns", number(assessed.cond_normalized, 3)),
    )


def _expected_table(basis: BaseParameters, values: Float1D, std: Float1D) -> Table:
    rows = []
    parts = zip(basis.names, basis.groupings, basis.units, values, std, strict=True)
    for name, grouping, unit, value, deviation in parts:
        share = number(100.0 * deviation / abs(value), 2) if value else "-"
        rows.append((name, grouping, unit_text(unit), number(value), number(deviation, 2), share))
    columns = ("parameter", "grouping", "unit", "nominal", "expected std", "[%]")
    return Table(columns=columns, rows=tuple(rows), text_columns=3)
