"""Mesh files of a written model: copied to a folder next to it, or not copied.

A portable model has its meshes in a folder ``meshes`` beside it, under unique names, together with
the materials and textures to which they refer. An existing file is never overwritten: it is used if
it has the same content; otherwise the copy gets a number.
"""

import re
from enum import StrEnum
from itertools import count
from pathlib import Path

from robotid_sim.errors import FileFormatError
from robotid_sim.files import atomic_path
from robotid_sim.inputs import (
    MAX_MESH_SIZE,
    is_reference_allowed,
    open_file,
    package_folders,
    read_file,
    real_path,
    require_file,
    require_reference_allowed,
)
from robotid_sim.result_folder import place_of

MESH_FOLDER = "meshes"

MUJOCO_MESH_SUFFIXES = (".stl", ".obj", ".msh")
"""Formats that MuJoCo reads."""

MESH_SUFFIXES = (".stl", ".obj", ".dae", ".ply", ".off", ".gltf", ".glb")
"""Formats that are read; none is a compressed archive."""

PICTURE_SUFFIXES = (
    ".png",
    ".jpg",
    ".jpeg",
    ".tga",
    ".bmp",
    ".dds",
    ".tif",
    ".tiff",
    ".gif",
    ".webp",
)

REFERENCE_PATTERNS = {
    ".obj": re.compile(rb"^[ \t]*mtllib[ \t]+(.+?)[ \t]*\r?$", re.MULTILINE),
    ".mtl": re.compile(
        rb"^[ \t]*(?:map_\w+|bump|disp|decal|refl|norm)[ \t].*?(\S+)[ \t]*\r?$", re.MULTILINE
    ),
    ".dae": re.compile(rb"<init_from>\s*(?:<ref>)?\s*([^<]+?)\s*<"),
    ".gltf": re.compile(rb'"uri"\s*:\s*"([^"]+)"'),
}
"""Patterns of the names of other files in the text of a mesh file, by suffix."""


def resolve_mesh(filename: str, urdf: Path) -> tuple[Path, bool]:
    """Find the file of a mesh reference, which need not exist, and whether it is outside.

    ``package://name/rest`` and ``model://name/rest`` are searched for, see `find_package`; other
    references are relative to the URDF. A file is outside if neither its package nor
    `is_reference_allowed` lets the URDF name it.
    """
    folder = real_path(urdf).parent
    scheme, _, package_path = filename.partition("://")
    if scheme not in ("package", "model"):
        file = folder / filename.removeprefix("file://")
        return file, not is_reference_allowed(urdf, file)
    package, _, relative = package_path.lstrip("/").partition("/")
    package_folder = find_package(package, urdf, relative)
    file = (package_folder or folder / package) / relative
    return file, not is_reference_allowed(
        urdf, file, *([] if package_folder is None else [package_folder])
    )


def find_package(package: str, owner: Path, relative: str = "") -> Path | None:
    """Find the folder of the ROS package or model `package` that contains the file `relative`.

    It is a folder with this name above the file `owner`, in one of the folders above it, or in the
    search paths.
    """
    folder = real_path(owner).parent
    roots = [folder, *folder.parents[:-1]]
    candidates = [r for r in roots if r.name == package] + [r / package for r in roots]
    candidates += [r if r.name == package else r / package for r in package_folders()]
    existing = (c for c in candidates if (c / relative).is_file() or (not relative and c.is_dir()))
    return next(existing, None) if package not in ("", ".", "..") else None


def is_part_of_model(path: Path) -> bool:
    """Tell whether a file is a mesh, material or picture."""
    suffixes = (*MESH_SUFFIXES, *MUJOCO_MESH_SUFFIXES, *PICTURE_SUFFIXES, ".mtl", ".bin")
    return path.suffix.lower() in suffixes and path.is_file()


def is_binary_stl(path: Path) -> bool:
    """Tell whether a file is a binary STL file of exactly the length that it states."""
    if path.suffix.lower() != ".stl" or not path.is_file():
        return False
    with open_file(path, MAX_MESH_SIZE) as file:
        count = int.from_bytes(file.read(84)[80:], "little")
    return count > 0 and path.stat().st_size == 84 + 50 * count


def _resolve_name(path: Path, name: bytes) -> Path:
    """Find the file that is named in a mesh or material file."""
    text = name.decode("utf-8", errors="replace").removeprefix("file://")
    return path.parent / text.replace("\\", "/").replace("\0", "")


