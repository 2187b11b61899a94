"""Recordings: the arm is in the picture, the path where it is drawn, errors come before work."""

import sys
from dataclasses import replace

import imageio.v2
import numpy as np
import pytest
from PIL import Image

from robotid_sim.engine.engines import is_installed
from robotid_sim.errors import FileFormatError, MissingExtraError, OptionError, UnknownNameError
from robotid_sim.model.perturb import perturb
from robotid_sim.viewer import colors
from robotid_sim.viewer.animation import Animation, animation_colors
from robotid_sim.viewer.compositor import Compositor
from robotid_sim.viewer.joint_panel import JointPanel, legend, short_names
from robotid_sim.viewer.recorder import record, require_recordable
from robotid_sim.viewer.renderer import open_renderer
from robotid_sim.viewer.view_settings import ViewSettings
from robotid_sim.viewer.viewer import show

SMALL = ViewSettings(width=320, height=240, layers=frozenset(), renderer="software")


def pixels(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture.convert("RGB"), dtype=int)


def colored(picture: Image.Image, color: tuple[int, int, int], within: int = 24) -> np.ndarray:
    """Return where a picture has about a color."""
    return np.abs(pixels(picture) - color).max(axis=-1) <= within


@pytest.fixture(scope="module")
def short(sweep) -> Animation:
    """A third of a second in the middle of the sweep of joint 2."""
    part = slice(1100, 1121)
    assert sweep.tau is not None
    return replace(sweep, t=sweep.t[part], q=sweep.q[part], dq=sweep.dq[part], tau=sweep.tau[part])


@pytest.mark.slow
def test_every_robot_is_in_its_picture(robot, tmp_path) -> None:
    made = record(Animation.sweep(robot), tmp_path / "a.png", SMALL)
    assert made.frames == 1
    assert (made.renderer == "software") == is_installed("pybullet")
    shown = pixels(Image.open(tmp_path / "a.png"))
    assert shown.shape == (240, 320, 3)
    # The background is light and nearly gray; robots are dark, colored, or shaded.
    dark = shown.min(axis=-1) < 150
    assert 0.003 < dark.mean() < 0.3
    edges = np.concatenate([dark[0], dark[:, 0], dark[:, -1]])
    assert not edges.any()  # nothing is cut off


@pytest.mark.usefixtures("each_engine")
def test_the_arm_is_orange_and_moves(sweep) -> None:
    with Compositor([sweep], SMALL) as film:
        first, second = (film.frame(t) for t in (5.0, 20.0))
    orange = [
        (pixels(f)[..., 0] - pixels(f)[..., 2] > 100) & (pixels(f)[..., 0] > 120)
        for f in (first, second)
    ]
    assert all(0.01 < where.mean() < 0.2 for where in orange)
    assert (orange[0] != orange[1]).mean() > 0.01


@pytest.mark.usefixtures("each_engine")
def test_the_path_is_drawn_where_it_projects(sweep) -> None:
    view = replace(SMALL, width=640, height=480, layers=frozenset({"path"}))
    with Compositor([sweep], view) as film:
        frame = film.frame(20.0)
        uv, _ = film.camera.project(sweep.tool_path())
        bare = film.backdrop
    behind = uv[sweep.t < 19.9][::5]
    row, column = behind[:, 1].astype(int), behind[:, 0].astype(int)
    strong = colored(frame, colors.PATH_COLOR, 60)
    near = np.max([strong[row + i, column + j] for i in (-1, 0, 1) for j in (-1, 0, 1)], axis=0)
    assert near.mean() > 0.8  # the rest is behind the arm
    ahead = uv[sweep.t > 20.1][::5]
    apart = np.linalg.norm(ahead[:, None] - behind[None], axis=-1).min(axis=1) > 6.0
    column, row = ahead[apart].astype(int).T
    assert apart.sum() > 50
    change = np.abs(pixels(frame) - pixels(bare)).max(axis=-1)[row, column]
    assert np.median(change) > 10
    assert colored(frame, colors.PATH_COLOR, 40)[row, column].mean() < 0.1  # the tool's mark


