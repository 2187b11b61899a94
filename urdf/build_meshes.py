"""Build the meshes of the catalog from parametric solids.

Run as ``python urdf/build_meshes.py [NAME ...]``; needs the extra ``cad``. Every link becomes one
STL file a color (``link_2.stl`` holds the color named first) and one a convex collision piece
(``link_2_hull_1.stl``). The same script gives the same bytes.
"""

import importlib
import sys
from pathlib import Path

sys.dont_write_bytecode = True  # a cache beside the robots would be taken for one of their files
sys.path.insert(0, str(Path(__file__).parent))

ROBOTS = ("irb140", "irb120", "rs010n", "rocr6", "twolink")


def build(name: str, root: Path) -> int:
    """Write the meshes of a robot to ``root/name/meshes``; return their size in bytes."""
    solids, robot = importlib.import_module("solids"), importlib.import_module(f"shapes_{name}")
    solids.ROUND = robot.ROUND
    folder = root / name / "meshes"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.stl"):
        old.unlink()
    for link, (parts, pieces) in robot.shapes().items():
        for k, (color, solid) in enumerate(parts.items()):
            solids.write_stl(solid, folder / (f"{link}_{color}.stl" if k else f"{link}.stl"))
        for k, piece in enumerate(pieces):
            solids.write_stl(solids.convex(piece), folder / f"{link}_hull_{k + 1}.stl")
    return sum(file.stat().st_size for file in folder.glob("*.stl"))


def main(arguments: list[str]) -> None:
    """Build the named robots, or all."""
    options = [a for a in arguments if a.startswith("--root=")]
    root = Path(options[-1].partition("=")[2]) if options else Path(__file__).parent
    names = [a for a in arguments if not a.startswith("--")] or ROBOTS
    for name in names:
        sys.stdout.write(f"{name}: {build(name, root) / 1000:.0f} kB\n")


if __name__ == "__main__":
    main(sys.argv[1:])
