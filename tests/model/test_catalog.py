"""The robots of the package, where their meshes lead, and the sets that papers published."""

import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
import trimesh
from engine_oracle import engine_torque
from robots import SCRIPTS, standard_dh, states, urdf_path

from robotid_sim.dynamics.base_parameters import base_parameters, light_joints
from robotid_sim.dynamics.dynamics import mass_matrix, rigid_body_torque
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import InconsistentInertiaError, UnknownNameError
from robotid_sim.kinematics.forward import link_poses, tip_pose
from robotid_sim.model import inertia, parameters
from robotid_sim.model.cad import link_solid, vertices
from robotid_sim.model.catalog import (
    list_published_sets,
    load_published_parameters,
    load_published_print,
    load_robot,
    make_published_links,
    make_published_plant,
)
from robotid_sim.model.catalog_files import catalog, catalog_folder, describe_catalog, find_urdf
from robotid_sim.model.diagnosis import diagnose
from robotid_sim.model.export import write_urdf
from robotid_sim.model.mesh_files import resolve_mesh
from robotid_sim.model.robot import Robot
from robotid_sim.model.settings import STATUSES, read_settings
from robotid_sim.model.side_car import list_fixed_links
from robotid_sim.model.solid import read_mesh


def test_every_catalog_robot_is_consistent_and_described() -> None:
    rows = {row["name"]: row for row in describe_catalog()}
    assert set(rows) == set(catalog())
    assert "irb140" in rows
    for name, path in catalog().items():
        assert load_robot(name).inconsistencies() == [None] * load_robot(name).dof
        assert rows[name]["summary"]
        assert rows[name]["source"]
        for text in read_settings(path).provenance.values():
            assert text.partition(":")[0] in STATUSES


def test_name_and_path_find_the_same_file() -> None:
    by_name = find_urdf("irb140")
    assert find_urdf(by_name) == by_name
    assert find_urdf(str(by_name)) == by_name


def test_unknown_robot_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError) as caught:
        find_urdf("irb141")
    message = str(caught.value)
    assert "no robot 'irb141'" in message
    for name in catalog():
        assert name in message
    assert "\n" not in message


def test_package_reference_is_found_in_the_folders_above(tmp_path: Path) -> None:
    mesh = tmp_path / "my_robot" / "meshes" / "arm.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    urdf = tmp_path / "my_robot" / "urdf" / "arm.urdf"
    assert resolve_mesh("package://my_robot/meshes/arm.stl", urdf) == (mesh, False)
    beside = tmp_path / "other" / "arm.urdf"
    assert resolve_mesh("package://my_robot/meshes/arm.stl", beside) == (mesh, False)


def test_package_reference_is_found_in_the_ros_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = tmp_path / "ros" / "my_robot" / "arm.stl"
    mesh.parent.mkdir(parents=True)
    mesh.touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'ros'}")
    urdf = tmp_path / "elsewhere" / "arm.urdf"
    assert resolve_mesh("package://my_robot/arm.stl", urdf) == (mesh, False)


def test_relative_and_file_references(tmp_path: Path) -> None:
    urdf = tmp_path / "arm.urdf"
    assert resolve_mesh("meshes/arm.stl", urdf) == (tmp_path / "meshes" / "arm.stl", False)
    inside = tmp_path / "arm.stl"
    assert resolve_mesh(inside.as_uri(), urdf) == (inside, False)
    assert resolve_mesh("file:///data/arm.stl", urdf) == (Path("/data/arm.stl"), True)


@pytest.mark.parametrize(
    "name",
    ["../meshes/arm.stl", "out.stl", "package://robots/../meshes/arm.stl", "package://../arm.stl"],
)
def test_what_leads_out_of_the_folder_is_outside_unless_a_package_or_the_user_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    urdf = tmp_path / "toy" / "robots" / "arm.urdf"
    for folder in (urdf.parent, tmp_path / "toy" / "meshes"):
        folder.mkdir(parents=True)
    (tmp_path / "toy" / "meshes" / "arm.stl").touch()
    (tmp_path / "toy" / "arm.stl").touch()
    (urdf.parent / "out.stl").symlink_to(tmp_path / "toy" / "arm.stl")
    assert resolve_mesh(name, urdf)[1]
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    assert not resolve_mesh(name, urdf)[1]
    monkeypatch.delenv("ROS_PACKAGE_PATH")
    (tmp_path / "toy" / "package.xml").touch()
    assert not resolve_mesh(name, urdf)[1]


