"""Hostile robots: URDF and MJCF, what goes with them, and their meshes."""

import io
import json
import struct
import zipfile

from hostile_file import HostileFile, arm, both, text
from hostile_texts import link, pipe

CHECK = "check arm.urdf"
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


MESHES = {
    "pipe": ("m.stl", pipe("m.stl"), "m.stl"),
    "device": ("m.stl", link("m.stl", "/dev/zero"), "m.stl"),
    "above": ("../m.stl", lambda f: text("../m.stl", box_stl())(f), "not below the folder"),
    "root": ("/etc/passwd.stl", lambda _: None, "not below the folder"),
    "link out": (
        "m.stl",
        both(text("../out.stl", box_stl()), link("m.stl", "../out.stl")),
        "not below the folder",
    ),
    "package out": ("package://..//out.stl", text("../out.stl", box_stl()), "m|out.stl"),
    "zae of zeros": ("m.zae", late("m.zae", lambda: zip_bomb("m.dae", 0.2)), "m.zae: .* none of"),
    "3mf of zeros": ("m.3mf", late("m.3mf", lambda: zip_bomb("m.model", 0.2)), "m.3mf: .* none of"),
    "dae entities": (
        "m.dae",
        text("m.dae", BOMB.format("COLLADA") + "<COLLADA>&e11;</COLLADA>"),
        "",
    ),
    "dae copies": ("m.dae", text("m.dae", dae_copies()), "m.dae"),
    "ply count": (
        "m.ply",
        text(
            "m.ply",
            "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\n"
            "property float x\nproperty float y\nproperty float z\nelement face 4000000000\n"
            "property list uchar int vertex_indices\nend_header\n",
        ),
        "m.ply",
    ),
    "off count": ("m.off", text("m.off", "OFF\n4000000000 4000000000 0\n"), "m.off"),
    "stl count": ("m.stl", text("m.stl", b"\0" * 80 + b"\xff" * 4 + b"\0" * 50), "m.stl"),
    "gltf count": ("m.gltf", text("m.gltf", gltf({"count": 2_000_000_000})), "m.gltf"),
    "gltf copies": ("m.gltf", text("m.gltf", gltf_copies()), "m.gltf"),
    "gltf buffer pipe": (
        "m.gltf",
        both(text("m.gltf", gltf({"count": 3, "bufferView": 0})), pipe("data.bin")),
        "data.bin",
    ),
    "gltf buffer above": (
        "m.gltf",
        text("m.gltf", gltf({"count": 3, "bufferView": 0}).replace("data.bin", "../log.bin")),
        "m.gltf",
    ),
    "obj material pipe": (
        "m.obj",
        both(text("m.obj", "mtllib m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"), pipe("m.mtl")),
        "m.mtl is a device",
    ),
    "obj material above": (
        "m.obj",
        both(
            text("m.obj", "mtllib ../m.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"),
            text("../m.mtl", ""),
        ),
        "leads out of the folder",
    ),
    "obj index": ("m.obj", text("m.obj", "v 0 0 0\nf 1 999999999 99999999999\n"), "m.obj"),
    "archive": ("m.zip", late("m.zip", lambda: zip_bomb("m.stl", 0.05)), "m.zip"),
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

MJCFS = {
    "include pipe": (mjcf(outside='<include file="x.xml"/>'), pipe("x.xml"), "x.xml"),
    "include device": (
        mjcf(outside='<include file="x.xml"/>'),
        link("x.xml", "/dev/zero"),
        "x.xml",
    ),
    "include above": (
        mjcf(outside='<include file="../x.xml"/>'),
        text("../x.xml", "<mujoco/>"),
        "x.xml, .*leads out of the folder",
    ),
    "include absolute": (
        mjcf(outside='<include file="/etc/passwd"/>'),
        lambda _: None,
        "/etc/passwd",
    ),
    "include spelled": (
        mjcf(outside='<include file="&#46;&#46;/x.xml"/>'),
        text("../x.xml", "<mujoco/>"),
        "leads out of the folder",
    ),
    "include link out": (
        mjcf(outside='<include file="x.xml"/>'),
        both(text("../out.xml", "<mujoco/>"), link("x.xml", "../out.xml")),
        "leads out of the folder",
    ),
    "model that includes": (
        mjcf(outside='<asset><model name="m" file="part.xml"/></asset>'),
        both(
            text("part.xml", mjcf(outside='<include file="../x.xml"/>')),
            text("../x.xml", "<mujoco/>"),
        ),
        "leads out of the folder",
    ),
    "include itself": (mjcf(outside='<include file="arm.xml"/>'), lambda _: None, "arm.xml"),
    "mesh pipe": (mjcf(GEOM, ASSET_STL.format("m.stl")), pipe("m.stl"), "m.stl"),
    "mesh device": (mjcf(GEOM, ASSET_STL.format("m.stl")), link("m.stl", "/dev/zero"), "m.stl"),
    "mesh above": (
        mjcf(GEOM, ASSET_STL.format("../m.stl")),
        text("../m.stl", box_stl()),
        "leads out of the folder",
    ),
    "mesh folder above": (
        mjcf(GEOM, '<compiler meshdir=".."/>' + ASSET_STL.format("m.stl")),
        text("../m.stl", box_stl()),
        "leads out of the folder",
    ),
    "texture pipe": (
        mjcf(outside='<asset><texture name="t" type="2d" file="t.png"/></asset>'),
        pipe("t.png"),
        "t.png",
    ),
    "height field pipe": (
        mjcf(outside='<asset><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>'),
        pipe("h.bin"),
        "h.bin",
    ),
    "height field": (mjcf(outside=HFIELD.format(1_000_000)), lambda _: None, "hfield.* stands for"),
    "replicate": (
        mjcf('<replicate count="100000000" offset="0 0 .1"><geom size=".1"/></replicate>'),
        lambda _: None,
        "replicate",
    ),
    "replicate of replicates": (
        mjcf(
            '<replicate count="100" offset="0 0 .1">' * 4 + '<geom size=".1"/>' + "</replicate>" * 4
        ),
        lambda _: None,
        "stands for",
    ),
    "flex": (mjcf(FLEX.format(10_000)), lambda _: None, "flexcomp.* stands for"),
    "numeric": (
        mjcf(outside='<custom><numeric name="n" size="2000000000"/></custom>'),
        lambda _: None,
        "numeric.* stands for",
    ),
    "keys": (mjcf(outside='<size nkey="2000000000"/>'), lambda _: None, "size.* stands for"),
    "texture": (
        mjcf(
            outside='<asset><texture name="t" type="2d" builtin="flat" width="100000" '
            'height="100000" rgb1="1 1 1" rgb2="1 1 1"/></asset>'
        ),
        lambda _: None,
        "texture.* stands for",
    ),
    "control character": (mjcf().replace("shoulder", "sh\x01ulder"), lambda _: None, "arm.xml"),
    "control entity": (mjcf().replace("shoulder", "sh&#1;ulder"), lambda _: None, "arm.xml"),
    "entities": (BOMB.format("mujoco") + mjcf().replace("shoulder", "&e11;"), lambda _: None, ""),
    "deep": (mjcf(BODY * 0 + "<body>" * 20_000 + "</body>" * 20_000), lambda _: None, "arm.xml"),
    "beside pipe": (mjcf(), pipe("arm.toml"), "arm.toml is a device"),
    "beside link out": (
        mjcf(),
        both(text("../out.toml", ""), link("arm.toml", "../out.toml")),
        "leads out of the folder",
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

URDFS = {
    "pipe": (pipe("robot.urdf"), "is a device"),
    "device": (link("robot.urdf", "/dev/zero"), "is a device"),
    "entities": (text("robot.urdf", BOMB.format("robot") + '<robot name="&e11;"/>'), "robot.urdf"),
    "foreign entity": (text("robot.urdf", ENTITY), "DOCTYPE|entit"),
    "deep": (text("robot.urdf", "<robot>" + "<link>" * 100_000), "robot.urdf"),
    "large": (text("robot.urdf", b"<robot>" + b" " * 40_000_000), "MB"),
    "elements": (text("robot.urdf", "<robot>" + "<a/>" * 5_000_000 + "</robot>"), "robot.urdf"),
    "long chain": (text("robot.urdf", links(900)), "has 899 joints, at most 64"),
    "many links": (text("robot.urdf", links(30_000)), "has 30000 links, at most 1000"),
    "beside pipe": (both(text("robot.urdf", arm()), pipe("robot.toml")), "robot.toml is a device"),
    "beside link out": (
        both(text("robot.urdf", arm()), text("../o.toml", ""), link("robot.toml", "../o.toml")),
        "leads out of the folder",
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