def test_the_tool_is_at_the_end_of_the_path(sweep) -> None:
    view = replace(SMALL, layers=frozenset({"path"}))
    with Compositor([sweep], view) as film:
        frame = film.frame(12.0)
        uv, _ = film.camera.project(sweep.tool_path()[np.searchsorted(sweep.t, 12.0)])
    u, v = (round(float(value)) for value in uv)
    assert colored(frame, colors.PATH_COLOR)[v - 2 : v + 3, u - 2 : u + 3].any()


@pytest.mark.usefixtures("each_engine")
def test_a_window_of_a_picture_is_that_part_of_it(sweep) -> None:
    with Compositor([sweep], SMALL) as film, open_renderer("software") as renderer:
        posed = renderer.add(sweep.robot, film.parts)
        posed.pose(sweep.q[0])
        light = np.array([0.3, -0.5, 0.8])
        whole = renderer.render(film.camera, light, 2.0)
        part = renderer.render(film.camera, light, 2.0, (40, 20, 300, 230))
    inside = whole.depth[40:460, 80:600]
    same = np.isfinite(inside) == np.isfinite(part.depth)
    assert same.mean() > 0.999  # single pixels at edges, by rounding
    both = np.isfinite(inside) & np.isfinite(part.depth)
    np.testing.assert_allclose(inside[both], part.depth[both], rtol=0.02)
    uv = np.array([[160.0, 120.0], [10.0, 10.0]])
    assert part.depth_at(uv)[0] == pytest.approx(whole.depth_at(uv)[0], rel=1e-3)
    assert np.isinf(part.depth_at(uv)[1])


@pytest.mark.usefixtures("each_engine")
def test_frames_do_not_depend_on_those_before(sweep) -> None:
    with Compositor([sweep], SMALL) as film:
        film.frame(1.0)
        film.frame(3.0)
        later = pixels(film.frame(15.0))
    with Compositor([sweep], SMALL) as film:
        alone = pixels(film.frame(15.0))
    assert (np.abs(later - alone).max(axis=-1) > 8).mean() < 1e-3


@pytest.mark.usefixtures("each_engine")
def test_layers_show_what_they_promise(sweep, irb140) -> None:
    models = {
        "true": irb140,
        "nominal": perturb(irb140, np.random.default_rng(0)),
        "identified": irb140,
    }

    def shown(*layers: str) -> Image.Image:
        view = replace(SMALL, width=640, height=480, layers=frozenset(layers))
        with Compositor([sweep], view, models) as film:
            return film.frame(24.0)

    plain = shown()
    masses = shown("inertia")
    for name in ("nominal", "identified"):
        assert colored(masses, colors.MODEL_COLORS[name], 40).sum() > 50
    assert not colored(plain, colors.MODEL_COLORS["identified"], 40).any()
    frames = pixels(shown("frames"))
    for channel in (0, 1, 2):
        others = frames[..., [c for c in (0, 1, 2) if c != channel]].max(axis=-1)
        assert (frames[..., channel] - others > 60).sum() > 10
    torque = pixels(shown("torque"))
    assert (torque[..., 0] - torque[..., 2] > 100).sum() < 50  # the orange is gone
    panel = pixels(shown("panel"))
    assert (panel[24:60, 24:200] > 245).mean() > 0.5


@pytest.mark.usefixtures("each_engine")
def test_a_second_playback_is_a_ghost(sweep) -> None:
    other = replace(sweep, name="other", q=np.clip(sweep.q + 0.4, -1.5, 1.5))
    with Compositor([sweep, other], SMALL) as film:
        ghost = film.frame(5.0)
    with Compositor([sweep], SMALL) as film:
        alone = film.frame(5.0)
    pink = [(pixels(p)[..., 0] - pixels(p)[..., 1] > 12).sum() for p in (ghost, alone)]
    assert pink[0] > pink[1] + 300


