"""parameters.csv: what was identified, one parameter a row, for spreadsheets and statistics.

A log determines base parameters, the sums in which parameters show; they have standard deviations
and intervals. The parameters of the bodies are those of the identified robot, one choice among
many with the same sums: they have an interval only where one is a base parameter by itself.
"""

from typing import TYPE_CHECKING

import numpy as np

from robotid_sim.arrays import Float1D
from robotid_sim.model import parameters
from robotid_sim.table import Table

if TYPE_CHECKING:
    from robotid_sim.pipeline.identification import Identification

COLUMNS = (
    *("body", "parameter", "kind", "unit", "value", "std", "lower", "upper", "nominal"),
    "grouping",
)

NO_EFFECT, NOT_FITTED = "not identifiable", "not in the fit"


def parameter_rows(fit: "Identification") -> Table:
    """Return the parameters of an identification, body by body.

    Columns are the name of the link or joint, the parameter and its unit, value, standard deviation
    and 95 % interval, what the nominal model says, and the grouping. Rows of the kind ``base`` are
    base parameters, their grouping is the sum that they stand for; rows of the kind ``full`` are
    what identified.urdf holds, their grouping names the base parameters in which they show. A cell
    is empty where there is no such number.
    """
    nominal, basis, chosen = fit.nominal, fit.basis, fit.chosen
    owners = parameters.owners(nominal.dof)
    full_units = parameters.units(nominal.prismatic)
    phi, beta = nominal.parameters(), basis.of(nominal.parameters())
    lifted = np.full(phi.size, np.nan) if fit.lift is None else fit.lift.robot.parameters()
    accuracy = _accuracy(fit)
    base_of = {int(column): k for k, column in enumerate(basis.columns)}
    rows = []
    for p, symbol in enumerate(nominal.parameter_names):
        of_link = p < parameters.N_INERTIAL * nominal.dof
        body = nominal.links[owners[p]].name if of_link else nominal.joint_names[owners[p]]
        members = np.flatnonzero(basis.B[:, p])
        known = np.full(3, np.nan)
        if symbol in basis.identifiable_alone:
            grouping, known = "alone", accuracy[base_of[p]]
        elif members.size:
            grouping = "; ".join(basis.names[k] for k in members)
        else:
            grouping = NO_EFFECT if p in basis.considered else NOT_FITTED
        cells = _cells(lifted[p], *known, phi[p])
        rows.append((body, symbol, "full", full_units[p], *cells, grouping))
        if p in base_of:
            k = base_of[p]
            cells = _cells(chosen.beta[k], *accuracy[k], beta[k])
            rows.append((body, basis.names[k], "base", basis.units[k], *cells, basis.groupings[k]))
    return Table(COLUMNS, tuple(rows))


def _accuracy(fit: "Identification") -> Float1D:
    """Return standard deviation and interval of every base parameter, shape (b, 3), NaN if none."""
    intervals = fit.intervals()
    if intervals is None:
        nothing = np.full(fit.chosen.beta.size, np.nan)
        return np.column_stack([fit.chosen.std, nothing, nothing])
    return np.column_stack([intervals.std, intervals.lower, intervals.upper])


def _cells(*values: float) -> list[str]:
    return [repr(float(value)) if np.isfinite(value) else "" for value in values]
