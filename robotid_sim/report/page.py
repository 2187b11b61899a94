"""Write a page: verdict, finding, sections with figures and tables, meanings of terms."""

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
    "The replay of the robot is omitted (--no-replay). Write the page without that option."
)
REPLAY_SCRIPTS = tuple(
    f"replay{part}.js" for part in ("_camera", "_scene", "_motion", "_plots", "_log", "")
)
"""Scripts of the replay; the last one uses the others."""


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A report."""

    title: str
    finding: str
    """The result in one sentence."""
    sections: tuple[Section, ...]
    passed: bool | None = None
    """Whether the verdict is passed; None without a verdict."""
    badge: str = ""
    """Text next to the title of a page without verdict."""
    facts: tuple[tuple[str, str], ...] = ()
    """The most important numbers: label and value."""
    replay: Replay | None = None
    """The replay of the robot; None without one."""


def write_page(
    page: Page,
    path: Path,
    figures: Path | None = None,
    progress: Progress = silent,
    workers: int = 1,
    *,
    replay: bool = True,
) -> None:
    """Write a page as one HTML file, without references to other files or the network.

    The folder `figures`, if there is one, receives every figure as SVG and PNG and its data as
    CSV, drawn by `workers` processes. With `replay` false the replay is omitted.

    Raises `FileFormatError` if a file cannot be written.
    """
    require_writable(path)
    omission_notes = []
    if page.replay is not None and not replay:
        page, omission_notes = dataclasses.replace(page, replay=None), [MISSING_REPLAY_TEXT]
    if figures is not None:
        # Matplotlib takes a second to load.
        from robotid_sim.report.draw import draw

        folder = make_folder(figures)
        charts = [chart for section in page.sections for chart in section.charts]
        drawings = map_tasks(draw, charts, workers, lambda share: progress("report", 0.95 * share))
        for chart, drawing in zip(charts, drawings, strict=True):
            drawing.save(folder, chart.name)
    write_text(path, page_text(page, omission_notes))
    progress("report", 1.0)


def page_text(page: Page, omission_notes: Sequence[str] = ()) -> str:
    """Return a page as HTML; `omission_notes` name the omitted parts and how to get them."""
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
        omission_notes=omission_notes,
    )


def _policy(*scripts: str | None) -> str:
    """Return the content security policy: these scripts and inline data, nothing external.

    Inline styles are allowed because figures set theirs.
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
    "of the joints depend. A log determines these combinations, not single parameters.",
    r"[Cc]ondition number": "Ratio of the largest to the smallest singular value of the regressor: "
    "best over worst identifiable direction.",
    r"[Ss]ingular values?": "Effect on the torques of a unit change of the parameters in each "
    "independent direction.",
    r"[Mm]odel error": "RMS torque difference between identified and true model without noise, "
    "divided by the RMS torque.",
    r"[Tt]racking gap": "Tracking error of the controller with the nominal model minus that with "
    "the true model.",
    r"[Dd]-optimality": "Design of the motion for the smallest volume of the confidence ellipsoid "
    "of all parameters.",
    r"log det": "Logarithm of the determinant of the information matrix; a larger value means a "
    "smaller confidence ellipsoid.",
    r"regressor": "The matrix that gives torques from parameters.",
    r"RMS": "Root of the mean square.",
    r"WLS": "Weighted least squares: every joint is weighted by its noise.",
    r"'consistent'": "Fit restricted to physically consistent robots: positive mass, positive "
    "definite pseudo-inertia, nonnegative friction.",
    r"nominal model": "Model known before identification, for example from CAD.",
    r"Ljung-Box": "A test for correlation of successive residuals.",
    r"Student's t": "Distribution of an error over its estimated standard deviation, with "
    "heavier tails than the normal distribution.",
    r"Stribeck": "Decrease of friction with velocity after breakaway.",
    r"eps": "Transition velocity: velocity over which Coulomb friction changes sign.",
    r"likelihood": "Probability density of the data under a model.",
    r"essential": "Parameters whose omission increases the residual significantly.",
    r"Kalman (?:filter|smoother)": "Estimates a signal from noisy samples by a model of its "
    "change; a smoother uses later samples, too.",
    r"sliding-mode": "A controller that drives the sliding variable to zero despite a bounded "
    "disturbance.",
}
"""Patterns of terms and their meanings."""

COLUMN_MEANINGS = {
    "parameter": "Of link or joint k: m mass; mx, my, mz first moments; Ixx to Izz inertia about "
    "the frame of the link; Fv viscous, Fc Coulomb friction, Fo offset; Ia rotor inertia. The "
    "suffix R marks a sum: see its grouping.",
    "grouping": "Linear combination of standard parameters that forms the base parameter.",
    "std": "Standard deviation.",
    "std [%]": "Standard deviation over the absolute value.",
    "95 % interval": "Contains the true value with a probability of 95 %.",
    "|error| / std": "Error in standard deviations: about two of three are below 1, one of twenty "
    "above 2.",
    "std / bound": "Standard deviation over the Cramér-Rao bound.",
    "cost / LS cost": "Weighted sum of squares over its minimum, that of least squares.",
    "cost / optimum": "Criterion that a search minimizes, over its smallest possible value.",
    "fit residual": "RMS residual of the regressor rows.",
    "unseen": "RMS residual on the validation motion.",
    "gap closed": "Share of the tracking gap that the identified model removes.",
    "explained": "Share of the torque variance that the model explains.",
    "moving": "Only samples above the transition velocity.",
    "filtered": "Error of rows that are filtered like those of the fit.",
}
"""Meanings of table columns that are not terms."""

_TERM_ALTERNATIVES = "|".join(f"(?P<t{k}>{term})" for k, term in enumerate(TERM_MEANINGS))
_TERM_PATTERN = re.compile(rf"(?<![\w-])(?:{_TERM_ALTERNATIVES})(?![\w-])")
_MEANINGS = tuple(TERM_MEANINGS.values())
_CODE_PATTERN = re.compile(r"(`[^`]+`)")


def prose(text: str, explained: set[str] | None = None) -> Markup:
    """Convert a text to HTML: code between backticks, terms with their meanings.

    Each meaning is given once; `explained` contains the terms already explained on this part of the
    page, and is extended.
    """
    explained = set() if explained is None else explained
    html = Markup("")
    for k, part in enumerate(_CODE_PATTERN.split(text)):
        if k % 2:
            html += Markup("<code>{}</code>").format(part[1:-1])
            continue
        end = 0
        for match in _TERM_PATTERN.finditer(part):
            meaning = _lookup_meaning(match)
            if meaning not in explained:
                explained.add(meaning)
                html += escape(part[end : match.start()])
                html += Markup('<abbr title="{}" tabindex="0">{}</abbr>').format(meaning, match[0])
                end = match.end()
        html += escape(part[end:])
    return html


def explain_column(column: str) -> str:
    """Return the meaning of a table column; empty if its name is self-explanatory."""
    if column in COLUMN_MEANINGS:
        return COLUMN_MEANINGS[column]
    match = _TERM_PATTERN.search(column)
    return _lookup_meaning(match) if match else ""


def _lookup_meaning(match: re.Match[str]) -> str:
    assert match.lastgroup is not None
    return _MEANINGS[int(match.lastgroup[1:])]