@pytest.mark.slow
@pytest.mark.usefixtures("each_engine")
def test_every_ghost_stands_in_its_place_and_color(sweep) -> None:
    angles = (-0.5, 0.4, 0.8)
    ghosts = [replace(sweep, name=f"turned by {a}", q=sweep.q + a) for a in angles]
    models = [
        replace(g, color=c) for g, c in zip(ghosts, colors.MODEL_COLORS.values(), strict=True)
    ]
    for beside in (ghosts, models):
        tones = animation_colors([sweep, *beside])[1:]
        with Compositor([sweep, *beside], SMALL) as film:
            together = pixels(film.frame(5.0))
            for k, tone in enumerate(tones):
                everything = film._ghosts
                film._ghosts = [*everything[:k], *everything[k + 1 :]]
                without = pixels(film.frame(5.0))
                film._ghosts = everything
                there = np.abs(together - without).max(axis=-1) > 8
                assert 0.003 < there.mean() < 0.3
                light = there & (without.min(axis=-1) > 200)  # not in front of the robot
                tinted = together[light] - together[light].mean(axis=-1, keepdims=True)
                toward = tinted @ (np.array(tone) - np.mean(tone))
                assert np.ptp(tone) < 20 or (toward > 0).mean() > 0.9


@pytest.mark.usefixtures("each_engine")
def test_colors_of_models_stand_beside_a_gray_robot(sweep) -> None:
    ghost = replace(sweep, color=colors.MODEL_COLORS["nominal"])
    with Compositor([sweep, ghost], SMALL) as film:  # a ghost in the robot's place is hidden
        shown = pixels(film.frame(5.0))
    assert (np.ptp(shown, axis=-1) > 60).mean() < 1e-3
    assert (shown.max(axis=-1) < 200).mean() > 0.01


def test_the_legend_names_every_motion_once(sweep) -> None:
    logs = [replace(sweep, name=f"log {k}") for k in range(4)]
    names = dict.fromkeys(("true", "nominal"))
    assert legend(logs[:1], names) == [(n, colors.MODEL_COLORS[n]) for n in names]
    assert legend(logs, {}) == [
        (a.name, c) for a, c in zip(logs, colors.ANIMATION_COLORS, strict=False)
    ]
    own = replace(sweep, name="nominal, error x 5", color=colors.MODEL_COLORS["nominal"])
    assert [name for name, _ in legend([sweep, own], names)] == [sweep.name, own.name, "true"]
    assert legend([sweep, own], {})[1] == (own.name, colors.MODEL_COLORS["nominal"])


