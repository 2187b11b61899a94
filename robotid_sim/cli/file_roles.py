"""Files that a command reads and writes: no output may be an input, and results are of one run."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from robotid_sim.campaign.shipped_plans import list_shipped_plans
from robotid_sim.errors import OptionError
from robotid_sim.files import require_distinct, require_output
from robotid_sim.inputs import require_file
from robotid_sim.model.catalog_files import catalog
from robotid_sim.result_folder import is_replaced, owner_of, require_of_run

OUTPUT_PARAMETERS = (
    "out",
    "urdf",
    "parameters",
    "report",
    "record",
    "csv",
    "write_map",
    "posterior_samples",
    "junit",
)
"""Parameters of commands that name files or folders to write; every other path is read."""


def require_safe_files(
    values: Mapping[str, Any], read: Iterable[Path] = (), written: Iterable[Path] = ()
) -> None:
    """Raise if a command would overwrite its input, or mix the results of runs.

    `values` are the parameters of the command, `read` and `written` further files. Raises
    `OptionError` if an output is an input, is written twice, or is of a run, or if a run replaces
    an input; `FileFormatError` if an input or output is a device or a pipe, or an input in a result
    folder was changed after its run.
    """
    inputs = [*_list_inputs(values), *read]
    named = [
        (v if isinstance(v, list | tuple) else (v,)) for v in map(values.get, OUTPUT_PARAMETERS)
    ]
    outputs = [*(path for v in named for path in v if isinstance(path, Path)), *written]
    for path in inputs:
        require_file(path)
    require_distinct(outputs, inputs)
    for path in outputs:
        require_output(path, folder=True)
        for source in inputs:
            if is_replaced(source, path):
                raise OptionError(
                    f"{source} is read by this command, whose results replace those in {path}; "
                    "choose another --out"
                )
        if run := owner_of(path):
            raise OptionError(
                f"cannot write {path}: it belongs to the {run.kind} of {run.subject} in its "
                "folder; give the output another name"
            )
    for path in inputs:
        require_of_run(path)


def _list_inputs(values: Mapping[str, Any]) -> Iterator[Path]:
    for name, value in values.items():
        for each in value if isinstance(value, list | tuple) else (value,):
            if name in OUTPUT_PARAMETERS:
                continue
            if name == "robot" and isinstance(each, str):
                model = catalog().get(each, Path(each))
                if model.exists() and not model.is_dir():  # else no robot has this name
                    yield from (model, model.parent / "robot.toml")
            elif isinstance(each, Path):
                plans = list_shipped_plans() if name == "where" else {}
                yield plans.get(str(each), each)
            elif isinstance(each, str) and name in ("hold_out", "plugin", "task"):
                yield Path(each.removeprefix("csv:"))
