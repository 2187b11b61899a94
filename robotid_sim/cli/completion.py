"""What the shell offers for a word that is begun; what there is, is read only then."""

from collections.abc import Callable

import typer

Words = list[tuple[str, str]]
"""Words with their help."""


def names(kind: str) -> Callable[[str], Words]:
    """Return a function that gives the items of a kind that begin like a word."""

    def matching(incomplete: str) -> Words:
        from robotid_sim.part_kinds import KINDS

        rows = KINDS[kind].rows()
        return [(r["name"], r["summary"]) for r in rows if r["name"].startswith(incomplete)]

    return matching


def kind_names(incomplete: str) -> Words:
    """Return the kinds that begin like a word."""
    from robotid_sim.part_kinds import KINDS

    return [(key, kind.summary) for key, kind in KINDS.items() if key.startswith(incomplete)]


def item_names(ctx: typer.Context, incomplete: str) -> Words:
    """Return the items of the kind before it that begin like a word."""
    from robotid_sim.part_kinds import KINDS

    kind = str(ctx.params.get("kind"))
    return names(kind)(incomplete) if kind in KINDS else []
