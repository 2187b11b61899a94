"""Running a campaign: what is missing in its store, on the processes of this machine or others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from robotid_sim.campaign.backend import TRIES, each_retried
from robotid_sim.campaign.group_work import SHARED, DoGroup, MakeMotions
from robotid_sim.campaign.plan import CampaignPlan
from robotid_sim.campaign.store import DONE, FAILED, LOST, SignedFolder, Store, TrialRow
from robotid_sim.campaign.trial_list import (
    Group,
    RobotFiles,
    SharedWork,
    StudyTrial,
    groups_of,
    trials_of,
)
from robotid_sim.docstrings import documented
from robotid_sim.files import make_folder
from robotid_sim.pipeline.result import versions
from robotid_sim.progress import Portion, Progress, silent
from robotid_sim.result_folder import locked

WITHOUT_PROCESS = f"its process died {TRIES} times"

FILES = "robot files"
"""Name of the note in the store with the digests of the robot files of the trials."""


@documented
@dataclass(frozen=True, slots=True)
class Finished:
    """What a run of a campaign has done."""

    new: int
    """Trials that were run."""
    before: int
    """Trials of the plan that the store held already."""
    counts: Mapping[str, int]
    """Trials of the plan by status."""
    others: int
    """Trials of the store that an earlier form of the plan had."""
    work: SharedWork
    """Of the trials that were run."""


def run_campaign(
    plan: CampaignPlan,
    folder: Path,
    *,
    workers: int = 1,
    again: Sequence[str] = (),
    trust_plugins: bool = False,
    progress: Progress = silent,
) -> Finished:
    """Run the trials of a plan that the store of a folder does not hold.

    Parameters
    ----------
    plan : CampaignPlan
        What to run.
    folder : Path
        Holds the store; made if need be.
    workers : int
        Processes; a ``joblib.parallel_config`` around the call sends the work elsewhere.
    again : sequence of str
        Statuses of trials that are to be run once more, such as ``failed``.
    trust_plugins : bool
        Whether the plugins that the plan names are run; see `load_config`.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    finished : Finished
        What was run, and what the folder holds.

    Raises
    ------
    OptionError
        If the store is of another plan, or the plan cannot be built.
    FileFormatError
        If the folder or the store cannot be written.
    """
    files = RobotFiles()
    trials = trials_of(plan, files, trust_plugins=trust_plugins)
    make_folder(folder)
    with locked(folder), Store(folder, write=True) as store:
        store.require_plan(json.loads(plan.model_dump_json()))
        store.note("plan", plan.model_dump_json())
        store.note(FILES, json.dumps(files.digests))
        store.note("versions", json.dumps(versions()))
        store.note("trials", str(len(trials)))
        finished = store.finished(again=again)
        left = [trial for trial in trials if trial.key not in finished]
        keeper = _Keeper(store, len(trials), len(trials) - len(left), progress)
        shared = SignedFolder(make_folder(folder / SHARED))
        try:
            able = _with_motions(plan, shared, left, workers, keeper)
            work = DoGroup(shared, plan.needs_loop, plan.arrays, plan.time_limit)
            each_retried(work, groups_of(able), workers, keeper.keep)
        finally:
            shared.remove({trial.base for trial in left})
        counts = store.counts({trial.key for trial in trials})
        others = sum(store.counts().values()) - sum(counts.values())
        before = len(trials) - len(left)
        return Finished(len(left), before, counts, others, SharedWork.of(left))


def _with_motions(
    plan: CampaignPlan,
    shared: SignedFolder,
    trials: Sequence[StudyTrial],
    workers: int,
    keeper: "_Keeper",
) -> list[StudyTrial]:
    """Make the motions of trials; write down those that have none, return the others."""
    by_base: dict[str, list[StudyTrial]] = {}
    for trial in trials:
        by_base.setdefault(trial.base, []).append(trial)
    unable: set[str] = set()

    def note(first: StudyTrial, why: str | None) -> None:
        if why == "":
            return
        status = LOST if why is None else FAILED
        keeper.add(_rows(by_base[first.base], status, why or WITHOUT_PROCESS))
        unable.add(first.base)

    make = MakeMotions(shared, plan.needs_loop, plan.time_limit)
    each_retried(make, [members[0] for members in by_base.values()], workers, note)
    return [trial for trial in trials if trial.base not in unable]


def _rows(trials: Sequence[StudyTrial], status: str, error: str) -> list[TrialRow]:
    return [TrialRow(t.key, t.factors, t.seed, status, error) for t in trials]


class _Keeper:
    """Writes rows down and counts them for the report."""

    def __init__(self, store: Store, total: int, done: int, progress: Progress) -> None:
        self._store, self._progress = store, progress
        self._total, self._done, self._failed = total, done, 0
        self._tell()

    def add(self, rows: Sequence[TrialRow]) -> None:
        self._store.add(rows)
        self._done += len(rows)
        self._failed += sum(row.status != DONE for row in rows)
        self._tell()

    def keep(self, group: Group, rows: list[TrialRow] | None) -> None:
        self.add(_rows(group, LOST, WITHOUT_PROCESS) if rows is None else rows)

    def _tell(self) -> None:
        self._progress("campaign", Portion(self._done, self._total, failed=self._failed))
