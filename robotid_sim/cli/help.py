"""Commands that are loaded when they are called, and their help."""

from importlib import import_module
from typing import Any, NamedTuple

import typer
import typer.core
import typer.main

from robotid_sim.cli.commands import COMMANDS
from robotid_sim.cli.output import command_words
from robotid_sim.errors import UnknownNameError

# Typer's own copy of click has no public names; its contexts and formatters come as arguments only.


ALL_OPTION = "--help-all"

MAX_OPTIONS = 20
"""Largest number of options of a command that its help lists completely."""

INPUT_OPTIONS = (
    "config base tip payload nominal mapping profile topic trajectory log result task load prior "
    "preset robot assume_limits repair no_urdf_friction plugin trust_plugins"
)
OUTPUT_OPTIONS = (
    "out report urdf csv json figures junit parameters meshes no_replay view record size fps "
    "write_map posterior_samples format verbose quiet debug help_all"
)
OPTION_GROUPS = dict.fromkeys(INPUT_OPTIONS.split(), "Input") | dict.fromkeys(
    OUTPUT_OPTIONS.split(), "Output"
)
"""Section of the help by option; an option without an entry is in the section Method."""

RARE_OPTIONS = frozenset(
    "assume_limits no_urdf_friction plugin trust_plugins plant_friction plant_drive no_clearance "
    "workers meshes no_replay junit debug quiet dry_run repair parameters drive_gain_std "
    "posterior_samples camera renderer port "
    "no_open magnify fps segment topic engine floor view payload scenario "
    "runs explain solver compare joint time".split()
)
"""Options that the help of a command with many options lists only with `ALL_OPTION`."""


class Word(NamedTuple):
    """A shell completion, as Typer reads it."""

    value: str
    help: str
    type: str = "plain"


class PlainCommand(typer.core.TyperCommand):
    """A command whose help shows plain names: ROBOT, FILE, SECONDS."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is Typer's
        """Return the words of the usage line."""
        arguments = (p for p in self.params if p.param_type_name == "argument")
        names = ((p.required, str(p.metavar)) for p in arguments)
        return ["[OPTIONS]", *(name if required else f"[{name}]" for required, name in names)]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options by section; if there are many, only the common options."""
        parameters = self.get_params(ctx)
        options = [p for p in parameters if is_kind(p, "option")]
        shown = options
        if len(options) > MAX_OPTIONS and ALL_OPTION not in command_words():
            shown = [p for p in options if p.name not in RARE_OPTIONS]
        groups = {"Arguments": [p for p in parameters if is_kind(p, "argument")]}
        groups |= {title: [] for title in ("Input", "Method", "Output")}
        for option in shown:
            groups[OPTION_GROUPS.get(option.name, "Method")].append(option)
        for title, group in groups.items():
            if group:
                with formatter.section(title):
                    formatter.write_dl([_describe_parameter(p) for p in group])
        if len(shown) < len(options):
            formatter.write_paragraph()
            formatter.write_text(f"{ALL_OPTION} shows {len(options) - len(shown)} more options.")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; Typer alone would exit without a message after `KeyboardInterrupt`."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise typer.Abort from error


class Commands(typer.core.TyperGroup):
    """The group of all commands; the module of a command is imported when the command is used."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - the signature is Typer's
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 - the signature is Typer's
        """Return a command by its name, None if there is none."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command of the first word and the words after it."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise UnknownNameError.from_names("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Return the commands and options with a prefix; no command is loaded."""
        words = [Word(name, text.summary) for name, text in COMMANDS.items()]
        parameters: list[Any] = self.get_params(ctx)
        words += [Word(name, str(p.help)) for p in parameters for name in p.opts]
        matches = (w for w in words if w.value.startswith(incomplete))
        return [w for w in matches if incomplete or w.value[0] != "-"]  # options after a "-" only

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write options and commands."""
        with formatter.section("Options"):
            formatter.write_dl([_describe_parameter(p) for p in self.get_params(ctx)])
        with formatter.section("Commands"):
            formatter.write_dl([(name, text.summary) for name, text in COMMANDS.items()])


def load_command(name: str) -> Any:
    """Return a command, with its examples at the end of the help."""
    lines = "\n".join(f"  robotid {words}" for words in COMMANDS[name].examples)
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    # \b keeps the lines as they are.
    epilog = f"\b\nExamples:\n{lines}"
    module = import_module(f"robotid_sim.cli.{COMMANDS[name].module or name}")
    # A function whose name would be a keyword or a builtin ends with an underscore.
    function = getattr(module, name, None) or getattr(module, f"{name}_")
    app.command(name, cls=PlainCommand, epilog=epilog)(function)
    return typer.main.get_command(app)


def is_kind(param: Any, kind: str) -> bool:
    """Return whether a parameter is an option or an argument."""
    return bool(param.param_type_name == kind)


def _describe_parameter(param: Any) -> tuple[str, str]:
    """Return name and text of an argument or option."""
    if is_kind(param, "argument"):
        return str(param.metavar), param.help + ("" if param.required else "  [optional]")
    names = ", ".join(sorted(param.opts, key=len))
    notes = ["required"] if param.required else []
    if param.show_default and param.default not in (None, False):
        default = param.default
        notes.append(
            f"default: {default:g}" if isinstance(default, float) else f"default: {default}"
        )
    value = "" if param.is_flag else f" {param.metavar}"
    return names + value, param.help + (f"  [{', '.join(notes)}]" if notes else "")
