"""What an MJCF file names and how much it stands for, looked at before MuJoCo reads it.

MuJoCo reads every file that is named, wherever it lies, and makes as many copies, cells and pixels
as are asked for.
"""

import math
import os
import re
from itertools import product
from pathlib import Path

from lxml import etree

from robotid_sim.errors import UrdfError
from robotid_sim.inputs import MAX_MESH_SIZE, MAX_XML_SIZE, read_file, require_nameable

MAX_FILES = 100
"""Files that an MJCF file may be made of."""

MAX_PARTS = 1e7
"""Cells, pixels or copies that an element may stand for."""

MAX_ELEMENTS = 1e5
"""Elements of all files, counted as often as they are replicated."""

COUNTED = ("count", "nrow", "ncol", "width", "height", "params", "nsample")
"""Attributes whose numbers multiply."""

FOLDERS = ("assetdir", "meshdir", "texturedir")
"""Attributes with folders of the files that others name."""

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_DECLARATION = re.compile(r"^\s*<\?xml.*?\?>", re.DOTALL)


def mjcf_parts(file: Path) -> dict[Path, bytes]:
    """Read an MJCF file and those that it includes, the file itself first.

    Raises `UrdfError` if one is no well-formed XML, or stands for too much, `FileFormatError` if a
    file that one names is no regular one, is too large, or is not below the folder.
    """
    parts: dict[Path, bytes] = {}
    roots: dict[Path, etree._Element] = {}
    waiting, elements = [(file, 1.0)], 0.0
    while waiting:
        path, copies = waiting.pop()
        if path in parts:  # MuJoCo refuses what is included twice
            continue
        if len(parts) == MAX_FILES:
            raise UrdfError(f"{file}: is made of more than {MAX_FILES} files; simplify it")
        parts[path] = read_file(path, MAX_XML_SIZE)
        roots[path] = _parse(parts[path], path)
        for element in roots[path].iter("{*}*"):
            count = copies * _count(element, path)
            elements += count
            if elements > MAX_ELEMENTS:
                raise UrdfError(f"{path} stands for over {MAX_ELEMENTS:g} elements; simplify it")
            if element.tag in ("include", "model") and element.get("file"):
                places = _places([element.get("file", "")], {file.parent, path.parent}, {""})
                waiting += [(_required(file, place, element, path), count) for place in places]
    folders = {
        c.get(key, "") for r in roots.values() for c in r.iter("compiler") for key in FOLDERS
    }
    for path, root in roots.items():
        for element in root.iter("{*}*"):
            for key, name in element.attrib.items():
                named = [str(name)] if str(key).startswith("file") else []
                for place in _places(named, {file.parent, path.parent}, {"", *folders}):
                    _required(file, place, element, path)
    return parts


def _required(file: Path, place: Path, element: etree._Element, path: Path) -> Path:
    """Give back what an element names; raise unless it may be read."""
    what = f"{place}, the <{element.tag}> in {path}:{element.sourceline},"
    require_nameable(file, place, what, MAX_MESH_SIZE)
    return place


def _places(names: list[str], bases: set[Path], folders: set[str]) -> list[Path]:
    """Find files of these names, whichever rule of MuJoCo's applies."""
    spelled = {each for name in names for each in (name, Path(name).name)}  # or without folders
    places = {base / folder / each for base, folder, each in product(bases, folders, spelled)}
    return sorted(place for place in places if os.path.lexists(place) and not place.is_dir())


def _parse(content: bytes, path: Path) -> etree._Element:
    """Parse a file as MuJoCo does: UTF-8 whatever it says, without comments."""
    text = _DECLARATION.sub("", _COMMENT.sub("", content.decode("utf-8", errors="replace")))
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        root = etree.fromstring(text, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise UrdfError(f"{path}: not well-formed XML: {' '.join(str(error).split())}") from error
    if root.getroottree().docinfo.doctype:
        raise UrdfError(f"{path}: a document type (entities) is not accepted; remove <!DOCTYPE>")
    return root


def _count(element: etree._Element, path: Path) -> float:
    """Count the copies of an element; raise if it has too many parts."""
    keys = element.attrib if element.tag == "size" else COUNTED
    keys = (*keys, "size") if element.tag == "numeric" else keys
    values = [_number(word) for key in keys for word in element.get(key, "").split()]
    parts = math.prod(max(value, 1.0) for value in values)
    if parts > MAX_PARTS:
        raise UrdfError(
            f"{path}:{element.sourceline}: <{element.tag}> stands for {parts:.3g} parts, at most "
            f"{MAX_PARTS:g} are made; simplify it"
        )
    copies = (_number(above.get("count", "1")) for above in element.iterancestors("replicate"))
    return math.prod(max(value, 1.0) for value in copies)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # MuJoCo says so
        return 1.0
