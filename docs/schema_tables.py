"""Directives: tables of keys, from the model that reads them, of public names and of metrics."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from default_reasons import REASONS, rows_by_section
from docutils import nodes
from schema_rows import kind_text, leaves, markdown, rows_of, sections_of
from sphinx.util.docutils import SphinxDirective

import robotid_sim
from robotid_sim.campaign.metrics import METRICS
from robotid_sim.docstrings import summary_of


class SchemaTables(SphinxDirective):
    """``schema:: module.Model``: one table of keys for the file and for each of its parts."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return the tables."""
        module, _, name = self.arguments[0].rpartition(".")
        root = getattr(import_module(module), name)
        lines: list[str] = []
        for path, section in sections_of(root, "", set()):
            title = f"**`[{path}]`** " if path else ""
            lines += ["", f"{title}{markdown(summary_of(section))}", ""]
            lines += ["| key | is | default, range | meaning |", "|:--|:--|:--|:--|"]
            lines += [f"| {' | '.join(cells)} |" for cells in self.cells(section)]
        return self.parse_text_to_nodes("\n".join(lines))

    def cells(self, section: type) -> Iterator[tuple[str, ...]]:
        """Yield the cells of every row; a key without a meaning is an error of the build."""
        for key, kind, words, meaning in rows_of(section):
            inner = next(leaves(kind), None)
            meaning = meaning or (summary_of(inner) if inner else "")
            if not meaning:
                raise self.error(f"{section.__qualname__}.{key} has no docstring")
            yield f"`{key}`", kind_text(kind), words, markdown(meaning)


class PublicNames(SphinxDirective):
    """``public-names``: the names that the package exports, each with its first sentence."""

    def run(self) -> list[nodes.Node]:
        """Return a table a group of the stub, in its order."""
        stub = Path(robotid_sim.__file__).with_name("__init__.pyi").read_text(encoding="utf-8")
        lines = []
        for line in stub.splitlines()[1:]:
            if line.startswith("# "):
                lines += ["", f"**{line[2:]}**", "", "| name | what |", "|:--|:--|"]
            if not line.startswith("from ."):
                continue
            name = line.split()[-1]
            value = getattr(robotid_sim, name)
            documented = hasattr(value, "__module__") and hasattr(value, "__qualname__")
            place = f"{value.__module__}.{name}" if documented else f"robotid_sim.{name}"
            text = summary_of(value) if isinstance(value, type) else inspect.getdoc(value) or ""
            link = f"{{py:obj}}`{name} <{place}>`" if documented else f"`{name}`"
            lines.append(f"| {link} | {markdown(text.split(chr(10) * 2)[0])} |")
        return self.parse_text_to_nodes("\n".join(lines))


class Metrics(SphinxDirective):
    """``metrics``: what a campaign can record, by the name in a plan."""

    def run(self) -> list[nodes.Node]:
        """Return the table."""
        lines = ["| name | meaning | unit | closed loop |", "|:--|:--|:--|:--|"]
        for name, metric in METRICS.items():
            unit = "share" if metric.unit == "%" else metric.unit
            loop = "yes" if metric.of_loop else ""
            lines.append(f"| `{name}` | {markdown(metric.label)} | {unit} | {loop} |")
        return self.parse_text_to_nodes("\n".join(lines))


class Defaults(SphinxDirective):
    """``defaults::``: the defaults of a study's configuration, why, and what measures them."""

    def run(self) -> list[nodes.Node]:
        """Return a table a section; a key without a reason is an error of the build."""
        self.env.note_dependency(str(REASONS))
        try:
            sections = rows_by_section()
        except ValueError as error:
            raise self.error(str(error)) from error
        lines: list[str] = []
        for section, rows in sections.items():
            lines += ["", f"## {section}", ""]
            lines += ["| key | default | why | measured by |", "|:--|:--|:--|:--|"]
            lines += [f"| {' | '.join(row)} |" for row in rows]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("defaults", Defaults)
    app.add_directive("metrics", Metrics)
    app.add_directive("schema", SchemaTables)
    app.add_directive("public-names", PublicNames)
    return {"parallel_read_safe": True}
