"""Expanding xacro, the macro language of URDF, by the package that defines it.

Expressions are evaluated by xacro, with only its own functions of Python; ``$(eval)``, which has
all functions, is refused. Files that are included or loaded must be allowed for the model.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

from robotid_sim.errors import UrdfError, require_extra
from robotid_sim.inputs import require_reference_allowed
from robotid_sim.model.mesh_files import find_package

XACRO_SUFFIX = ".xacro"


def expand_xacro(path: Path, arguments: Mapping[str, str]) -> bytes:
    """Expand a xacro file with these arguments to a URDF.

    Raises `MissingExtraError` if xacro is not installed, and `UrdfError` if the file cannot be
    expanded.
    """
    with require_extra(f"expanding {path} needs xacro", "xacro"):
        import xacro
        from xacro import substitution_args

    def find(package: str) -> str:
        folder = find_package(package, path)
        if folder is None:
            raise UrdfError(f"no package '{package}': name a folder above it in ROS_PACKAGE_PATH")
        return str(folder)

    def refuse(text: str, _context: object) -> NoReturn:
        raise UrdfError(f"'{text}' runs Python: write it as ${{...}}, or expand the file yourself")

    def guard(read: Any) -> Any:
        def wrapper(*arguments: Any) -> Any:
            result = read(*arguments)
            for name in (*arguments, result):
                if isinstance(name, str) and Path(name).is_file():
                    if not any(find_package(f.name, path) == f for f in Path(name).parents):
                        require_reference_allowed(path, Path(name), f"{name}, named in {path},")
            return result

        return wrapper

    changes = {
        (substitution_args, "_eval_find"): find,
        (substitution_args, "_eval"): refuse,
        (xacro, "parse"): guard(xacro.parse),  # guards included files
        (xacro, "abs_filename_spec"): guard(xacro.abs_filename_spec),  # guards loaded files
    }
    try:
        with _replace_attributes(changes):
            document = xacro.process_file(str(path), mappings=dict(arguments))
        return bytes(document.toxml(encoding="utf-8"))
    except Exception as error:  # errors of many classes, from expressions in the file
        raise UrdfError(f"{path}: xacro: {' '.join(str(error).split())}") from error


@contextmanager
def _replace_attributes(changes: Mapping[tuple[Any, str], Any]) -> Iterator[None]:
    """Replace attributes of modules within a block."""
    before = {place: getattr(*place) for place in changes}
    try:
        for (module, name), value in changes.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in before.items():
            setattr(module, name, value)
