"""The tables of a comparison of estimates."""

from robotid_sim.arrays import relative_std
from robotid_sim.report.tables import number_within
from robotid_sim.section import number, percent, unit_text
from robotid_sim.table import Table
from robotid_sim.validation.agreement import LEVEL, Agreement, Difference

ROWS = 8
"""Parameters of a pair that are shown at most."""

NEAREST = 3
"""Parameters that are shown where none differs."""


def pair_table(agreement: Agreement) -> Table:
    """Return all pairs, each with the test of all parameters at once."""
    pairs = agreement.pairs
    return Table.of(
        {
            "first": [pair.labels[0] for pair in pairs],
            "second": [pair.labels[1] for pair in pairs],
            "chi² / parameters": [number(pair.chi_squared / pair.rank, 3) for pair in pairs],
            "p": [number(pair.p_value, 2) for pair in pairs],
            f"within {LEVEL:.0%}": [percent(pair.share_within) for pair in pairs],
            "differ": [str(int(pair.differs.sum())) for pair in pairs],
        },
        text_columns=2,
    )


def difference_table(pair: Difference) -> Table:
    """Return the parameters that differ, or those nearest to it; [%] is of the first estimate's."""
    count = min(int(pair.differs.sum()) or NEAREST, ROWS)
    rows, half = pair.strongest_first[:count], pair.half_width
    share = relative_std(pair.reference, pair.values)
    shown = "what differs, the strongest first"
    if not pair.differs.any():
        shown = "no parameter differs by itself, the nearest to it first"

    def within(k: int, value: float) -> str:
        return number_within(float(value), float(pair.std[k]))

    return Table.of(
        {
            "parameter": [pair.names[k] for k in rows],
            "grouping": [pair.groupings[k] for k in rows],
            "unit": [unit_text(pair.units[k]) for k in rows],
            "difference": [within(k, pair.values[k]) for k in rows],
            f"{LEVEL:.0%} interval": [
                f"{within(k, pair.values[k] - half[k])} … {within(k, pair.values[k] + half[k])}"
                for k in rows
            ],
            "[%]": [number(100.0 * float(share[k]), 3) for k in rows],
            "z": [number(float(pair.z[k]), 3) for k in rows],
        },
        f"{pair.labels[1]} minus {pair.labels[0]}: {shown}",
        text_columns=3,
    )
