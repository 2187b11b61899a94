"""How a page ends: what was assumed, and how a reader gets the same page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from robotid_sim.model.export import lost_in_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.pipeline.result import versions
from robotid_sim.report.tables import limits_table
from robotid_sim.section import Section

if TYPE_CHECKING:
    from robotid_sim.estimation.consistent import Lift


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How a reader gets the same page."""

    command: str
    seed: int
    settings: str
    """The configuration where it differs from the defaults, as JSON."""
    versions: Mapping[str, str]
    """Of Python and the packages."""

    @classmethod
    def of_python(cls, call: str, seed: int = 0) -> "Recipe":
        """Return how a page was made by a call in Python."""
        return cls(command=f"# Python\n{call}", seed=seed, settings="{}", versions=versions())


def closing(
    robot: Robot, notes: Sequence[str], limits_of: str, recipe: Recipe, *more: Section
) -> tuple[Section, ...]:
    """Return what was assumed about a robot, further sections, and how to reproduce the page.

    The limits and drives that were used are those of the `limits_of` model.
    """
    frames = (
        f"Gravity ({', '.join(f'{g:g}' for g in robot.gravity)}) m/s² in the frame of "
        f"'{robot.base}'; the tool is '{robot.tip}'.",
        "Link parameters are about the link frames of the URDF; friction is "
        "Fv dq + Fc tanh(dq / eps) + Fo, eps a constant that the models share; Ia is the "
        "inertia of a drive's rotor, seen at the joint.",
    )
    assumptions = Section(
        title="Assumptions",
        notes=(*notes, *frames, f"Limits and drives below are those of the {limits_of} model."),
        tables=(limits_table(robot),),
    )
    packages = ", ".join(f"{name} {version}" for name, version in recipe.versions.items())
    reproduction = Section(
        title="Reproduce",
        text=f"Seed {recipe.seed}. The same command with the same versions on the same kind of "
        f"machine gives the same numbers, bit for bit: {packages}.",
        code=f"{recipe.command}\n\n# configuration, where it differs from the defaults (JSON)\n"
        f"{recipe.settings}",
    )
    return assumptions, *more, reproduction


def in_other_tools(lift: "Lift | None") -> tuple[Section, ...]:
    """Return what other readers of the identified URDF do not see, if there is any of it."""
    notes = () if lift is None else lost_in_urdf(lift.robot)
    text = "`identified.urdf` loads in other tools, with its meshes beside it."
    return (Section(title="In other tools", text=text, notes=notes),) if notes else ()