def require_mesh_file(path: Path) -> None:
    """Raise `FileFormatError` if a mesh is not a regular file, or names a file outside.

    Engines follow the names in an OBJ file by themselves.
    """
    require_file(path, MAX_MESH_SIZE)
    queue, visited = [path], {path}
    while queue:
        file = queue.pop()
        if file.suffix.lower() not in (".obj", ".mtl") or not file.is_file():
            continue
        names = REFERENCE_PATTERNS[file.suffix.lower()].findall(read_file(file, MAX_MESH_SIZE))
        for other in {_resolve_name(file, name) for name in names} - visited:
            require_reference_allowed(path, other, f"{other}, named in mesh {path},", MAX_MESH_SIZE)
            queue.append(other)
            visited.add(other)


class MeshMode(StrEnum):
    """Way in which a written model names its meshes."""

    COPY = "copy"
    """Copied, with names relative to the model: the folder can be moved."""
    KEEP = "keep"
    """Not copied: named as in the source, absolute where a relative name would break."""
    PACKAGE = "package"
    """Copied, named by ``package://`` and the name of the folder, as ROS finds them."""


class MeshFolder:
    """The folder of meshes beside a model file; nothing is written before `save`.

    `model` is the file to write; `source` is the file from which the model was read.
    """

    def __init__(self, model: Path, source: Path | None = None) -> None:
        self.folder = real_path(model).parent / MESH_FOLDER
        self._roots = [] if source is None else [source.absolute().parent]
        self.notes: list[str] = []
        """Files that could not be copied, one sentence each."""
        self._names: dict[Path, str] = {}
        self._content: dict[str, tuple[str, bytes]] = {}

    def add(self, source: Path) -> str:
        """Add a file and the files that it refers to; return its name in the folder.

        Raises `FileFormatError` if it cannot be read.
        """
        source = real_path(source)
        if source not in self._names:
            try:
                content = read_file(source, MAX_MESH_SIZE)
            except OSError as error:
                raise FileFormatError(f"cannot read {source}: {error.strerror}") from error
            self._names[source] = source.name  # ends the recursion of a file that refers to itself
            self._names[source] = self.place(source.name, self._rename_references(source, content))
        return self._names[source]

    def place(self, name: str, content: bytes) -> str:
        """Return the name under which `content` will be saved: `name`, with a number if in use."""
        path = Path(name)
        for k in count(1):
            name = path.name if k == 1 else f"{path.stem}-{k}{path.suffix}"
            key = name.casefold()  # the folder may be moved to a machine that ignores case
            if key not in self._content:
                target = self.folder / name
                self._content[key] = (
                    name,
                    read_file(target, MAX_MESH_SIZE) if target.is_file() else content,
                )
            if self._content[key][1] == content:
                break
        return name

    def add_note(self, name: str, why: str = "is missing, its name is kept") -> None:
        """Add a note, once, that a mesh is not in the folder."""
        note = f"mesh {name} {why}"
        if note not in self.notes:
            self.notes.append(note)

    def save(self) -> None:
        """Write the files that do not exist yet.

        Raises `FileFormatError` if the folder cannot be written.
        """
        new_files = [(n, c) for n, c in self._content.values() if not (self.folder / n).is_file()]
        try:
            if new_files:
                self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise FileFormatError(f"cannot write {self.folder}: {error.strerror}") from error
        for name, content in new_files:
            with atomic_path(self.folder / name) as temporary:
                temporary.write_bytes(content)

    @property
    def package(self) -> str:
        """ROS name of the folder: in its package, or with the model's folder as package."""
        roots = (place_of(self.folder.parent), *self.folder.parents[1:])
        root = next((folder for folder in roots if (folder / "package.xml").is_file()), roots[0])
        return f"package://{root.name}/{(roots[0] / MESH_FOLDER).relative_to(root).as_posix()}"

    @property
    def has_files(self) -> bool:
        """Whether the folder has a file."""
        return bool(self._content)

    def _rename_references(self, source: Path, content: bytes) -> bytes:
        """Replace the file names in the content of a mesh file by the names of their copies."""
        pattern = REFERENCE_PATTERNS.get(source.suffix.lower())
        if pattern is None:
            return content

        def rename(match: re.Match[bytes]) -> bytes:
            other = _resolve_name(source, match[1])
            if not (is_reference_allowed(source, other, *self._roots) and is_part_of_model(other)):
                return match[0]
            start, end = (at - match.start() for at in match.span(1))
            return match[0][:start] + self.add(other).encode() + match[0][end:]

        return pattern.sub(rename, content)
