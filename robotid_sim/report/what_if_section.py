"""The section of a page that fits again in the browser."""

import json

import numpy as np

from robotid_sim.pipeline.refit import Refit
from robotid_sim.report.closing import Recipe
from robotid_sim.report.study_file import repeated, study_text
from robotid_sim.section import LivePart, Section

SCRIPTS, STYLE = ("refit", "what_if"), "what_if"


def what_if_section(refit: Refit | None, recipe: Recipe) -> tuple[Section, ...]:
    """Return the section that fits again in the page; nothing without a weighted fit of the rows.

    Parameters
    ----------
    refit : Refit or None
        What the page fits again from.
    recipe : Recipe
        How the page was made.
    """
    if refit is None:
        return ()
    content = {
        **refit.data,
        "file": study_text(recipe, refit.estimator),
        "command": repeated(recipe.command),
        "estimator": refit.estimator,
    }
    section = Section(
        title="What if?",
        text="Leave out joints or times, let joints count more or less, add what was known before, "
        "fix parameters: the page fits again at once. Motion, friction velocities and what the "
        "model lacks stay as they were found. " + _starting_point(refit),
        live=LivePart("what-if", SCRIPTS, STYLE, json.dumps(content, separators=(",", ":"))),
    )
    return (section,)


def _starting_point(refit: Refit) -> str:
    """Return what the page starts from, beside the chosen estimate."""
    text, chosen = "It starts from weighted least squares of all rows", refit.chosen
    if chosen.estimator == "wls" or not chosen.success:
        return f"{text}."
    distance = float(np.abs((chosen.beta - refit.start.beta) / refit.start.std).max())
    return (
        f"{text}, without the constraints or the search of the chosen estimate "
        f"({chosen.estimator}), which lies up to {distance:.2g} standard deviations from it."
    )
