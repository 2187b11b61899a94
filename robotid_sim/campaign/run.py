"""Run the missing trials of a campaign, in processes of this machine or of a cluster."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from robotid_sim.campaign.backend import MAX_ATTEMPTS, retry_each
from robotid_sim.campaign.group_work import GroupRunner, Motions, make_motions
from robotid_sim.campaign.plan import CampaignPlan
from robotid_sim.campaign.store import DONE, FAILED, LOST, Store, TrialRow
from robotid_sim.campaign.trial_list import (
    Group,
    RobotFiles,
    SharedWork,
    StudyTrial,
    groups_of,
    trials_of,
)
from robotid_sim.docstrings import document_attributes
from robotid_sim.files import make_folder
from robotid_sim.pipeline.result import versions
from robotid_sim.progress import Portion, Progress, silent
from robotid_sim.result_folder import lock_folder

DEAD_PROCESS_MESSAGE = f"its process died {MAX_ATTEMPTS} times"

MAX_DESIGNS_IN_MEMORY = 64
"""Largest number of designs with motions in memory, each of a few megabytes."""

DIGEST_NOTE = "robot files"
"""Name of the note in the store with the digests of the robot files of the trials."""


@document_attributes
@dataclass(frozen=True, slots=True)
class CampaignRun:
    """Result of a run of a campaign."""

    new: int
    """Number of trials that were run."""
    before: int
    """Number of trials that were stored before."""
    counts: Mapping[str, int]
    """Number of trials of the plan by status."""
    others: int
    """Number of stored trials of earlier versions of the plan."""
    work: SharedWork
    """Shared work of the trials that were run."""


def run_campaign(
    plan: CampaignPlan,
    folder: Path,
    *,
    workers: int = 1,
    again: Sequence[str] = (),
    trust_plugins: bool = False,
    progress: Progress = silent,
) -> CampaignRun:
    """Run the trials of a plan that are missing in the store of a folder.

    Parameters
    ----------
    plan : CampaignPlan
        The plan.
    folder : Path
        Folder of the store; created if missing.
    workers : int
        Processes; a ``joblib.parallel_config`` around the call selects another backend.
    again : sequence of str
        Statuses of trials to repeat, such as ``failed``.
    trust_plugins : bool
        Whether the plugins of the plan are run; see `load_config`.
    progress : callable
        Called with the stage and the share done.

    Returns
    -------
    run : CampaignRun
        Trials that were run, and trials in the folder.

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
    with lock_folder(folder), Store(folder, write=True) as store:
        store.require_plan(json.loads(plan.model_dump_json()))
        store.note("plan", plan.model_dump_json())
        store.note(DIGEST_NOTE, json.dumps(files.digests))
        store.note("versions", json.dumps(versions()))
        store.note("trials", str(len(trials)))
        finished = store.list_finished_trials(again=again)
        missing = [trial for trial in trials if trial.key not in finished]
        _run_missing(plan, store, missing, workers, len(trials), progress)
        counts = store.counts({trial.key for trial in trials})
        others = sum(store.counts().values()) - sum(counts.values())
        before = len(trials) - len(missing)
        work = SharedWork.from_trials(missing)
        return CampaignRun(len(missing), before, counts, others, work)


def _run_missing(
    plan: CampaignPlan,
    store: Store,
    missing: Sequence[StudyTrial],
    workers: int,
    total: int,
    progress: Progress,
) -> None:
    """Run trials and store their rows, `MAX_DESIGNS_IN_MEMORY` designs at a time."""
    done, failed = total - len(missing), 0

    def store_rows(rows: Sequence[TrialRow]) -> None:
        nonlocal done, failed
        store.add(rows)
        done, failed = done + len(rows), failed + sum(row.status != DONE for row in rows)
        progress("campaign", Portion(done, total, failed=failed))

    def store_group(work: tuple[Motions, Group], rows: list[TrialRow] | None) -> None:
        store_rows(_rows(work[1], LOST, DEAD_PROCESS_MESSAGE) if rows is None else rows)

    def store_motions(first: StudyTrial, result: Motions | str | None) -> None:
        if isinstance(result, Motions):
            works.extend((result, group) for group in groups_of(by_base[first.motion_key]))
        else:
            status = LOST if result is None else FAILED
            store_rows(_rows(by_base[first.motion_key], status, result or DEAD_PROCESS_MESSAGE))

    by_base: dict[str, list[StudyTrial]] = {}
    for trial in missing:
        by_base.setdefault(trial.motion_key, []).append(trial)
    firsts = [members[0] for members in by_base.values()]
    make = partial(make_motions, needs_loop=plan.has_loop_metric, limit=plan.time_limit)
    store_rows([])
    for begin in range(0, len(firsts), MAX_DESIGNS_IN_MEMORY):
        works: list[tuple[Motions, Group]] = []
        retry_each(make, firsts[begin : begin + MAX_DESIGNS_IN_MEMORY], workers, store_motions)
        retry_each(GroupRunner(plan.arrays, plan.time_limit), works, workers, store_group)


def _rows(trials: Sequence[StudyTrial], status: str, error: str) -> list[TrialRow]:
    return [TrialRow(t.key, t.factors, t.seed, status, error) for t in trials]
