"""The page of the league: what the classical methods reach, and where searches stay behind them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from robotid_sim.chart import Chart, Curve, Panel
from robotid_sim.palette import joint_role
from robotid_sim.report.page import Page
from robotid_sim.section import Section
from robotid_sim.table import Table

SIGNIFICANCE = 0.05
STYLES = ("solid", "dashed", "dotted")
HUES = 7


def league_page(league: Mapping[str, Any], command: str) -> Page:
    """Return the page of a league, from the content of ``league.json``."""
    families = {p["family"]: [] for p in league["problems"]}
    for problem in league["problems"]:
        families[problem["family"]].append(problem)
    real = families["identification"]
    return Page(
        title="League of optimizers",
        finding=finding(real, league["seeds"]),
        facts=(
            ("methods", str(len(league["methods"]))),
            ("problems", str(len(league["problems"]))),
            ("seeds", str(league["seeds"])),
        ),
        sections=(
            against_classical(real, league["classical"], league["seeds"]),
            overview(league["overview"]),
            family_section("Identification", real, league["seeds"]),
            family_section("Standard functions", families["standard"], league["seeds"]),
            published(league["flags"]),
            methods(league["methods"]),
            Section(title="Reproduce", code=command),
        ),
    )


def finding(real: Sequence[Mapping[str, Any]], seeds: int) -> str:
    """Return in a sentence where searches beat the classical methods, if anywhere."""
    beaten = [
        f"{problem['name']} ({row['method']}, {row['beaten']} of {seeds} seeds)"
        for problem in real
        for row in problem["rows"]
        if row["beaten"]
    ]
    if not beaten:
        return (
            f"On none of the {len(real)} identification problems does any swarm beat the "
            "classical method."
        )
    names = {text.partition(" (")[0] for text in beaten}
    return (
        f"On {len(real) - len(names)} of {len(real)} identification problems no swarm beats the "
        f"classical method; where one does: {'; '.join(beaten)}."
    )


def against_classical(
    real: Sequence[Mapping[str, Any]], classical: Mapping[str, Any], seeds: int
) -> Section:
    """Return the identification problems: classical method, best search, their times."""
    rows = []
    for problem in real:
        best, own = problem["rows"][0], classical[problem["name"]]
        rows.append(
            (
                problem["name"],
                own["method"],
                f"{1e3 * own['seconds']:.3g} ms",
                best["method"],
                f"{best['solved']}/{seeds}",
                f"{100.0 * best['gap']:.2g} %",
                f"{1e3 * best['seconds']:.3g} ms",
                f"{best['seconds'] / own['seconds']:.3g}",
                str(sum(row["beaten"] for row in problem["rows"])),
            )
        )
    columns = ("problem", "classical method", "time", "best search", "within 0.1 %", "behind by")
    more = ("time of a search", "times as long", "searches that beat it")
    return Section(
        title="Against the classical method",
        text="Cost above that of the classical method, which solves the linear problems exactly. "
        "A search that ends below it by more than a millionth would beat it.",
        tables=(Table(columns=columns + more, rows=tuple(rows), text_columns=2),),
    )


def overview(methods: Sequence[tuple[str, float, float]]) -> Section:
    """Return the mean place of every method and how many searches reach the target."""
    rows = tuple((name, f"{place:.1f}", f"{solved:.0%}") for name, place, solved in methods)
    columns = ("method", "mean place", "searches that reach the target")
    return Section(title="Overview", tables=(Table(columns=columns, rows=rows),))


def family_section(title: str, problems: Sequence[Mapping[str, Any]], seeds: int) -> Section:
    """Return convergence curves and the table of every problem of a family."""
    return Section(
        title=title,
        text="Median error of the best point over the seeds; n.s.: no significant difference from "
        "the best method (Wilcoxon's signed-rank test with Holm's correction, 5 %).",
        charts=(convergence(title, problems),),
        tables=tuple(problem_table(problem, seeds) for problem in problems),
    )


def convergence(title: str, problems: Sequence[Mapping[str, Any]]) -> Chart:
    """Return the median error against evaluations, a panel a problem."""
    methods = sorted(row["method"] for row in problems[0]["rows"])
    panels = []
    for problem in problems:
        x = np.array(problem["checkpoints"], dtype=float)
        curves = {row["method"]: np.array(row["curve"]) for row in problem["rows"]}
        lines = tuple(
            Curve(x, curves[m], m, joint_role(k), STYLES[k // HUES]) for k, m in enumerate(methods)
        )
        panels.append(
            Panel(
                marks=lines,
                x_label="evaluations [-]",
                y_label="error [-]" if len(panels) % 2 == 0 else "",
                title=problem["name"],
                x_scale="log",
                y_scale="log",
            )
        )
    return Chart(
        name=f"convergence-{title.lower().replace(' ', '-')}",
        title=f"Convergence, {title.lower()}",
        caption="Median over the seeds of the best cost above the optimum; cut off at the target.",
        panels=tuple(panels),
        columns=2,
        panel_height=1.7,
    )


def problem_table(problem: Mapping[str, Any], seeds: int) -> Table:
    """Return the rows of one problem."""
    rows = []
    for row in problem["rows"]:
        p = "best" if row["p"] is None else "n.s."
        if row["p"] is not None and row["p"] < SIGNIFICANCE:
            p = f"{row['p']:.1e}"
        evaluations = "-" if row["evaluations"] is None else f"{row['evaluations']:.0f}"
        errors = (row["median"], *row["quartiles"])
        cells = (f"{error:.2e}" for error in errors)
        solved = f"{row['solved']}/{seeds}"
        rows.append((row["method"], *cells, solved, evaluations, f"{row['seconds']:.2g}", p))
    columns = ("method", "median error", "lower quartile", "upper quartile", "solved")
    return Table(
        columns=(*columns, "evaluations to target", "time [s]", "p"),
        rows=tuple(rows),
        title=f"{problem['name']}, {problem['max_evals']} evaluations",
    )


def published(flags: Mapping[str, Sequence[str]]) -> Section:
    """Return the published settings with what their stability analysis says."""
    rows = tuple((name, "; ".join(found) or "stable") for name, found in flags.items())
    return Section(
        title="Published settings",
        text="The papers' own parameters, judged by the first and second moments of the update; "
        "the league plays with the defaults, which are stable.",
        tables=(Table(columns=("setting", "stability"), rows=rows, text_columns=2),),
    )


def methods(described: Sequence[Mapping[str, str]]) -> Section:
    """Return what every method is, with its source."""
    rows = tuple((m["name"], m["summary"], m["source"]) for m in described)
    return Section(
        title="Methods",
        tables=(Table(columns=("name", "what", "source"), rows=rows, text_columns=3),),
    )
