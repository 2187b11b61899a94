"""Designed excitations in words and tables."""

from collections.abc import Iterator

from robotid_sim.pipeline.design import DesignSummary
from robotid_sim.report.design_report import accuracy_of, criteria_of
from robotid_sim.report.text.parts import Text
from robotid_sim.section import number, percent
from robotid_sim.trajectory.reference import run_time


def design_text(summary: DesignSummary) -> Iterator[Text]:
    """Return designs, as a terminal shows them."""
    content = summary.content()
    trajectories = summary.designs.trajectories
    path = trajectories[0]
    yield (
        f"{content['robot']}: {content['family']}, runs of {run_time(path):g} s, "
        f"{path.duration - path.start:g} s of motion in all"
    )
    yield (
        f"{content['criterion']}, {content['criterion_symbol']}: "
        f"{number(content['criterion_before'])} best random draw, "
        f"{number(content['criterion_after'])} design ({content['message']})"
    )
    yield (
        f"condition number of the base regressor: {number(content['cond_raw'])} raw, "
        f"{number(content['cond_normalized'])} with unit columns"
    )
    kinds = ("position", "velocity", "acceleration", "torque")
    uses = (f"{kind} {percent(content[f'{kind}_ratio'])}" for kind in kinds)
    yield f"use of the limits by the nominal model: {', '.join(uses)}"
    for key, word in (
        ("violated", "VIOLATED"),
        ("relaxed", "RELAXED"),
        ("contacts", "CONTACT"),
        ("assumptions", "ASSUMED"),
    ):
        for text in content[key]:
            yield f"{word}: {text}"
    if "log_dets" in content:
        dets = ", ".join(number(value) for value in content["log_dets"])
        yield f"log det of the information after each trajectory: {dets}"
    yield ""
    if summary.others:
        yield "designs side by side"
        yield criteria_of(summary)
        yield ""
    if "explanation" in content:
        for sentence in content["explanation"]:
            yield f"  {sentence}"
        yield ""
    title = "expected accuracy, torque noise 1 % of RMS, white, motion exactly known"
    if len(trajectories) > 1:
        title += f", from all {len(trajectories)} trajectories"
    yield title + (", with the prior" if content["prior"] else "")
    yield accuracy_of(summary)
