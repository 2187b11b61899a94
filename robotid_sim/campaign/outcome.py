"""Results of a campaign, and forecast of a run."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from robotid_sim.campaign.metrics import METRICS
from robotid_sim.campaign.plan import CampaignPlan, plan_of
from robotid_sim.campaign.run import DIGEST_NOTE
from robotid_sim.campaign.statistics import answer
from robotid_sim.campaign.store import DONE, Store, TrialRow
from robotid_sim.campaign.trial_list import Effort, RobotFiles, SharedWork, StudyTrial, trials_of
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.files import atomic_path, require_writable
from robotid_sim.representation import public_value

EXPORT_SUFFIXES = (".csv", ".parquet")


@public_value
@dataclass(frozen=True, slots=True, eq=False)
class CampaignResult:
    """The trials of a campaign, and the rows of the finished ones."""

    plan: CampaignPlan
    trials: Sequence[StudyTrial]
    rows: Sequence[TrialRow]
    """One row per finished trial."""

    @classmethod
    def load(cls, folder: str | Path, *, trust_plugins: bool = False) -> "CampaignResult":
        """Read plan, trials and rows from the store of a folder, as in its last run.

        Parameters
        ----------
        folder : str or Path
            Folder of a campaign.
        trust_plugins : bool
            Whether the plugins that the plan names are run.

        Returns
        -------
        result : CampaignResult
            Plan, trials and rows.

        Raises
        ------
        FileFormatError
            If the store is missing or damaged.
        """
        with Store(Path(folder), write=False) as store:
            content = store.read_note("plan")
            if content is None:
                raise FileFormatError(f"{store.folder} holds no plan; run the campaign first")
            plan = plan_of(content, str(store.folder))
            # Robot files may have changed since.
            files = RobotFiles(store.read_note(DIGEST_NOTE) or {})
            trials = trials_of(plan, files, trust_plugins=trust_plugins)
            return cls(plan, trials, store.rows_of(trials))

    def require_rows(self, folder: Path) -> None:
        """Raise `OptionError` if no trial is finished."""
        if not self.rows:
            raise OptionError(f"no trial of {folder} is finished; run the campaign first")

    def answers(self) -> list[str]:
        """Answer the questions of the plan, one sentence each."""
        return [text for config in self.plan.answers for text in answer(config, self.rows)]

    def content(self) -> dict[str, Any]:
        """Return title, trials and answers as JSON values."""
        return {"title": self.plan.title, "trials": len(self.rows), "answers": self.answers()}

    def status(self) -> dict[str, Any]:
        """Count the trials by status, as JSON values."""
        counts = Counter(row.status for row in self.rows)
        remaining = len(self.trials) - len(self.rows)
        return {"title": self.plan.title, "trials": len(self.trials), "left": remaining, **counts}

    def table(self) -> dict[str, list[Any]]:
        """Return a column per factor, property and metric, with one row per trial."""
        table: dict[str, list[Any]] = {
            factor: [row.factors[factor] for row in self.rows] for factor in self.plan.factors
        }
        for name in ("seed", "status", "error", "seconds"):
            table[name] = [getattr(row, name) for row in self.rows]
        return table | {name: [row.metrics.get(name) for row in self.rows] for name in METRICS}

    def export(self, path: str | Path) -> dict[str, list[Any]]:
        """Write the table of the trials as CSV or Parquet, and return it.

        Raises `OptionError` for another suffix, or if pyarrow is missing.
        """
        out = Path(path)
        if out.suffix.lower() not in EXPORT_SUFFIXES:
            raise OptionError(
                f"cannot export to {out}; give a {' or '.join(EXPORT_SUFFIXES)} file with --out"
            )
        require_writable(out)
        table = self.table()
        if out.suffix.lower() == ".csv":
            with atomic_path(out) as part, part.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(table)
                writer.writerows(zip(*table.values(), strict=True))
        else:
            try:
                import pyarrow as pa
                import pyarrow.parquet as pq
            except ImportError as error:
                raise OptionError(
                    f"{out} needs pyarrow: pip install 'robotid_sim[logs]', or give a .csv"
                ) from error
            with atomic_path(out) as part:
                pq.write_table(pa.table(table), part)
        return table


def require_whole_store(folder: Path) -> None:
    """Raise `FileFormatError` if the store of a campaign is damaged."""
    with Store(folder, write=False) as store:
        if not store.is_whole():
            raise FileFormatError(f"{folder} has a damaged store; restore it, or run it again")


class CampaignForecast(NamedTuple):
    """Forecast of a run of a campaign."""

    content: dict[str, Any]
    """Trials, time [s] and disk [MB], as JSON values."""
    work: SharedWork
    """Shared work of the remaining trials."""


def plan_campaign(
    plan: CampaignPlan, out: Path, *, workers: int = 1, trust_plugins: bool = False
) -> CampaignForecast:
    """Forecast a run of a campaign; nothing is run or written.

    Parameters
    ----------
    plan : CampaignPlan
        Plan of the campaign.
    out : Path
        Folder of the campaign, which may contain finished trials.
    workers : int
        Number of processes.
    trust_plugins : bool
        Whether the plugins that the plan names are run.

    Returns
    -------
    forecast : CampaignForecast
        Trials, shared work, and time.
    """
    trials = trials_of(plan, trust_plugins=trust_plugins)
    rows: list[TrialRow] = []
    if (out / "campaign.sqlite").exists():
        with Store(out, write=False) as store:
            store.require_plan(json.loads(plan.model_dump_json()))
            rows = store.rows_of(trials)
    finished = {row.key for row in rows}
    missing = [trial for trial in trials if trial.key not in finished]
    work = SharedWork.from_trials(missing)
    effort = Effort.from_trials(missing, plan, [row.seconds for row in rows if row.status == DONE])
    # A factor on a sensor replaces the default sensors.
    sets = {", ".join(trial.study.list_sensors()) or "none" for trial in trials}
    content = {
        "title": plan.title,
        "trials": len(trials),
        "finished": len(trials) - len(missing),
        "designs": work.designs,
        "logs": work.logs,
        "preprocessed_logs": work.preprocessed_logs,
        "sensors": "; or ".join(sorted(sets)),
        "expected_seconds": round(effort.seconds / workers),
        "expected_megabytes": round(effort.megabytes, 1),
        "out": str(out),
    }
    return CampaignForecast(content, work)
