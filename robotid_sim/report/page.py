"""A page: verdict and finding, sections with figures and tables, and how to reproduce it.

What the words of a page mean, for whoever points at one.
"""

import base64
import dataclasses
import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup, escape

from robotid_sim.chart import csv_text
from robotid_sim.files import make_folder, require_writable, write_text
from robotid_sim.palette import css_variables
from robotid_sim.parallel import map_tasks
from robotid_sim.progress import Progress, silent
from robotid_sim.report.replay.data import replay_data
from robotid_sim.report.replay.motions import Replay
from robotid_sim.section import Section

MISSING_REPLAY_TEXT = (
    "The robot in motion is left out (--no-replay): write the page without that option to see it."
)
REPLAY_SCRIPTS = tuple(
    f"replay{part}.js" for part in ("_camera", "_scene", "_motion", "_plots", "_log", "")
)
"""Scripts of the replay; the last one runs what the others define."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A report."""

    title: str
    finding: str
    """The result in one sentence."""
    sections: tuple[Section, ...]
    passed: bool | None = None
    """The verdict, if there is one."""
    badge: str = ""
    """What stands beside the title where there is no verdict to pass or fail."""
    facts: tuple[tuple[str, str], ...] = ()
    """The numbers that matter most: label and value."""
    replay: Replay | None = None
    """The robot in 3-D, if it is on the page."""


def write_page(
    page: Page,
    path: Path,
    figures: Path | None = None,
    progress: Progress = silent,
    workers: int = 1,
    *,
    replay: bool = True,
) -> None:
    """Write a page as one file (HTML) that needs no other and no network.

    The folder `figures`, if there is one, receives every figure as SVG and PNG and its data as
    CSV; `workers` processes draw. With `replay` false a page that has a replay
    does not show it. Raises `FileFormatError` if a file cannot be written.
    """
    require_writable(path)
    left_out = []
    if page.replay is not None and not replay:
        page, left_out = dataclasses.replace(page, replay=None), [MISSING_REPLAY_TEXT]
    if figures is not None:
        _write_figures(page, make_folder(figures), progress, workers)
    write_text(path, page_text(page, left_out))
    progress("report", 1.0)


def _write_figures(page: Page, folder: Path, progress: Progress, workers: int) -> None:
    # Matplotlib takes a second to load.
    from robotid_sim.report.draw import draw

    charts = [chart for section in page.sections for chart in section.charts]
    drawings = map_tasks(draw, charts, workers, lambda share: progress("report", 0.95 * share))
    for chart, drawing in zip(charts, drawings, strict=True):
        drawing.save(folder, chart.name)


