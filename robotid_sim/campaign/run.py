"""Running a campaign: what is missing in its store, on the processes of this machine or others."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from robotid_sim.campaign.group_work import SHARED, DoGroup, MakeMotions
from robotid_sim.campaign.plan import CampaignPlan, plan_of
from robotid_sim.campaign.retried import TRIES, each_retried
from robotid_sim.campaign.robot_files import RobotFiles
from robotid_sim.campaign.signed_folder import SignedFolder
from robotid_sim.campaign.store import FAILED, LOST, Store, TrialRow
from robotid_sim.campaign.trial_list import Group, SharedWork, StudyTrial, groups_of, trials_of
from robotid_sim.docstrings import documented
from robotid_sim.errors import FileFormatError, OptionError
from robotid_sim.files import make_folder
from robotid_sim.pipeline.result_parts import versions
from robotid_sim.progress import Portion, Progress, silent
from robotid_sim.result_folder import locked

GROWING = ("seeds", "factors", "samples", "record", "answers", "title", "question", "time_limit")
"""What of a plan may change while its trials stay."""


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
        require_same_plan(store, plan)
        store.note("plan", plan.model_dump_json())
        store.note(FILES, json.dumps(files.digests))
        store.note("versions", json.dumps(versions()))
        store.note("trials", str(len(trials)))
        finished = store.finished(again=again)
        left = [trial for trial in trials if trial.key not in finished]
        counter = _Counter(len(trials), len(trials) - len(left), progress)
        shared = SignedFolder(make_folder(folder / SHARED))
        try:
            able = _with_motions(plan, shared, left, store, workers, counter)
            _do_groups(plan, shared, groups_of(able), store, workers, counter)
        finally:
            shared.remove({trial.base for trial in left})
        counts = store.counts({trial.key for trial in trials})
        others = sum(store.counts().values()) - sum(counts.values())
        before = len(trials) - len(left)
        return Finished(len(left), before, counts, others, SharedWork.of(left))


def read_campaign(
    store: Store, *, trust_plugins: bool = False
) -> tuple[CampaignPlan, list[StudyTrial], list[TrialRow]]:
    """Return plan, trials and rows of a campaign as it was run last.

    Files of robots may have changed or gone since. The factors of a row are those of the trial:
    a row that an earlier form of the plan wrote has names of that time.

    Parameters
    ----------
    store : Store
        Of a folder.
    trust_plugins : bool
        Whether the plugins that the plan names are run; see `load_config`.

    Returns
    -------
    plan : CampaignPlan
        As it was run.
    trials : list of StudyTrial
        All of the plan.
    rows : list of TrialRow
        Of the trials that were run, in the order of the trials.

    Raises
    ------
    FileFormatError
        If the store holds no plan, or is damaged.
    """
    content = store.noted("plan")
    if content is None:
        raise FileFormatError(f"{store.folder} holds no plan; run the campaign first")
    plan = plan_of(content, str(store.folder))
    files = RobotFiles(store.noted(FILES) or {})
    trials = trials_of(plan, files, trust_plugins=trust_plugins)
    return plan, trials, rows_of(store, trials)


def rows_of(store: Store, trials: Sequence[StudyTrial]) -> list[TrialRow]:
    """Return the rows of trials that have one, each with the factors of its trial.

    Parameters
    ----------
    store : Store
        Of the campaign, see `read_campaign`.
    trials : sequence of StudyTrial
        Any of its trials.

    Returns
    -------
    rows : list of TrialRow
        In their order.
    """
    rows = {row.key: row for row in store.rows({trial.key for trial in trials})}
    return [replace(rows[t.key], factors=t.factors) for t in trials if t.key in rows]


def _with_motions(
    plan: CampaignPlan,
    shared: SignedFolder,
    trials: Sequence[StudyTrial],
    store: Store,
    workers: int,
    counter: "_Counter",
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
        said = why or f"its process died {TRIES} times"
        rows = [TrialRow(t.key, t.factors, t.seed, status, said) for t in by_base[first.base]]
        store.add(rows)
        counter.add(rows)
        unable.add(first.base)

    make = MakeMotions(shared, plan.needs_loop, plan.time_limit)
    each_retried(make, [members[0] for members in by_base.values()], workers, note)
    return [trial for trial in trials if trial.base not in unable]


def _do_groups(
    plan: CampaignPlan,
    shared: SignedFolder,
    groups: Sequence[Group],
    store: Store,
    workers: int,
    counter: "_Counter",
) -> None:
    """Run the trials of groups and write down what becomes of them."""

    def keep(group: Group, rows: list[TrialRow] | None) -> None:
        if rows is None:
            error = f"its process died {TRIES} times"
            rows = [TrialRow(t.key, t.factors, t.seed, LOST, error) for t in group.trials]
        store.add(rows)
        counter.add(rows)

    work = DoGroup(shared, plan.needs_loop, plan.arrays, plan.time_limit)
    each_retried(work, groups, workers, keep)


class _Counter:
    """Counts trials for the report."""

    def __init__(self, total: int, done: int, progress: Progress) -> None:
        self._total, self._done, self._failed, self._progress = total, done, 0, progress
        self.add(())

    def add(self, rows: Iterable[TrialRow]) -> None:
        for row in rows:
            self._done += 1
            self._failed += row.status != "done"
        self._progress("campaign", Portion(self._done, self._total, failed=self._failed))


def require_same_plan(store: Store, plan: CampaignPlan) -> None:
    """Require that a store is of a plan with the same of what all trials share.

    Parameters
    ----------
    store : Store
        Of a folder; a new one fits every plan.
    plan : CampaignPlan
        What shall be run there.

    Raises
    ------
    OptionError
        If they differ; the text says where.
    """
    before, now = store.noted("plan"), json.loads(plan.model_dump_json())
    if before is None:
        return
    for name in [*before, *now]:
        old, new = before.get(name), now.get(name)
        if name not in GROWING and old != new:
            where, one, two = _first_difference(name, old, new)
            raise OptionError(
                f"{store.folder} holds a campaign of another plan: {where} is {one!r} there and "
                f"{two!r} in this one; choose another folder"
            )


def _first_difference(name: str, old: Any, new: Any) -> tuple[str, Any, Any]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *new]:
            if old.get(key) != new.get(key):
                return _first_difference(f"{name}.{key}", old.get(key), new.get(key))
    return name, old, new
