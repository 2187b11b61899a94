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

from robotid_sim.cli.command_line import command_line, remember_command
from robotid_sim.cli.help import Commands
from robotid_sim.cli.output import print_error, set_output
from robotid_sim.errors import InfeasibleError, RobotIdError, SimulationDiverged, suggestion
from robotid_sim.plugins import fault_of_plugin, load_installed_plugins
from robotid_sim.signals import ending_signal, interrupted_code

# Typer carries its own copy of click and names only the leaves of its exceptions.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")

BUG = 70
"""Exit code of an error that nobody foresaw: EX_SOFTWARE of sysexits.h."""

UNREAD = 141
"""Exit code where the reader of the output has gone: 128 and SIGPIPE."""

STOPPED = "interrupted; files that were written by then are complete"

SYSTEM = {
    number
    for name in ("ENAMETOOLONG", "ELOOP", "ENOSPC", "EDQUOT", "EROFS", "EIO", "ESTALE", "EMFILE")
    if (number := getattr(errno, name, None)) is not None
}
"""Errors of the system that are no fault of the program."""

SMALLER = "look for a limit, rate or duration that cannot be meant, or give less data"

GONE = "the working folder no longer exists; change to another one"

LONGEST = 300
"""Longest text of such an error in its line [characters]."""

LONGEST_LINE = 2000
"""Longest line of an error that is said whole [characters]."""

_EMPTY = re.compile(r"--[a-z-]+=")

app = typer.Typer(
    name="robotid",
    cls=Commands,
    help="Identify the dynamic parameters of a URDF robot, in simulation and from real logs.",
    epilog="`robotid COMMAND -h` has the options of a command and examples.",
    context_settings={"help_option_names": ["-h", "--help"]},
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

    0 done and passed; 1 the work ran and the verdict is no; 2 the input cannot be used; 70 a bug of
    robotid; 141 nobody reads the output; 128 and the number of the signal that ended it, 130 at
    Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    remember_command(words)
    debug = "--debug" in words
    verbose = "-v" in words or "--verbose" in words
    _log_to_stderr(logging.INFO if verbose else logging.WARNING)
    empty = next((k for k, word in enumerate(words) if not word or _EMPTY.fullmatch(word)), None)
    set_output(quiet="--quiet" in words, as_json="--json" in words)
    if empty is not None:
        return _fail(f"an empty value: {_shown(words, empty)}; give one or leave the option out", 2)
    try:
        load_installed_plugins()
        code = app(words, prog_name="robotid", standalone_mode=False)
    except _ClickException as error:
        return _fail(_said(error), 2, "UsageError")
    except (typer.Abort, KeyboardInterrupt):
        return _fail(STOPPED, interrupted_code(), "Interrupted")
    except (InfeasibleError, SimulationDiverged) as error:
        if debug:
            traceback.print_exc()
        return _fail(str(error), 1, type(error).__name__)
    except RobotIdError as error:
        if debug:
            traceback.print_exc()
        return _fail(fault_of_plugin(error) or str(error), 2, type(error).__name__)
    except SystemExit as end:  # Typer's: what completes has said all, or a pipe was closed
        if said := fault_of_plugin(end):
            return _fail(said, 2, "PluginError")
        return UNREAD if end.code == 1 else int(end.code or 0)
    except MemoryError as error:
        if debug:
            traceback.print_exc()
        text = f"there is not enough memory: {error or 'for this'}; {SMALLER}"
        return _fail(text, 2, "MemoryError")
    except Exception as error:  # the boundary of the program
        if debug:
            traceback.print_exc()
        trouble = _trouble(error) if isinstance(error, OSError) else ""
        if said := trouble or fault_of_plugin(error):
            return _fail(said, 2, type(error).__name__)
        return _fail(_bug(error), BUG, "Bug")
    return int(code or 0) if ending_signal() is None else _fail(STOPPED, 0, "Interrupted")


def _trouble(error: OSError) -> str:
    """Return what is wrong with a file by the system's word; nothing for a fault of the program."""
    try:
        Path.cwd()
    except FileNotFoundError:
        return GONE
    if error.errno not in SYSTEM:
        return ""
    name = str(error.filename or "a file")
    shown = name if len(name) <= LONGEST else f"{name[:LONGEST]}..."
    return f"cannot use {shown}: {error.strerror}; give another name or folder"


def _bug(error: Exception) -> str:
    """Keep the traceback of an error that nobody foresaw; return what to do with it, one line."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    text = f"this is a bug of robotid: {what[:LONGEST]}"
    try:
        with tempfile.NamedTemporaryFile(
            "w", prefix="robotid-bug-", suffix=".txt", delete=False, encoding="utf-8"
        ) as file:
            file.write(f"{command_line()}\nrobotid {version('robotid_sim')}\n\n")
            file.writelines(traceback.format_exception(error))
    except OSError:
        return f"{text}; --debug shows where"
    return f"{text}; please report it with {file.name}"


def _said(error: Any) -> str:
    """Return what is wrong with the words of a command, and where the right ones are."""
    text = error.format_message().rstrip(".")
    if hasattr(error, "option_name") and hasattr(error, "possibilities"):  # no such option
        options = [name for param in error.ctx.command.get_params(error.ctx) for name in param.opts]
        text = f"no such option {error.option_name}{suggestion(error.option_name, options)}"
    command = getattr(error, "ctx", None)
    return text if command is None else f"{text}; see `{command.command_path} --help`"


def _shown(words: Sequence[str], k: int) -> str:
    """Return an empty word with the option before it, as a shell would take them."""
    first = k - 1 if k and words[k - 1].startswith("-") and not words[k] else k
    return shlex.join(words[first : k + 1])


def _log_to_stderr(level: int) -> None:
    """Send log records from `level` on to stderr; a run log may ask for more of them."""
    logging.basicConfig(stream=sys.stderr, format="%(message)s", force=True)
    logging.getLogger().handlers[0].setLevel(level)
    logging.getLogger("robotid_sim").setLevel(logging.INFO)


def _readable(text: str) -> str:
    """Write a text in one line, without what a terminal obeys or nobody would read."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line)
    return line if len(line) <= LONGEST_LINE else f"{line[:600]} ... {line[-300:]}"


def _fail(text: str, code: int, kind: str = "OptionError") -> int:
    """Say in one line why a command ends; after a signal every error is of that one.

    With ``--json`` an object on stdout says it too: what is wrong, and after its last semicolon
    what to do.
    """
    if ending_signal() is not None:
        text, code, kind = STOPPED, interrupted_code(), "Interrupted"
    line = _readable(text)
    message, _, remedy = line.rpartition("; ")
    with suppress(OSError):  # the terminal has been closed
        print(f"robotid: {line}", file=sys.stderr, flush=True)
        print_error(kind, message or line, remedy if message else "")
    return code
