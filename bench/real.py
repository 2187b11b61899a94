"""Logs of real robots: torque held out, by default and by plain weighted least squares.

Every folder has a ``truth.toml``:

.. code-block:: toml

    robot = "ur10"            # as ROBOT of the command line, or a file of the folder
    logs = ["ur10.csv.gz"]    # files of the folder
    hold_out = "last:30%"     # or "blocks:4", or files of the folder that are predicted only
    map = "map.toml"          # what the columns are; where the files do not say it

    [published]               # of who recorded it, on the same split; not needed
    source = "Petrone et al. (2025)"
    error = [9.15, 3.30, 4.55, 8.28, 12.58, 9.50]

Columns: RMS error over RMS torque of the part held out by joint [%], CPU seconds. Rows: published;
weighted least squares with viscous and Coulomb friction and nothing else, of rows as in a fit; the
default, of the same rows and at the full rate; terms of joints that it chose.

Run as ``python bench/real.py tests/data/ur10 [FOLDER ...]``. Exits with 1 if a joint is predicted
worse than by plain least squares by more than a tenth.
"""

import argparse
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from robotid_sim.arrays import Float1D
from robotid_sim.importing.reading import Logs, read_logs
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.build_robot import build_robot
from robotid_sim.pipeline.identify import identify

WORSE = 1.1
"""Largest error over that of plain least squares."""

PLAIN: dict[str, Any] = {
    "estimators": ["wls"],
    "terms": "none",
    "transition_velocity": "fixed",
    "gravity": "fixed",
}
"""Options of a fit of base parameters with viscous and Coulomb friction."""


class Published(BaseModel):
    """What others reached."""

    model_config = ConfigDict(extra="forbid")
    source: str
    error: list[float]
    """By joint [%]."""


class RealLog(BaseModel):
    """A ``truth.toml``."""

    model_config = ConfigDict(extra="forbid")
    robot: str
    logs: list[str]
    hold_out: str | list[str]
    map: str | None = None
    published: Published | None = None

    def read(self, names: list[str], folder: Path, robot: Robot) -> Logs:
        """Return logs of the folder."""
        mapping = None if self.map is None else folder / self.map
        return read_logs([folder / name for name in names], robot, mapping)


def row(title: str, numbers: Float1D, end: str = "") -> str:
    """Return a line of the table."""
    return f"{title:28} {' '.join(f'{number:6.2f}' for number in numbers)}  {end}"


def print_scores(folder: Path) -> bool:
    """Print the table of a folder; return whether no joint is worse."""
    real = RealLog.model_validate(tomllib.loads((folder / "truth.toml").read_text("utf-8")))
    place = folder / real.robot
    robot = build_robot(place if place.is_file() else real.robot)
    logs = real.read(real.logs, folder, robot)
    hold_out: str | Logs
    if isinstance(real.hold_out, str):
        hold_out = real.hold_out
    else:
        hold_out = real.read(real.hold_out, folder, robot)
    print(f"{folder.name}: {', '.join(robot.joint_names)}")
    if real.published is not None:
        print(row(real.published.source, np.array(real.published.error)))
    predictions = []
    for options in (PLAIN, {}):
        start = time.process_time()
        fit = identify(logs, robot, hold_out=hold_out, **options)
        seconds = time.process_time() - start
        assert fit.held_out is not None
        predictions.append(fit.held_out.prediction)
        chosen = [f"{term.kind} of {term.joint}" for term in fit.structure.robot_terms()]
    plain, ours = predictions
    before = 100.0 * plain.parameters.torque_rms_relative
    after = 100.0 * ours.identified.torque_rms_relative
    print(row("plain least squares", before))
    print(row("default", after, f"{seconds:.1f} s"))
    print(row("default, at the full rate", 100.0 * ours.error, "; ".join(chosen)))
    return bool((after <= WORSE * before).all())


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", type=Path, nargs="+")
    return int(not all([print_scores(folder) for folder in parser.parse_args().folders]))


if __name__ == "__main__":
    raise SystemExit(main())
