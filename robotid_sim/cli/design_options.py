"""Options of ``robotid design``."""

from pathlib import Path
from typing import Annotated

from robotid_sim.cli import options

FamilyName = Annotated[
    str | None, options.item_option("families", "Family of motions.  [default: fourier]")
]
CriterionName = Annotated[
    str | None, options.item_option("criteria", "What to minimize.  [default: d-optimality]")
]
Solver = Annotated[
    str | None,
    options.item_option("optimizers", "slsqp, random or an optimizer.  [default: slsqp]"),
]
Count = Annotated[
    int | None,
    options.value(
        "N",
        "Number of trajectories; each complements the ones before it (OUT-2.json …).",
        min=1,
        max=1000,
    ),
]
PriorFiles = Annotated[
    list[Path] | None, options.file("Existing trajectory (JSON) or log to complement, repeatable.")
]
LinkClearance = Annotated[
    float | None,
    options.value(
        "METERS",
        "Distance that links keep to one another and the floor [m].  [default: 0.005]",
        callback=options.finite,
        min=0.0,
    ),
]
FloorHeight = Annotated[
    float | None,
    options.value(
        "METERS", "Height of the floor in the root frame [m].  [default: where the base is]"
    ),
]
CsvFile = Annotated[
    Path | None,
    options.file(
        "Also write the (first) motion, with the return to its start, for a robot controller."
    ),
]
Explain = Annotated[
    bool, options.flag("--explain", "List weakly identifiable parameters and the reason.")
]
Compare = Annotated[
    bool,
    options.flag(
        "--compare",
        "Also design by d-optimality, condition-number, normalized-condition-number, side by side.",
    ),
]
Processes = Annotated[
    int, options.value("N", "Processes; the result does not depend on it.", min=1, max=1024)
]
