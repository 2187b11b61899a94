"""Hostile robots: URDF and MJCF, what goes with them, and their meshes."""

import io
import json
import struct
import zipfile

from hostile_file import HostileFile, arm, both, text
from hostile_texts import link, pipe

CAD = "cad arm.urdf --total-mass 3 --convex-hull -o new.urdf"
MJCF = "check arm.xml --assume-limits"

BOMB = "".join(f'<!ENTITY e{k} "{f"&e{k - 1};" * 10}">' for k in range(1, 12))
BOMB = f'<!DOCTYPE {{0}} [<!ENTITY e0 "boom">{BOMB}]>'


def mesh(name: str) -> str:
    """Return a visual shape that is a mesh."""
    return f'<visual><geometry><mesh filename="{name}"/></geometry></visual>'


def box_stl() -> bytes:
    """Return a tetrahedron as binary STL."""
    points = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    body = b"".join(
        struct.pack("<12fH", 0, 0, 0, *(x for k in face for x in points[k]), 0) for face in faces
    )
    return b"\0" * 80 + struct.pack("<I", 4) + body


def zip_bomb(name: str, gigabytes: float) -> bytes:
    """Return a ZIP file of zeros."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        with archive.open(name, "w", force_zip64=True) as part:
            for _ in range(int(gigabytes * 64)):
                part.write(bytes(1 << 24))
    return packed.getvalue()


def late(name: str, make):
    """Return what writes a content that is made only then."""
    return lambda folder: text(name, make())(folder)


def gltf(accessor: dict) -> str:
    """Return a glTF file with one accessor for its positions."""
    return json.dumps(
        {
            "asset": {"version": "2.0"},
            "scene": 0,
            "scenes": [{"nodes": [0]}],
            "nodes": [{"mesh": 0}],
            "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}],
            "accessors": [{"componentType": 5126, "type": "VEC3", **accessor}],
            "bufferViews": [{"buffer": 0, "byteOffset": 0, "byteLength": 36}],
            "buffers": [{"uri": "data.bin", "byteLength": 36}],
        }
    )


def dae_copies() -> str:
    """Return a Collada file whose nodes are two copies of one another, thirty times."""
    nodes = "".join(
        f'<node id="n{k}">' + f'<instance_node url="#n{k - 1}"/>' * 2 + "</node>"
        for k in range(1, 31)
    )
    return (
        '<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">'
        f'<library_nodes><node id="n0"/>{nodes}</library_nodes><library_visual_scenes>'
        '<visual_scene id="s"><node id="m"><instance_node url="#n30"/></node></visual_scene>'
        '</library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>'
    )


def gltf_copies() -> str:
    """Return a glTF file whose nodes are two copies of one another, thirty times."""
    content = json.loads(gltf({"count": 3}))
    content["nodes"] = [{"children": [k + 1, k + 1]} for k in range(30)] + [{"mesh": 0}]
    return json.dumps(content)


def nothing(_folder) -> None:
    """Write no file beside that of the robot."""


def of_content(name: str, content: str | bytes, said: str | None = None):
    """Return a mesh of a content, what writes it, and what is said, its name if nothing else."""
    return name, text(name, content), name if said is None else said


def of_zeros(name: str, part: str, gigabytes: float, said: str):
    """Return a mesh that is an archive of zeros."""
    return name, late(name, lambda: zip_bomb(part, gigabytes)), f"{name}{said}"


OUT = "outside the folder"
LEADS_OUT = "leads out of the folder"
FACE = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
BUFFERED = gltf({"count": 3, "bufferView": 0})
PLY = (
    "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\n"
    "property float x\nproperty float y\nproperty float z\nelement face 4000000000\n"
    "property list uchar int vertex_indices\nend_header\n"
)
MESHES = {
    "pipe": ("m.stl", pipe("m.stl"), "m.stl"),
    "device": ("m.stl", link("m.stl", "/dev/zero"), "m.stl"),
    "above": ("../m.stl", late("../m.stl", box_stl), OUT),
    "root": ("/etc/passwd.stl", nothing, OUT),
    "link out": ("m.stl", both(text("../out.stl", box_stl()), link("m.stl", "../out.stl")), OUT),
    "package out": ("package://..//out.stl", text("../out.stl", box_stl()), "m|out.stl"),
    "zae of zeros": of_zeros("m.zae", "m.dae", 0.2, ": .* none of"),
    "3mf of zeros": of_zeros("m.3mf", "m.model", 0.2, ": .* none of"),
    "dae entities": of_content("m.dae", BOMB.format("COLLADA") + "<COLLADA>&e11;</COLLADA>", ""),
    "dae copies": of_content("m.dae", dae_copies()),
    "ply count": of_content("m.ply", PLY),
    "off count": of_content("m.off", "OFF\n4000000000 4000000000 0\n"),
    "stl count": of_content("m.stl", b"\0" * 80 + b"\xff" * 4 + b"\0" * 50),
    "gltf count": of_content("m.gltf", gltf({"count": 2_000_000_000})),
    "gltf copies": of_content("m.gltf", gltf_copies()),
    "gltf buffer pipe": ("m.gltf", both(text("m.gltf", BUFFERED), pipe("data.bin")), "data.bin"),
    "gltf buffer above": of_content("m.gltf", BUFFERED.replace("data.bin", "../log.bin")),
    "obj material pipe": (
        "m.obj",
        both(text("m.obj", f"mtllib m.mtl\n{FACE}"), pipe("m.mtl")),
        "m.mtl is a device",
    ),
    "obj material above": (
        "m.obj",
        both(text("m.obj", f"mtllib ../m.mtl\n{FACE}"), text("../m.mtl", "")),
        LEADS_OUT,
    ),
    "obj index": of_content("m.obj", "v 0 0 0\nf 1 999999999 99999999999\n"),
    "archive": of_zeros("m.zip", "m.stl", 0.05, ""),
}


BODY = (
    '<body name="upper"><joint name="shoulder" axis="0 1 0" range="-2 2" limited="true"/>'
    '<geom type="box" size=".2 .02 .02" mass="3"/>{0}</body>'
)


def mjcf(inside: str = "", outside: str = "", body: str = BODY) -> str:
    """Return an MJCF file with more in its body or beside its world."""
    return f'<mujoco model="arm">{outside}<worldbody>{body.format(inside)}</worldbody></mujoco>'


ASSET_STL = '<asset><mesh name="m" file="{0}"/></asset>'
GEOM = '<geom type="mesh" mesh="m"/>'
HFIELD = '<asset><hfield name="h" nrow="{0}" ncol="{0}" size="1 1 1 1"/></asset>'
FLEX = (
    '<flexcomp name="f" type="grid" count="{0} {0} {0}" spacing=".1 .1 .1" radius=".01" dim="3"/>'
)

TEXTURE = (
    '<asset><texture name="t" type="2d" builtin="flat" width="100000" '
    'height="100000" rgb1="1 1 1" rgb2="1 1 1"/></asset>'
)
REPLICAS = '<replicate count="100" offset="0 0 .1">' * 4 + '<geom size=".1"/>' + "</replicate>" * 4
X_ABOVE = text("../x.xml", "<mujoco/>")


def including(file: str) -> str:
    """Return an MJCF file that includes another."""
    return mjcf(outside=f'<include file="{file}"/>')


def beside(outside: str, write=nothing, said: str = ""):
    """Return an MJCF file with more beside its world, what writes that, and what is said."""
    return mjcf(outside=outside), write, said


MJCFS = {
    "include pipe": (including("x.xml"), pipe("x.xml"), "x.xml"),
    "include device": (including("x.xml"), link("x.xml", "/dev/zero"), "x.xml"),
    "include above": (including("../x.xml"), X_ABOVE, f"x.xml, .*{LEADS_OUT}"),
    "include absolute": (including("/etc/passwd"), nothing, "/etc/passwd"),
    "include spelled": (including("&#46;&#46;/x.xml"), X_ABOVE, LEADS_OUT),
    "include link out": (
        including("x.xml"),
        both(text("../out.xml", "<mujoco/>"), link("x.xml", "../out.xml")),
        LEADS_OUT,
    ),
    "model that includes": beside(
        '<asset><model name="m" file="part.xml"/></asset>',
        both(text("part.xml", including("../x.xml")), X_ABOVE),
        LEADS_OUT,
    ),
    "include itself": (including("arm.xml"), nothing, "arm.xml"),
    "mesh pipe": (mjcf(GEOM, ASSET_STL.format("m.stl")), pipe("m.stl"), "m.stl"),
    "mesh device": (mjcf(GEOM, ASSET_STL.format("m.stl")), link("m.stl", "/dev/zero"), "m.stl"),
    "mesh above": (
        mjcf(GEOM, ASSET_STL.format("../m.stl")),
        text("../m.stl", box_stl()),
        LEADS_OUT,
    ),
    "mesh folder above": (
        mjcf(GEOM, '<compiler meshdir=".."/>' + ASSET_STL.format("m.stl")),
        text("../m.stl", box_stl()),
        LEADS_OUT,
    ),
    "texture pipe": beside(
        '<asset><texture name="t" type="2d" file="t.png"/></asset>', pipe("t.png"), "t.png"
    ),
    "height field pipe": beside(
        '<asset><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>', pipe("h.bin"), "h.bin"
    ),
    "height field": beside(HFIELD.format(1_000_000), said="hfield.* stands for"),
    "replicate": (
        mjcf('<replicate count="100000000" offset="0 0 .1"><geom size=".1"/></replicate>'),
        nothing,
        "replicate",
    ),
    "replicate of replicates": (mjcf(REPLICAS), nothing, "stands for"),
    "flex": (mjcf(FLEX.format(10_000)), nothing, "flexcomp.* stands for"),
    "numeric": beside(
        '<custom><numeric name="n" size="2000000000"/></custom>', said="numeric.* stands for"
    ),
    "keys": beside('<size nkey="2000000000"/>', said="size.* stands for"),
    "texture": beside(TEXTURE, said="texture.* stands for"),
    "control character": (mjcf().replace("shoulder", "sh\x01ulder"), nothing, "arm.xml"),
    "control entity": (mjcf().replace("shoulder", "sh&#1;ulder"), nothing, "arm.xml"),
    "entities": (BOMB.format("mujoco") + mjcf().replace("shoulder", "&e11;"), nothing, ""),
    "deep": (mjcf("<body>" * 20_000 + "</body>" * 20_000), nothing, "arm.xml"),
    "beside pipe": beside("", pipe("arm.toml"), "arm.toml is a device"),
    "beside link out": beside(
        "", both(text("../out.toml", ""), link("arm.toml", "../out.toml")), LEADS_OUT
    ),
}


def links(count: int) -> str:
    """Return a URDF of so many links in a row."""
    inertial = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
    rows = [f'<link name="l{k}">{inertial}</link>' for k in range(count)]
    rows += [
        f'<joint name="j{k}" type="revolute"><parent link="l{k}"/><child link="l{k + 1}"/>'
        '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        for k in range(count - 1)
    ]
    return f'<robot name="r">{"".join(rows)}</robot>'


ENTITY = '<!DOCTYPE robot [<!ENTITY x SYSTEM "/etc/passwd">]><robot name="&x;"/>'


def urdf(content: str | bytes, said: str = "robot.urdf"):
    """Return what writes the URDF of a content, and what is said."""
    return text("robot.urdf", content), said


URDFS = {
    "pipe": (pipe("robot.urdf"), "is a device"),
    "device": (link("robot.urdf", "/dev/zero"), "is a device"),
    "entities": urdf(BOMB.format("robot") + '<robot name="&e11;"/>'),
    "foreign entity": urdf(ENTITY, "DOCTYPE|entit"),
    "deep": urdf("<robot>" + "<link>" * 100_000),
    "large": urdf(b"<robot>" + b" " * 40_000_000, "MB"),
    "elements": urdf("<robot>" + "<a/>" * 5_000_000 + "</robot>"),
    "long chain": urdf(links(900), "has 899 joints, at most 64"),
    "many links": urdf(links(30_000), "has 30000 links, at most 1000"),
    "beside pipe": (both(text("robot.urdf", arm()), pipe("robot.toml")), "robot.toml is a device"),
    "beside link out": (
        both(text("robot.urdf", arm()), text("../o.toml", ""), link("robot.toml", "../o.toml")),
        LEADS_OUT,
    ),
}


def _models():
    for name, (write, said) in URDFS.items():
        yield HostileFile(f"urdf {name}", "check robot.urdf", write, said)
    slow = text("robot.urdf", arm().replace('velocity="3"', 'velocity="1e-9"'))
    words = "run robot.urdf --quick --out out --workers 1"
    yield HostileFile("urdf hours to move", words, slow, "memory|velocity")
    yield HostileFile(
        "urdf links in a circle", "run twolink --quick --out a/b", link("a", "a"), "a/b"
    )
    for name, (content, write, said) in MJCFS.items():
        yield HostileFile(f"mjcf {name}", MJCF, both(text("arm.xml", content), write), said)
    for name, (file, write, said) in MESHES.items():
        write = both(text("arm.urdf", arm(mesh(file))), write)
        yield HostileFile(f"mesh {name}", CAD, write, said)
        if not name.startswith(("gltf", "archive", "3mf", "off", "ply")):
            picture = "view arm.urdf --record a.png --size 64x48"
            yield HostileFile(f"mesh {name} shown", picture, write, code=0)


MODELS = tuple(_models())