def page_text(page: Page, left_out: Sequence[str] = ()) -> str:
    """Return a page as HTML; `left_out` says what it does not have, and how to get it."""
    from robotid_sim.report.interactive import has_full_data, pack, plotly_figure, plotly_script

    charts = [chart for section in page.sections for chart in section.charts]
    script = plotly_script() if charts else None
    figures = {chart.name: plotly_figure(chart) for chart in charts}
    style, codes = _asset("page.css"), [_asset("page.js")]
    live = {}
    for part in (section.live for section in page.sections if section.live is not None):
        live[part.name] = pack(part.data)
        style += _asset(f"{part.style}.css")
        codes += (_asset(f"{name}.js") for name in part.scripts)
    replay = ""
    if page.replay is not None:
        replay = pack(json.dumps(replay_data(page.replay, charts), separators=(",", ":")))
        style += _asset("replay.css")
        codes += map(_asset, REPLAY_SCRIPTS)
    light, dark = css_variables()
    pages = Environment(
        loader=FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    pages.filters |= {"prose": prose, "meaning": explain_column}
    return pages.get_template("page.html").render(
        new_set=set,
        timed=any(getattr(panel, "clock", None) for chart in charts for panel in chart.panels),
        page=page,
        policy=_policy(*codes, script),
        live=live,
        style=Markup(style.replace("/*light*/", light).replace("/*dark*/", dark)),
        codes=[Markup(code) for code in codes],
        data={c.name: pack(csv_text(c)) for c in charts if not has_full_data(c)},
        plotly="" if script is None else pack(script),
        figures=pack(json.dumps(figures, separators=(",", ":"))) if figures else "",
        replay=replay,
        left_out=left_out,
    )


def _policy(*scripts: str | None) -> str:
    """Return what a page may do: run these scripts, and show what it holds; nothing from outside.

    Styles are inline: figures set theirs.
    """
    hashes = (hashlib.sha256(script.encode()).digest() for script in scripts if script is not None)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _asset(name: str) -> str:
    return (files("robotid_sim.report") / "assets" / name).read_text(encoding="utf-8")


TERM_MEANINGS = {
    r"NEES": "Normalized estimation error squared: the errors of all parameters over their "
    "covariance, per parameter. About 1 where the covariance is right.",
    r"Cramér-Rao": "The smallest standard deviation that an unbiased estimator can have with this "
    "motion and this noise.",
    r"[Bb]ase parameters?": "Sums of masses, moments, inertias and frictions on which the torques "
    "of the joints depend. A log determines these combinations, not the single parameters.",
    r"[Cc]ondition number": "Ratio of the largest to the smallest singular value of the regressor: "
    "best over worst identifiable direction.",
    r"[Ss]ingular values?": "What changes of the parameters in their independent directions do to "
    "the torques.",
    r"[Mm]odel error": "RMS torque difference between identified and true model without noise, "
    "divided by the RMS torque.",
    r"[Tt]racking gap": "By how much the controller tracks worse with the nominal model than with "
    "the true one.",
    r"[Dd]-optimality": "Design of a motion by the volume of the confidence ellipsoid of all "
    "parameters: the smaller, the better.",
    r"log det": "Logarithm of the determinant of the information: the larger, the smaller the "
    "confidence ellipsoid.",
    r"regressor": "The matrix that gives torques from parameters.",
    r"RMS": "Root of the mean square.",
    r"WLS": "Weighted least squares: every joint counts by its noise.",
    r"'consistent'": "Fit restricted to physically consistent robots: positive mass, positive "
    "definite pseudo-inertia, nonnegative friction.",
    r"nominal model": "Model known before identification, for example from CAD.",
    r"Ljung-Box": "A test of whether residuals that follow each other are correlated.",
    r"Student's t": "The distribution of an error over its estimated standard deviation: wider "
    "tails than the normal one where few data estimate it.",
    r"Stribeck": "Decrease of friction with velocity after breakaway.",
    r"eps": "Transition velocity: velocity over which Coulomb friction changes sign.",
    r"likelihood": "How probable data are under a model.",
    r"essential": "Parameters without which the residual would grow significantly.",
    r"Kalman (?:filter|smoother)": "Estimates a signal from noisy samples by a model of how it "
    "changes; a smoother knows the later samples, too.",
    r"sliding-mode": "A controller that drives the error along a line to zero, in spite of a "
    "bounded disturbance.",
}
"""Patterns of terms, and what they mean."""

COLUMN_MEANINGS = {
    "parameter": "Of link or joint k: m mass; mx, my, mz first moments; Ixx to Izz inertia about "
    "the frame of the link; Fv viscous, Fc Coulomb friction, Fo offset; Ia inertia of the rotor. "
    "With R, a sum: see its grouping.",
    "grouping": "The sum of single parameters that a base parameter stands for.",
    "std": "Standard deviation.",
    "std [%]": "Standard deviation over the size of the value.",
    "95 % interval": "Of a hundred such intervals, 95 hold the true value.",
    "|error| / std": "Distance from the truth in standard deviations: about two of three are below "
    "1, one of twenty above 2.",
    "std / bound": "Standard deviation over the smallest one that is possible (Cramér-Rao).",
    "cost / LS cost": "Weighted sum of squares over that of least squares, which none is below.",
    "cost / optimum": "What a search minimizes, over the least value that is possible.",
    "fit residual": "RMS residual of the regressor rows.",
    "unseen": "RMS residual on the validation motion.",
    "gap closed": "Share of the tracking gap that is gone with the identified model.",
    "explained": "Share of the variance of the torque.",
    "moving": "Only samples above the transition velocity.",
    "filtered": "Of rows that are filtered as those of the fit.",
}
"""What columns of tables mean, where no term says it."""

_TERM_ALTERNATIVES = "|".join(f"(?P<t{k}>{term})" for k, term in enumerate(TERM_MEANINGS))
_TERM_PATTERN = re.compile(rf"(?<![\w-])(?:{_TERM_ALTERNATIVES})(?![\w-])")
_MEANINGS = tuple(TERM_MEANINGS.values())
_CODE_PATTERN = re.compile(r"(`[^`]+`)")


def prose(text: str, told: set[str] | None = None) -> Markup:
    """Return a text as HTML: code between backticks, terms with what they mean.

    Each term is an abbreviation once; `told` are meanings that were given before on this part of
    the page, and is extended.
    """
    told = set() if told is None else told
    parts = _CODE_PATTERN.split(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part[1:-1]) if k % 2 else _mark_meanings(part, told)
        for k, part in enumerate(parts)
    )


def explain_column(column: str) -> str:
    """Return what a column of a table means, empty where its name says it."""
    if column in COLUMN_MEANINGS:
        return COLUMN_MEANINGS[column]
    found = _TERM_PATTERN.search(column)
    return _lookup_meaning(found) if found else ""


def _mark_meanings(text: str, told: set[str]) -> Markup:
    html, end = Markup(""), 0
    for found in _TERM_PATTERN.finditer(text):
        means = _lookup_meaning(found)
        if means not in told:
            told.add(means)
            html += escape(text[end : found.start()])
            html += Markup('<abbr title="{}" tabindex="0">{}</abbr>').format(means, found[0])
            end = found.end()
    return html + escape(text[end:])


def _lookup_meaning(found: re.Match[str]) -> str:
    assert found.lastgroup is not None
    return _MEANINGS[int(found.lastgroup[1:])]
