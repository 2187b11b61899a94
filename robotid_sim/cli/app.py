"""The command line: parse, call, print, exit code."""

import errno
import logging
import re
import shlex
import sys
import tempfile
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from robotid_sim.cli.help import ALL_OPTION, Commands
from robotid_sim.cli.output import command_line, print_error, set_command_words
from robotid_sim.errors import InfeasibleError, RobotIdError, SimulationDiverged, suggestion
from robotid_sim.plugins import fault_of_plugin, load_installed_plugins
from robotid_sim.renamed import RENAMED_OPTIONS, upgrade_word
from robotid_sim.signals import interrupt_exit_code, last_signal

# Typer has its own copy of click and exports only the subclasses of its exceptions.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

BUG_EXIT_CODE = 70
"""Exit code of an unexpected error: EX_SOFTWARE of sysexits.h."""

BROKEN_PIPE_EXIT_CODE = 141
"""Exit code if the reader of the output has disconnected: 128 and SIGPIPE."""

INTERRUPT_MESSAGE = "interrupted; files that were written by then are complete"

SYSTEM_ERROR_NUMBERS = {
    number
    for name in ("ENAMETOOLONG", "ELOOP", "ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "EMFILE")
    if (number := getattr(errno, name, None)) is not None
}
"""Errors of the system that are not a fault of the program."""

SIZE_REMEDY = "look for an implausible limit, rate or duration, or give less data"

LOST_FOLDER_MESSAGE = "the working folder no longer exists; change to another folder"

MAX_ERROR_LENGTH = 300
"""Longest file name or bug text in an error line [characters]."""

MAX_LINE_LENGTH = 2000
"""Longest line of an error that is printed whole [characters]."""

_EMPTY_OPTION_PATTERN = re.compile(r"--[a-z-]+=")

app = typer.Typer(
    name="robotid",
    cls=Commands,
    help="Identify the dynamic parameters of a URDF robot, in simulation and from real logs.",
    epilog="Run `robotid COMMAND -h` for options and examples.",
    context_settings={"help_option_names": ["-h", "--help", ALL_OPTION]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _top(
    context: typer.Context,
    show_version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if show_version:
        print(version("robotid_sim"))
        raise typer.Exit(0)
    if context.invoked_subcommand is None:
        print(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    0 done and passed; 1 done and failed; 2 invalid input; 70 a bug of robotid; 141 nobody reads the
    output; 128 and the number of the signal that ended it, 130 at Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    set_command_words(words)
    # Records go to stderr; the log file of a study has more of them.
    logging.basicConfig(stream=sys.stderr, format="%(message)s", force=True)
    verbose = "-v" in words or "--verbose" in words
    logging.getLogger().handlers[0].setLevel(logging.INFO if verbose else logging.WARNING)
    logging.getLogger("robotid_sim").setLevel(logging.INFO)
    k = next(
        (k for k, word in enumerate(words) if not word or _EMPTY_OPTION_PATTERN.fullmatch(word)),
        None,
    )
    if k is not None:
        # The option before the empty value is shown, too, quoted as for a shell.
        first = k - 1 if k and words[k - 1].startswith("-") and not words[k] else k
        shown = shlex.join(words[first : k + 1])
        return _fail(f"an empty value: {shown}; give a value or leave the option out", 2)
    words = [upgrade_word(word, RENAMED_OPTIONS) for word in words]
    try:
        load_installed_plugins()
        code = app(words, prog_name="robotid", standalone_mode=False)
    except _ClickException as error:
        return _fail(_usage_text(error), 2, "UsageError")
    except (typer.Abort, KeyboardInterrupt):
        return _fail(INTERRUPT_MESSAGE, interrupt_exit_code(), "Interrupted")
    except SystemExit as end:  # by Typer: the message is printed, or a pipe was closed
        if plugin_fault := fault_of_plugin(end):
            return _fail(plugin_fault, 2, "PluginError")
        return BROKEN_PIPE_EXIT_CODE if end.code == 1 else int(end.code or 0)
    except Exception as error:  # the boundary of the program
        if "--debug" in words:
            traceback.print_exc()
        return _fail(*_classify_error(error))
    return int(code or 0) if last_signal() is None else _fail(INTERRUPT_MESSAGE, 0, "Interrupted")


def _classify_error(error: Exception) -> tuple[str, int, str]:
    """Return message, exit code and kind of an error for the user of a command."""
    kind = type(error).__name__
    if isinstance(error, InfeasibleError | SimulationDiverged):
        return str(error), 1, kind
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error or 'for this'}; {SIZE_REMEDY}", 2, "MemoryError"
    if isinstance(error, RobotIdError):
        return fault_of_plugin(error) or str(error), 2, kind
    system_fault = _describe_system_error(error) if isinstance(error, OSError) else ""
    plugin_fault = system_fault or fault_of_plugin(error)
    return (
        (plugin_fault, 2, kind) if plugin_fault else (_save_bug_report(error), BUG_EXIT_CODE, "Bug")
    )


def _describe_system_error(error: OSError) -> str:
    """Return the system's message about a file; empty for a fault of the program."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return LOST_FOLDER_MESSAGE
    if error.errno not in SYSTEM_ERROR_NUMBERS:
        return ""
    name = str(error.filename or "a file")
    shown = name if len(name) <= MAX_ERROR_LENGTH else f"{name[:MAX_ERROR_LENGTH]}..."
    return f"cannot use {shown}: {error.strerror}; give another name or folder"


def _save_bug_report(error: Exception) -> str:
    """Save the traceback of an unexpected error; return one line with the file."""
    summary = " ".join(f"{type(error).__name__}: {error}".split())
    text = f"this is a bug of robotid: {summary[:MAX_ERROR_LENGTH]}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="robotid-bug-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(f"{command_line()}\nrobotid {version('robotid_sim')}\n\n")
            file.writelines(traceback.format_exception(error))
    except OSError:
        return f"{text}; --debug shows where"
    return f"{text}; please report it with {file.name}"


def _usage_text(error: Any) -> str:
    """Describe a wrong option or argument, and name the command that prints the help."""
    text = error.format_message().rstrip(".")
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):  # no such option
        options = [name for param in error.ctx.command.get_params(error.ctx) for name in param.opts]
        text = f"no such option {error.option_name}{suggestion(error.option_name, options)}"
    command = getattr(error, "ctx", None)
    return text if command is None else f"{text}; see `{command.command_path} --help`"


def _fail(text: str, code: int, kind: str = "OptionError") -> int:
    """Print in one line why a command ends; after a signal this is the signal, not the error.

    With ``--json`` an object is printed to stdout, too; the text after the last semicolon is the
    remedy.
    """
    if last_signal() is not None:
        text, code, kind = INTERRUPT_MESSAGE, interrupt_exit_code(), "Interrupted"
    # In one line, without control characters.
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    line = line if len(line) <= MAX_LINE_LENGTH else f"{line[:600]} ... {line[-300:]}"
    message, _, remedy = line.rpartition("; ")
    with suppress(OSError):  # the terminal has been closed
        print(f"robotid: {line}", file=sys.stderr, flush=True)
        print_error(kind, message or line, remedy if message else "")
    return code
