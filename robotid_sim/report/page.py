"""A page: verdict and finding, sections with figures and tables, and how to reproduce it."""

import base64
import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType

from jinja2 import Environment, FunctionLoader
from markupsafe import Markup

from robotid_sim.files import atomic_path, make_folder, write_text
from robotid_sim.palette import css_variables
from robotid_sim.parallel import map_tasks
from robotid_sim.progress import Progress, silent
from robotid_sim.report.glossary import meaning, prose
from robotid_sim.report.replay.data import Places, replay_data
from robotid_sim.report.replay.motions import Replay
from robotid_sim.section import Section

WITHOUT_REPLAY = (
    "The robot in motion is left out (--no-replay): write the page without that option to see it."
)
WITHOUT_PLOTLY = (
    "Figures are pictures here: pip install 'robotid_sim[web]' and write the page again to zoom "
    "in, read values and switch curves off."
)

REPLAY = tuple(f"replay{part}.js" for part in ("_camera", "_scene", "_motion", "_plots", ""))
"""Scripts of the replay; the last one runs what the others define."""

DrawnCharts = Mapping[str, Mapping[str, str | Markup]]
"""``svg`` and ``csv`` of charts by their names."""


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

    The folder `figures` receives every figure as SVG and PNG and its data as CSV, and every
    picture; `workers` processes draw. With `replay` false a page that has a replay does not show
    it. Raises `FileFormatError` if a file cannot be written.
    """
    # Matplotlib takes a second to load, and few commands write a page.
    from robotid_sim.report.draw import draw
    from robotid_sim.report.interactive import packed

    left_out = []
    if page.replay is not None and not replay:
        page, left_out = dataclasses.replace(page, replay=None), [WITHOUT_REPLAY]
    charts = [chart for section in page.sections for chart in section.charts]
    folder = None if figures is None else make_folder(figures)
    drawings = map_tasks(draw, charts, workers, lambda share: progress("report", 0.95 * share))
    drawn: dict[str, dict[str, str | Markup]] = {}
    places = {}
    for chart, drawing in zip(charts, drawings, strict=True):
        if folder is not None:
            drawing.save(folder, chart.name)
        drawn[chart.name] = {"svg": Markup(drawing.page), "csv": packed(drawing.csv)}
        places[chart.name] = drawing.places
    for picture in (picture for section in page.sections for picture in section.pictures):
        if folder is not None:
            with atomic_path(folder / f"{picture.name}.png") as file:
                file.write_bytes(picture.png)
    write_text(path, page_text(page, drawn, places, left_out))
    progress("report", 1.0)


def page_text(
    page: Page,
    drawn: DrawnCharts = MappingProxyType({}),
    places: Places = MappingProxyType({}),
    left_out: Sequence[str] = (),
) -> str:
    """Return a page as HTML.

    `drawn` has every chart by its name, `places` where panels over time are in them; `left_out`
    says what the page does not have, and how to get it.
    """
    from robotid_sim.report.interactive import holds_data, packed, plotly_figure, plotly_script

    charts = [chart for section in page.sections for chart in section.charts]
    script = plotly_script() if charts else None
    figures = {}
    if charts and script is None:
        left_out = [*left_out, WITHOUT_PLOTLY]
    if script is not None:
        figures = {chart.name: plotly_figure(chart) for chart in charts}
    style, codes = _asset("page.css"), [_asset("page.js")]
    live = {}
    for part in (section.live for section in page.sections if section.live is not None):
        live[part.name] = packed(part.data)
        style += _asset(f"{part.style}.css")
        codes += (_asset(f"{name}.js") for name in part.scripts)
    replay = ""
    if page.replay is not None:
        replay = packed(json.dumps(replay_data(page.replay, charts, places), separators=(",", ":")))
        style += _asset("replay.css")
        codes += map(_asset, REPLAY)
    light, dark = css_variables()
    pages = Environment(
        loader=FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    pages.filters |= {"prose": prose, "meaning": meaning}
    return pages.get_template("page.html").render(
        new_set=set,
        timed=any(getattr(panel, "clock", None) for chart in charts for panel in chart.panels),
        page=page,
        drawn=drawn,
        policy=_policy(*codes, script),
        live=live,
        style=Markup(style.replace("/*light*/", light).replace("/*dark*/", dark)),
        codes=[Markup(code) for code in codes],
        tabled={chart.name for chart in charts if script is not None and holds_data(chart)},
        plotly="" if script is None else packed(script),
        encoded=lambda data: base64.b64encode(data).decode(),
        figures=packed(json.dumps(figures, separators=(",", ":"))) if figures else "",
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