def test_too_many_motions_are_refused_at_once(sweep, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("robotid_sim.viewer.recorder.Compositor", None)  # no work may begin
    with pytest.raises(OptionError, match="at most 5 motions can be shown together, got 6"):
        record([sweep] * 6, tmp_path / "a.png", SMALL)
    with pytest.raises(OptionError, match="at most 5"):
        show([sweep] * 6)


@pytest.mark.slow
def test_a_gif_has_its_frames_and_duration(short, tmp_path) -> None:
    view = replace(SMALL, layers=frozenset({"panel", "path"}))
    seen: list[tuple[str, float]] = []
    made = record(
        short, tmp_path / "a.gif", view, fps=30.0, progress=lambda *words: seen.append(words)
    )
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == made.frames == 10
        assert film.size == (320, 240)
        lengths = []
        for k in range(film.n_frames):
            film.seek(k)
            lengths.append(film.info["duration"])
            last = film.convert("RGB")
    assert sum(lengths) == pytest.approx(1000.0 * 10 / 30.0, abs=10.0)
    assert (pixels(last)[..., 0] - pixels(last)[..., 2] > 100).mean() > 0.01
    assert [share for _, share in seen] == sorted(share for _, share in seen)
    assert seen[-1] == ("record", 1.0)


@pytest.mark.slow
def test_an_mp4_has_its_frames(short, tmp_path) -> None:
    made = record(short, tmp_path / "a.mp4", SMALL, fps=25.0, speed=0.5)
    with imageio.v2.get_reader(tmp_path / "a.mp4") as film:
        assert film.count_frames() == made.frames == 17
        first = film.get_data(0)
    assert first.shape == (240, 320, 3)
    assert (first[..., 0].astype(int) - first[..., 2] > 100).mean() > 0.01


@pytest.mark.parametrize(
    ("name", "options", "error", "words"),
    [
        ("a.bmp", {}, OptionError, r"unknown format '\.bmp'; formats: \.png, \.gif, \.mp4"),
        ("a", {}, OptionError, "unknown format"),
        ("none/a.png", {}, FileFormatError, "cannot write"),
        ("a.gif", {"fps": 60.0}, OptionError, "at most 50"),
        ("a.png", {"fps": 0.0}, OptionError, "frames per second"),
        ("a.png", {"fps": float("nan")}, OptionError, "frames per second"),
        ("a.png", {"speed": -1.0}, OptionError, "speed"),
        ("a.png", {"time": 99.0}, OptionError, "not in the motion"),
        ("a.gif", {"time": 18.4}, OptionError, "for a picture"),
    ],
)
def test_what_cannot_be_recorded_is_refused_at_once(
    short, tmp_path, monkeypatch, name, options, error, words
) -> None:
    monkeypatch.setattr("robotid_sim.viewer.recorder.Compositor", None)  # no work may begin
    with pytest.raises(error, match=words):
        record(short, tmp_path / name, SMALL, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_file(short, tmp_path) -> None:
    (tmp_path / "a.png").mkdir()
    with pytest.raises(FileFormatError, match="it is a folder"):
        require_recordable(tmp_path / "a.png", SMALL)


def test_an_mp4_needs_even_sides(tmp_path) -> None:
    with pytest.raises(OptionError, match="even"):
        require_recordable(tmp_path / "a.mp4", replace(SMALL, width=321))


@pytest.mark.parametrize(
    "options",
    [
        {"width": 0},
        {"height": 10000},
        {"camera": "below"},
        {"layers": frozenset({"shadow"})},
        {"renderer": "x"},
    ],
)
def test_views_are_checked(options) -> None:
    with pytest.raises((OptionError, UnknownNameError)):
        ViewSettings(**options)


def test_a_missing_encoder_names_the_install_command(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    with pytest.raises(MissingExtraError, match=r"pip install -e '\.\[video\]'"):
        require_recordable(tmp_path / "a.mp4", SMALL)
    require_recordable(tmp_path / "a.gif", SMALL)


@pytest.mark.slow
def test_an_interrupted_recording_leaves_no_file(short, tmp_path) -> None:
    def stop(stage: str, share: float) -> None:
        if share > 0.5:
            raise KeyboardInterrupt

    for name in ("a.gif", "a.mp4"):
        with pytest.raises(KeyboardInterrupt):
            record(short, tmp_path / name, SMALL, progress=stop)
    assert list(tmp_path.iterdir()) == []


def test_warmth_goes_from_gray_to_red() -> None:
    assert np.ptp(colors.warm(0.0)) < 10
    red = colors.warm(1.0)
    assert red[0] - max(red[1:]) > 120
    assert colors.warm(-2.0) == red
    light = [sum(colors.warm(share)) for share in np.linspace(0.0, 1.0, 20)]
    assert light == sorted(light, reverse=True)


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["joint_1", "joint_2"], ["joint_1", "joint_2"]),
        (["lbr_iiwa_joint_1", "lbr_iiwa_joint_2"], ["iiwa_joint_1", "iiwa_joint_2"]),
        (["shoulder_pan_joint", "elbow_joint"], ["shoulder_pan", "elbow"]),
        (["a_very_long_name_of_one", "b"], ["a_ver..of_one", "b"]),
        (["Hüfte_é"], ["Hufte_e"]),
    ],
)
def test_joint_names_fit_the_panel(names, short) -> None:
    assert short_names(names) == short


def test_the_panel_marks_limits_that_are_exceeded(arm) -> None:
    q = np.zeros((2, 2))
    calm = Animation("x", arm, np.array([0.0, 1.0]), q, q, q)
    wild = replace(calm, tau=2.0 * np.tile(arm.limits.effort, (2, 1)))
    red = [
        colored(JointPanel(p).draw(p.state_at(0.0)), colors.LIMIT_COLOR).sum() for p in (calm, wild)
    ]
    assert red[0] == 0
    assert red[1] > 50
