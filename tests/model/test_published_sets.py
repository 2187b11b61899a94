"""The parameters that papers print for the robots: possible or not, and how far ours are."""

import runpy
import tomllib

import numpy as np
import pytest
from robots import SCRIPTS, standard_dh, states

from robotid_sim.dynamics.base_parameters import base_parameters
from robotid_sim.dynamics.dynamics import mass_matrix, rigid_body_torque
from robotid_sim.engine.plant import Plant
from robotid_sim.errors import InconsistentInertiaError, UnknownNameError
from robotid_sim.model import inertia, parameters
from robotid_sim.model.catalog import (
    load_robot,
    published_links,
    published_parameters,
    published_plant,
    published_print,
    published_sets,
)
from robotid_sim.model.export import write_urdf
from robotid_sim.model.robot import Robot

ARMS = ("irb140", "irb120", "rs010n", "rocr6")
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
    published = published_parameters(arm, set_)
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
    mended = formal.repaired()
    assert mended.inconsistencies() == [None] * 3
    with Plant(mended):
        pass


@pytest.mark.parametrize("arm", ARMS)
def test_published_sets_are_listed_with_the_default_first(arm: str) -> None:
    sets = published_sets(arm)
    assert all(sets.values())
    default = published_parameters(arm)
    assert default.name == next(iter(sets))
    assert default.summary == sets[default.name]
    assert "doi:" in default.source


def test_unknown_published_set_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"'tabel' of robot 'irb140'.*table-2, table-3-"):
        published_parameters("irb140", "tabel")
    with pytest.raises(UnknownNameError, match=r"'twolink' has no published.*irb120, irb140"):
        published_sets("twolink")


def test_irb140_has_exactly_the_published_joint_dynamics() -> None:
    ours, published = published_links("irb140"), published_parameters("irb140")
    formal = ours.with_parameters(published.phi, formal=True)
    batch = states(ours)
    want = rigid_body_torque(formal, *batch)
    difference = np.abs(rigid_body_torque(ours, *batch) - want).max()
    assert difference <= 1e-9 * np.abs(want).max()  # the text of the URDF keeps ten digits
    np.testing.assert_array_equal([link.phi[0] for link in ours.links], published.phi[[0, 10, 20]])


def test_irb140_has_the_torques_of_equations_10_to_13_in_the_printed_frames() -> None:
    published = published_parameters("irb140")
    arm = published_links("irb140").with_parameters(published.phi, formal=True)
    rows = [(0.07, -np.pi / 2, 0.352, 0.0), (-0.36, 0.0, 0.0, np.pi / 2), (0.0, -np.pi / 2, 0.0, 0)]
    printed = published_print("irb140")
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
    plant, catalog, links = published_plant(arm), load_robot(arm), published_links(arm)
    for k, (ours, own) in enumerate(zip(plant.links, catalog.links, strict=True)):
        want = links.links[k].phi if k < links.dof else own.phi
        np.testing.assert_allclose(ours.phi, want, atol=1e-12 * np.abs(want).max())
    tip = published_parameters(arm).tip
    locked, wrist = published_plant(arm, tip), load_robot(arm, tip=tip)
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
        columns = [inertia.transformed(unit, T) for unit in np.eye(10)]
        blocks[10 * k : 10 * k + 10, 10 * k : 10 * k + 10] = np.column_stack(columns)
    names = [f"{s}{k + 1}" for k in range(robot.dof) for s in parameters.INERTIAL]
    B = basis.B[: basis.inertial_rank, : 10 * robot.dof]
    return np.linalg.solve((B @ blocks)[:, [names.index(lead) for lead in leads.split()]], B)


@pytest.mark.parametrize(
    ("arm", "set_", "distance", "largest"),
    [("rs010n", "table-5", 6.96, 3.93), ("rocr6", "table-2-flipped", 0.0957, 0.0626)],
)
def test_nearest_robots_are_as_far_from_the_print_as_stated(
    arm: str, set_: str, distance: float, largest: float
) -> None:
    published = published_parameters(arm, set_)
    # rs010n: the three links alone; rocr6 was measured with its wrist on.
    ours = published_links(arm) if arm == "rs010n" else published_plant(arm, published.tip)
    B = paper_grouping(ours, published.frames, GROUPINGS[arm])
    beta = B @ published.phi[:30]
    printed = np.array(TABLE[arm].split(), dtype=float)
    np.testing.assert_allclose(beta, printed, atol=0.005 if arm == "rs010n" else 1e-9)
    error = B @ ours.parameters()[:30] - beta
    assert np.linalg.norm(error) == pytest.approx(distance, rel=2e-3)
    assert np.abs(error).max() == pytest.approx(largest, rel=2e-3)
    summary = published_sets(arm)[ENGINE_SETS[arm]]
    assert f"{distance:g} from its 15 base parameters, largest {largest:g}" in summary


@pytest.mark.parametrize("arm", ENGINE_SETS)
def test_bodies_for_the_engine_are_what_the_script_finds(arm: str, capsys) -> None:
    script = runpy.run_path(str(SCRIPTS / "nearest_feasible.py"), run_name="script")
    script["main"](arm)
    found = tomllib.loads(capsys.readouterr().out)["sets"]
    kept = published_print(arm, ENGINE_SETS[arm])
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
    published, robot = published_parameters("rocr6"), load_robot("rocr6")
    drives = published.phi[30:].reshape(3, 4)
    for joint, (Fv, Fc, Fo, Ia) in zip(robot.joints[:3], drives, strict=True):
        assert (joint.friction.Fv, joint.friction.Fc) == (Fv, Fc)
        assert (joint.friction.Fo, joint.rotor_inertia) == (Fo, Ia) == (0.0, 0.0)
    assert tuple(drives[0, :2]) == (8.5743, 18.342)


@pytest.mark.parametrize("arm", ["irb140", "rs010n", "rocr6"])
def test_formal_parameters_serve_dynamics(arm: str) -> None:
    published = published_parameters(arm)
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