@pytest.mark.parametrize("name", ["panda", "ur5", "iiwa"])
def test_meshes_of_installed_robots_are_found(name: str) -> None:
    robot = Robot.from_urdf(urdf_path(name))
    meshes = [s.mesh for link in robot.links for s in link.shapes if s.mesh is not None]
    assert meshes
    assert all(mesh.is_file() for mesh in meshes)


ARMS = ("irb140", "irb120", "rs010n", "rocr6")
ROBOTS = (*ARMS, "twolink")
CAD_DIGITS = 1e-5
"""Relative: the URDFs round mass properties from meshes to seven digits."""


@pytest.fixture(scope="module", params=ROBOTS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def fixed_shapes(robot: Robot) -> dict[str, tuple]:
    return {name: shapes for name, _, shapes in list_fixed_links(robot)}


def test_kernels_engine_and_pinocchio_agree_on_the_torques(name, pinocchio_model) -> None:
    robot = load_robot(name)
    batch = states(robot)
    ours = rigid_body_torque(robot, *batch)
    model = pinocchio_model(robot)
    data = model.createData()
    theirs = np.array([pin.rnea(model, data, *state).copy() for state in batch.swapaxes(0, 1)])
    with Plant(robot) as plant:
        engine = np.array([engine_torque(plant, *state) for state in batch.swapaxes(0, 1)])
    largest = np.abs(ours).max()
    assert np.abs(theirs - ours).max() <= 1e-8 * largest
    assert np.abs(engine - ours).max() <= 1e-8 * largest


@pytest.mark.parametrize("arm", ARMS)
def test_six_axes_have_36_inertial_base_parameters_and_three_have_15(arm: str) -> None:
    assert base_parameters(load_robot(arm)).inertial_rank == 36
    assert base_parameters(load_robot(arm, tip="link_3")).inertial_rank == 15


@pytest.mark.parametrize(
    ("arm", "position", "normal"),
    [
        ("irb140", (0.515, 0.0, 0.712), (1, 0, 0)),
        ("irb120", (0.374, 0.0, 0.630), (1, 0, 0)),
        ("rocr6", (0.0, -0.423, 0.725), (0, -1, 0)),
        ("rs010n", (0.35 + 0.7 + 0.085, 0.0, 0.43 + 1.035), (1, 0, 0)),
        ("twolink", (2.0, 0.0, 2.2), (0, 0, 1)),
    ],
)
def test_home_pose(arm: str, position, normal) -> None:
    robot = load_robot(arm)
    np.testing.assert_array_equal(robot.home, np.zeros(robot.dof))
    T = tip_pose(robot, robot.home)
    np.testing.assert_allclose(T[:3, 3], position, atol=1e-9)
    np.testing.assert_allclose(T[:3, 2], normal, atol=1e-9)


def modified_dh(a: float, alpha: float, d: float, theta: float) -> np.ndarray:
    """Return Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
    return standard_dh(a, alpha, 0.0, 0.0) @ standard_dh(0.0, 0.0, d, theta)


QUARTER = np.pi / 2
TABLES = {
    "irb120": (
        standard_dh,
        [
            (0.0, -QUARTER, 0.29, 0.0),
            (0.27, 0.0, 0.0, -QUARTER),
            (0.07, -QUARTER, 0.0, 0.0),
            (0.0, QUARTER, 0.302, 0.0),
            (0.0, -QUARTER, 0.0, 0.0),
            (0.0, 0.0, 0.072, 0.0),
        ],
    ),
    "rocr6": (
        modified_dh,
        [
            (0.0, 0.0, 0.126, 0.0),
            (0.0, QUARTER, 0.216, -QUARTER),
            (-0.257, 0.0, 0.0, 0.0),
            (-0.215, 0.0, 0.103, -QUARTER),
            (0.0, QUARTER, 0.127, 0.0),
            (0.0, -QUARTER, 0.104, 0.0),
        ],
    ),
}


@pytest.mark.parametrize("arm", TABLES)
def test_kinematics_are_those_of_the_papers_table(arm: str) -> None:
    robot = load_robot(arm)
    step, table = TABLES[arm]
    for q in states(robot, 20)[0]:
        T = np.eye(4)
        for (a, alpha, d, offset), angle in zip(table, q, strict=True):
            T = T @ step(a, alpha, d, angle + offset)
        np.testing.assert_allclose(tip_pose(robot, q), T, atol=1e-12)


FIRST_THREE = {
    "irb140": [
        (0.07, -QUARTER, 0.352, 0.0),
        (-0.36, 0.0, 0.0, QUARTER),
        (0.0, -QUARTER, 0.0, np.pi),
    ],
    "irb120": TABLES["irb120"][1][:3],
    "rs010n": [(0.35, QUARTER, 0.43, 0.0), (1.035, 0.0, 0.0, QUARTER), (0.0, QUARTER, 0.0, 0.0)],
    "rocr6": TABLES["rocr6"][1][:3],
}
"""a, alpha, d, offset. The RS010N's base is at its foot here, at the shoulder in the paper; the
forearm of the IRB 140 is folded back at zero in the paper, half a turn from here."""


@pytest.mark.parametrize("arm", ARMS)
def test_published_parameters_are_given_in_the_frames_of_the_papers_table(arm: str) -> None:
    robot, frames = load_robot(arm), load_published_parameters(arm).frames
    step = modified_dh if arm == "rocr6" else standard_dh
    for q in states(robot, 20)[0]:
        T = np.eye(4)
        for k, ((a, alpha, d, offset), frame) in enumerate(
            zip(FIRST_THREE[arm], frames, strict=True)
        ):
            T = T @ step(a, alpha, d, q[k] + offset)
            np.testing.assert_allclose(link_poses(robot, q)[k] @ frame, T, atol=1e-12)


def test_every_number_has_a_provenance(name) -> None:
    settings = read_settings(find_urdf(name))
    robot = load_robot(name)
    wanted = {"frames", "flange.origin", "gravity", "visuals", "collisions"}
    for link in ("base_link", *(link.name for link in robot.links)):
        wanted |= {f"{link}.{key}" for key in ("mass", "com", "inertia")}
    for joint in robot.joint_names:
        wanted |= {f"{joint}.{key}" for key in ("origin", "acceleration", "friction", "Ia")}
        wanted |= {f"{joint}.limit.{key}" for key in ("position", "velocity", "effort")}
    assert set(settings.provenance) == wanted
    assert all(len(text.partition(": ")[2]) > 3 for text in settings.provenance.values())
    assert "doi:" in settings.source


def test_nothing_but_the_chain_is_assumed_at_loading(name) -> None:
    robot = load_robot(name)
    assert robot.assumptions == (f"chain of {robot.dof} joint(s) from 'base_link' to 'tool0'",)


def test_masses_come_to_what_the_provenance_says() -> None:
    for arm, total in (("irb140", 98.0), ("irb120", 25.0), ("rs010n", 150.0)):
        links = load_robot(arm).document.links.values()
        assert sum(link.phi[0] for link in links) == pytest.approx(total, abs=0.05)


def test_links_from_cad_have_the_inertia_of_their_meshes(name) -> None:
    robot = load_robot(name)
    text = read_settings(find_urdf(name)).provenance
    shapes = fixed_shapes(robot) | {link.name: link.shapes for link in robot.links}
    links = [link for link in shapes if "from its meshes" in text.get(f"{link}.inertia", "")]
    assert len(links) == (1 if name == "twolink" else 7)
    for link in links:
        phi = robot.document.links[link].phi
        solid, hulls = link_solid(shapes[link], link)
        assert not hulls
        J, wanted = (inertia.pseudo_inertia(p) for p in (phi, solid.parameters(mass=phi[0])))
        scale = np.sqrt(np.diag(wanted))
        assert np.abs((J - wanted) / np.outer(scale, scale)).max() <= CAD_DIGITS


def test_bodies_are_as_large_as_they_are_drawn(name) -> None:
    robot = load_robot(name)
    for link, body in zip(robot.links, diagnose(robot), strict=True):
        assert body.reason is None
        assert body.engine is None
        assert body.com_inside
        corners = np.vstack([vertices(shape) for shape in link.shapes])
        radii = np.sqrt(body.moments / body.mass)
        assert radii.max() < 0.5 * np.linalg.norm(np.ptp(corners, axis=0))
        solid, _ = link_solid(link.shapes, link.name)
        assert 100.0 < body.mass / solid.volume < 8000.0  # [kg/m^3]
    assert light_joints(robot) == []


# Meshes


def mesh_files(robot: str) -> list[Path]:
    return sorted((catalog_folder() / robot / "meshes").iterdir())


def test_meshes_are_few_bytes_closed_and_all_in_use(name) -> None:
    files = mesh_files(name)
    assert sum(file.stat().st_size for file in files) <= 300_000
    robot = load_robot(name)
    shapes = [s for of in fixed_shapes(robot).values() for s in of]
    shapes += [s for link in robot.links for s in link.shapes]
    assert {shape.mesh for shape in shapes} == set(files)
    for file in files:
        solid = read_mesh(file)
        assert solid.open_edges == 0, file.name
        oracle = trimesh.load_mesh(file)
        assert oracle.is_watertight, file.name
        assert solid.volume == pytest.approx(oracle.volume, rel=1e-6), file.name
        assert solid.volume > 0.0, file.name


def test_collision_pieces_are_convex_and_lie_in_the_hull_of_the_link(name) -> None:
    robot = load_robot(name)
    for shapes in (*(link.shapes for link in robot.links), fixed_shapes(robot)["base_link"]):
        pieces = [read_mesh(s.mesh) for s in shapes if s.collision]
        visual = np.vstack([read_mesh(s.mesh).vertices for s in shapes if not s.collision])
        assert pieces
        for piece in pieces:
            assert piece.volume == pytest.approx(piece.convex_hull().volume, rel=1e-6)
            assert (piece.vertices >= visual.min(axis=0) - 1e-4).all()
            assert (piece.vertices <= visual.max(axis=0) + 1e-4).all()


def test_arms_do_not_touch_themselves_at_home(name, pybullet) -> None:
    client = pybullet.connect(pybullet.DIRECT)
    try:
        body = pybullet.loadURDF(str(find_urdf(name)), useFixedBase=True, physicsClientId=client)
        links = range(-1, load_robot(name).dof)
        apart = [
            (a, b)
            for a in links
            for b in links
            if b > a + 1
            and pybullet.getClosestPoints(body, body, 0.0, a, b, physicsClientId=client)
        ]
    finally:
        pybullet.disconnect(physicsClientId=client)
    assert apart == []


@pytest.mark.slow
def test_meshes_are_what_the_script_builds_bit_for_bit_each_time(tmp_path) -> None:
    script = SCRIPTS / "build_meshes.py"
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        subprocess.run(
            [sys.executable, script, f"--root={tmp_path / folder}", "twolink", "rocr6"],
            check=True,
            capture_output=True,
            timeout=120,
        )
    for robot in ("twolink", "rocr6"):
        built = sorted((tmp_path / "first" / robot / "meshes").iterdir())
        assert [file.name for file in built] == [file.name for file in mesh_files(robot)]
        for file in built:
            again = tmp_path / "second" / robot / "meshes" / file.name
            assert file.read_bytes() == again.read_bytes()
            # Another release of the boolean kernel may cut a face differently, not the body.
            shipped = read_mesh(catalog_folder() / robot / "meshes" / file.name)
            np.testing.assert_allclose(read_mesh(file).moments(), shipped.moments(), atol=1e-8)
    assert not list(catalog_folder().rglob("__pycache__"))


ENGINE_SETS = {
    arm: f"table-{k}-consistent" for arm, k in {"irb140": 2, "rs010n": 5, "rocr6": 2}.items()
}
"""Bodies for the engine near the printed ones; those of the irb120 are printed."""


@pytest.mark.parametrize(
    ("arm", "set_", "reasons"),
    [
        ("irb140", "table-2", ("negative principal", None, "triangle inequality")),
        ("irb140", "table-3-qpso", ("negative principal", None, "triangle inequality")),
        ("irb140", "table-3-pso", ("negative principal", None, "triangle inequality")),
        ("irb120", "eq-49-53", (None, None, None)),
        ("rs010n", "table-5", (None, "negative principal", "negative principal")),
        ("rs010n", "table-2", (None, "negative principal", "negative principal")),
        ("rocr6", "table-2", (None, None, "negative principal")),
        ("rocr6", "table-2-flipped", (None, None, "negative principal")),
        *((arm, set_, (None, None, None)) for arm, set_ in ENGINE_SETS.items()),
    ],
)
def test_published_tensors_are_refused_with_the_reason_and_repaired(
    arm: str, set_: str, reasons, tmp_path
) -> None:
    published = load_published_parameters(arm, set_)
    chain = load_robot(arm, tip=published.tip)
    formal = chain.with_parameters(published.phi, formal=True)
    for found, wanted in zip(formal.inconsistencies(), reasons, strict=True):
        assert (found is None) == (wanted is None)
        assert wanted is None or wanted in found
    if any(reasons):
        first = next(k for k, reason in enumerate(reasons) if reason) + 1
        for use in (
            lambda: chain.with_parameters(published.phi),
            lambda: Plant(formal),
            lambda: write_urdf(formal, tmp_path / "x.urdf"),
        ):
            with pytest.raises(
                InconsistentInertiaError, match=rf"link_{first}'.*{reasons[first - 1]}"
            ):
                use()
        assert list(tmp_path.iterdir()) == []
    mended = formal.repair()
    assert mended.inconsistencies() == [None] * 3
    with Plant(mended):
        pass


@pytest.mark.parametrize("arm", ARMS)
def test_published_sets_are_listed_with_the_default_first(arm: str) -> None:
    sets = list_published_sets(arm)
    assert all(sets.values())
    default = load_published_parameters(arm)
    assert default.name == next(iter(sets))
    assert default.summary == sets[default.name]
    assert "doi:" in default.source


def test_unknown_published_set_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"'tabel' of robot 'irb140'.*table-2, table-3-"):
        load_published_parameters("irb140", "tabel")
    with pytest.raises(UnknownNameError, match=r"'twolink' has no published.*irb120, irb140"):
        list_published_sets("twolink")


def test_irb140_has_exactly_the_published_joint_dynamics() -> None:
    ours, published = make_published_links("irb140"), load_published_parameters("irb140")
    formal = ours.with_parameters(published.phi, formal=True)
    batch = states(ours)
    want = rigid_body_torque(formal, *batch)
    difference = np.abs(rigid_body_torque(ours, *batch) - want).max()
    assert difference <= 1e-9 * np.abs(want).max()  # the text of the URDF keeps ten digits
    np.testing.assert_array_equal([link.phi[0] for link in ours.links], published.phi[[0, 10, 20]])


def test_irb140_has_the_torques_of_equations_10_to_13_in_the_printed_frames() -> None:
    published = load_published_parameters("irb140")
    arm = make_published_links("irb140").with_parameters(published.phi, formal=True)
    rows = [(0.07, -np.pi / 2, 0.352, 0.0), (-0.36, 0.0, 0.0, np.pi / 2), (0.0, -np.pi / 2, 0.0, 0)]
    printed = load_published_print("irb140")
    for q in states(arm, 50)[0]:
        M, G, T = np.zeros((3, 3)), np.zeros(3), np.eye(4)
        axes, origins = [], []
        # The printed forearm is folded back at zero: its q3 is ours and half a turn.
        for link, (a, alpha, d, offset), angle in zip(
            printed.values(), rows, q + np.array([0.0, 0.0, np.pi]), strict=True
        ):
            axes.append(T[:3, 2])
            origins.append(T[:3, 3])
            T = T @ standard_dh(a, alpha, d, angle + offset)
            center = T[:3, :3] @ np.array(link["com"], dtype=float) + T[:3, 3]
            Jv, Jw = np.zeros((3, 3)), np.zeros((3, 3))
            for j, (z, r) in enumerate(zip(axes, origins, strict=True)):
                Jv[:, j], Jw[:, j] = np.cross(z, center - r), z
            inertia_ = T[:3, :3] @ central_inertia(link["inertia"]) @ T[:3, :3].T
            mass = float(link["mass"])
            M += mass * Jv.T @ Jv + Jw.T @ inertia_ @ Jw  # eq. (10) to (12)
            G += mass * Jv.T @ [0.0, 0.0, 9.81]  # eq. (13)
        np.testing.assert_allclose(mass_matrix(arm, q), M, atol=1e-12 * np.abs(M).max())
        still = np.zeros(3)
        want = rigid_body_torque(arm, q, still, still)
        np.testing.assert_allclose(want, G, atol=1e-12 * np.abs(G).max())


def central_inertia(entries: dict[str, float]) -> np.ndarray:
    """Return the tensor whose matrix elements the entries are."""
    xx, xy, xz, yy, yz, zz = (
        float(entries[f"I{key}"]) for key in ("xx", "xy", "xz", "yy", "yz", "zz")
    )
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


@pytest.mark.parametrize("arm", ARMS)
def test_the_plant_of_a_paper_has_its_links_and_the_wrist_of_the_catalog(arm: str) -> None:
    plant, catalog, links = make_published_plant(arm), load_robot(arm), make_published_links(arm)
    for k, (ours, own) in enumerate(zip(plant.links, catalog.links, strict=True)):
        want = links.links[k].phi if k < links.dof else own.phi
        np.testing.assert_allclose(ours.phi, want, atol=1e-12 * np.abs(want).max())
    tip = load_published_parameters(arm).tip
    locked, wrist = make_published_plant(arm, tip), load_robot(arm, tip=tip)
    on_it = wrist.links[-1].phi - catalog.links[links.dof - 1].phi
    np.testing.assert_allclose(locked.links[-1].phi, links.links[-1].phi + on_it, atol=1e-9)


GROUPINGS = {
    "rs010n": "Iyy1 Ixx2 Ixy2 Ixz2 Iyz2 Izz2 mx2 my2 Ixx3 Ixy3 Ixz3 Iyy3 Iyz3 mx3 mz3",
    "rocr6": "Izz1 Ixx2 Ixy2 Ixz2 Iyz2 Izz2 mx2 my2 Ixx3 Ixy3 Ixz3 Iyz3 Izz3 mx3 my3",
}
TABLE = {
    "rs010n": "16.41 31.83 6.14 5.76 -7.82 -37.29 47.37 .16 -2.07 3.34 -3.42 1.02 -.29 .15 -.034",
    "rocr6": "4.4672 -1.4213 -.0502 -.3501 .6224 3.1617 -4.4642 .0724 -.7103 -.1641 -.1513 .0932"
    " .7253 -1.9305 .0057",
}


def paper_grouping(robot: Robot, frames, leads: str) -> np.ndarray:
    """Return the map from inertial parameters to base parameters grouped as in a paper."""
    basis = base_parameters(robot)
    blocks = np.zeros((10 * robot.dof, 10 * robot.dof))
    for k, T in enumerate(frames):
        columns = [inertia.transform(unit, T) for unit in np.eye(10)]
        blocks[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = np.column_stack(columns)
    names = [f"{s}{k + 1}" for k in range(robot.dof) for s in parameters.INERTIAL_SYMBOLS]
    B = basis.B[: basis.inertial_rank, : 10 * robot.dof]
    return np.linalg.solve((B @ blocks)[:, [names.index(lead) for lead in leads.split()]], B)


@pytest.mark.parametrize(
    ("arm", "set_", "distance", "largest"),
    [("rs010n", "table-5", 6.96, 3.93), ("rocr6", "table-2-flipped", 0.0957, 0.0626)],
)
def test_nearest_robots_are_as_far_from_the_print_as_stated(
    arm: str, set_: str, distance: float, largest: float
) -> None:
    published = load_published_parameters(arm, set_)
    # rs010n: the three links alone; rocr6 was measured with its wrist on.
    ours = (
        make_published_links(arm) if arm == "rs010n" else make_published_plant(arm, published.tip)
    )
    B = paper_grouping(ours, published.frames, GROUPINGS[arm])
    beta = B @ published.phi[:30]
    printed = np.array(TABLE[arm].split(), dtype=float)
    np.testing.assert_allclose(beta, printed, atol=0.005 if arm == "rs010n" else 1e-9)
    error = B @ ours.parameters()[:30] - beta
    assert np.linalg.norm(error) == pytest.approx(distance, rel=2e-3)
    assert np.abs(error).max() == pytest.approx(largest, rel=2e-3)
    summary = list_published_sets(arm)[ENGINE_SETS[arm]]
    assert f"{distance:g} from its 15 base parameters, largest {largest:g}" in summary


@pytest.mark.parametrize("arm", ENGINE_SETS)
def test_bodies_for_the_engine_are_what_the_script_finds(arm: str, capsys) -> None:
    script = runpy.run_path(str(SCRIPTS / "nearest_feasible.py"), run_name="script")
    script["main"](arm)
    found = tomllib.loads(capsys.readouterr().out)["sets"]
    kept = load_published_print(arm, ENGINE_SETS[arm])
    for link, values in next(iter(found.values())).items():
        ours, theirs = (
            inertia.pack(
                float(v["mass"]), np.array(v["com"], dtype=float), central_inertia(v["inertia"])
            )
            for v in (kept[link], values)
        )
        # An interior-point solver stops at 1e-8 of the cost, some 1e-4 of its argument.
        np.testing.assert_allclose(theirs, ours, atol=1e-3 * np.abs(ours).max())


def test_rocr6_has_the_published_friction() -> None:
    published, robot = load_published_parameters("rocr6"), load_robot("rocr6")
    drives = published.phi[30:].reshape(3, 4)
    for joint, (Fv, Fc, Fo, Ia) in zip(robot.joints[:3], drives, strict=True):
        assert (joint.friction.Fv, joint.friction.Fc) == (Fv, Fc)
        assert (joint.friction.Fo, joint.rotor_inertia) == (Fo, Ia) == (0.0, 0.0)
    assert tuple(drives[0, :2]) == (8.5743, 18.342)


@pytest.mark.parametrize("arm", ["irb140", "rs010n", "rocr6"])
def test_formal_parameters_serve_dynamics(arm: str) -> None:
    published = load_published_parameters(arm)
    chain = load_robot(arm, tip=published.tip)
    formal = chain.with_parameters(published.phi, formal=True)
    q = states(formal, 50)[0]
    assert np.linalg.eigvalsh(mass_matrix(formal, q)).min() > 0.0


# The two-link arm in the parametrization of Yan, Lu, Levy (2015), doi:10.1371/journal.pone.0129157


def test_twolink_is_linear_in_the_papers_four_parameters_with_a_known_offset() -> None:
    robot = load_robot("twolink")
    g, l1 = -robot.gravity[2], robot.joints[1].T_parent_joint[0, 3]
    (m1, c1, I1), (me, ce, Ie) = (inertia.unpack(link.phi) for link in robot.links)
    lc1, lce, angle = c1[0], np.hypot(ce[0], ce[2]), -np.arctan2(ce[2], ce[0])
    alpha = I1[1, 1] + m1 * lc1**2 + Ie[1, 1] + me * lce**2 + me * l1**2
    beta = Ie[1, 1] + me * lce**2
    lambda_ = np.array([alpha, beta, me * l1 * lce * np.cos(angle), me * l1 * lce * np.sin(angle)])
    np.testing.assert_allclose(lambda_, [6.7333, 3.4, 3.0, 0.0], atol=5e-5)
    e1, e2 = m1 * l1 * lc1 - I1[1, 1] - m1 * lc1**2, g / l1
    assert e1 == pytest.approx(1 / 6)
    rng = np.random.default_rng(0)
    for q, dq, ddq in rng.uniform(-2.0, 2.0, (500, 3, 2)):
        cos1, cos2, sin2 = np.cos(q[0]), np.cos(q[1]), np.sin(q[1])
        cos12, sin12 = np.cos(q.sum()), np.sin(q.sum())
        bend = 2 * dq[0] * dq[1] + dq[1] ** 2
        Y = np.array(
            [
                [
                    ddq[0] + e2 * cos1,
                    ddq[1] - e2 * cos1,
                    cos2 * (2 * ddq[0] + ddq[1]) - sin2 * bend + e2 * cos12,
                    sin2 * (2 * ddq[0] + ddq[1]) + cos2 * bend + e2 * sin12,
                ],
                [
                    0.0,
                    ddq.sum(),
                    cos2 * ddq[0] + sin2 * dq[0] ** 2 + e2 * cos12,
                    sin2 * ddq[0] - cos2 * dq[0] ** 2 + e2 * sin12,
                ],
            ]
        )
        offset = np.array([e1 * e2 * cos1, 0.0])
        torque = rigid_body_torque(robot, q, dq, ddq)
        np.testing.assert_allclose(Y @ lambda_ + offset, torque, rtol=0.0, atol=1e-12)
