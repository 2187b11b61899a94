"""Plugins: modules that register user-defined parts when they are imported.

A plugin is a module, or a Python file, that calls `Registry.register`. It may be named on the
command line (``--plugin``), in a configuration (``plugins``) that the user trusts, or be installed
with an entry point of the group ``robotid_sim.plugins``. Worker processes load the plugins of the
process that starts them, so that names have the same meaning in both.
"""

import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from robotid_sim.errors import PluginError, RobotIdError

ENTRY_POINT_GROUP = "robotid_sim.plugins"
"""Group of the entry points."""

MODULE_PREFIX = "robotid_plugin_"
"""Prefix of the names of modules that are made from files."""

_FRAME_PATTERN = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')

_CAUSE_TEXT = "direct cause of the following exception"

_DYNAMIC_CODE_NAME = "<dynamic-code>"
"""Placeholder for the file of code that was sent to a worker."""

_loaded: dict[str, ModuleType] = {}


def load_plugins(names: Iterable[str], folder: Path | None = None) -> None:
    """Import plugins that have not yet been imported.

    Parameters
    ----------
    names : iterable of str
        Modules, or files that end in ``.py``.
    folder : Path, optional
        Base folder of relative paths; by default the working directory.

    Raises
    ------
    PluginError
        If a plugin cannot be imported, shadows a name, or registers a class that violates the
        contract.
    """
    for name in names:
        key = _make_key(name, folder)
        if key not in _loaded:
            path = Path(key)
            try:
                is_file = path.suffix == ".py"
                _loaded[key] = _import_file(path) if is_file else importlib.import_module(name)
            except RobotIdError as error:
                raise PluginError(f"plugin {name}: {error}") from error
            except SystemExit as error:
                text = "ends the program while it is imported; remove its call of sys.exit"
                raise PluginError(f"plugin {name}: {text}") from error
            except Exception as error:  # a plugin may raise any exception during its import
                reason = " ".join(str(error).split())
                raise PluginError(f"plugin {name}: {type(error).__name__}: {reason}") from error


def require_trusted(names: Iterable[str], where: str, folder: Path | None = None) -> None:
    """Raise `PluginError` if a file names a plugin that the user has not loaded otherwise.

    Names are modules, or files that end in ``.py``, relative to the folder, by default the working
    directory; messages call the file `where`. The message names the option that trusts the plugin.
    """
    for name in names:
        if _make_key(name, folder) not in _loaded:
            raise PluginError(
                f"{where} names the plugin {name}, which is code and would run as you; if you "
                "trust it, give --trust-plugins (trust_plugins=True in Python)"
            )


def plugin_of(part: object) -> str | None:
    """Find the plugin file that defines the class of an object; None for the package itself."""
    files = {module.__name__: str(module.__file__) for module in _loaded.values()}
    return files.get(type(part).__module__)


def _make_key(name: str, folder: Path | None) -> str:
    """Name a plugin: a module, or the absolute path of a file."""
    return os.path.realpath((folder or Path.cwd()) / name) if name.endswith(".py") else name


def load_installed_plugins() -> None:
    """Import the plugins that installed packages declare by an entry point.

    Raises `PluginError` if one of them cannot be imported; the message names it.
    """
    for entry in entry_points(group=ENTRY_POINT_GROUP):
        load_plugins([entry.value])


def list_plugins() -> tuple[str, ...]:
    """List the plugins that were loaded, in the order of loading."""
    return tuple(_loaded)


def fault_of_plugin(error: BaseException) -> str | None:
    """Describe the place where a plugin raised an error; None if it was raised elsewhere.

    The innermost frame of a plugin or of this package counts, except constructors, which check
    their arguments. The traceback of a worker is text in the cause of the error; in it,
    ``<dynamic-code>`` is always the code of a plugin, because only plugins are sent to workers by
    value.
    """
    plugins = {str(module.__file__) for module in _loaded.values()}
    files, package = plugins | {_DYNAMIC_CODE_NAME}, str(Path(__file__).parent)
    for part in "".join(traceback.format_exception(error)).split(_CAUSE_TEXT):
        frames = [
            f for f in _FRAME_PATTERN.findall(part) if f[0] in files or f[0].startswith(package)
        ]
        inner = [k for k, frame in enumerate(frames) if frame[0] in files]
        if inner and [frame[2] for frame in frames[inner[-1] + 1 :]][:1] == ["__post_init__"]:
            frames = frames[: inner[-1] + 1]
        if frames and frames[-1][0] in files:
            file, line, name = frames[-1]
            file = " or ".join(sorted(plugins)) if file == _DYNAMIC_CODE_NAME else file
            text = str(error)
            if not isinstance(error, RobotIdError):
                text = " ".join(traceback.format_exception_only(error)[-1].split())
            return f"plugin {file}, line {line}, in {name}: {text}"
    return None


def _import_file(path: Path) -> ModuleType:
    """Import a file as a module whose objects are pickled by value."""
    if not path.is_file():
        raise PluginError("no such file")
    name = MODULE_PREFIX + path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise PluginError("is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    import cloudpickle  # slow import

    cloudpickle.register_pickle_by_value(module)
    return module
