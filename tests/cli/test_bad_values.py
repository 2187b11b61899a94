"""Values that no stage can use: exit 2 and one line before any work, nothing written."""

import pytest
from robots import DATA

ARM = DATA / "2r.urdf"


@pytest.fixture
def refused(robotid, tmp_path):
    """Return a function that runs a study by a configuration and returns the one line it says."""

    def run(text: str, *words: str) -> str:
        config, out = tmp_path / "c.toml", tmp_path / "out"
        config.write_text(text)
        done = robotid("run", ARM, "--out", out, "--config", config, *words)
        assert done.code == 2
        assert done.out == ""
        assert done.err.startswith("robotid: ")
        assert done.err.count("\n") == 1
        assert not out.exists()
        return done.err

    return run


@pytest.mark.parametrize("bits", [0, 1000])
def test_an_encoder_has_a_sensible_number_of_bits(refused, bits) -> None:
    said = refused(f"[sensors.encoder-quantization]\nbits = {bits}\n")
    assert f"bits must lie between 1 and 52, got {bits}" in said


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("smoother = 3", "no option 'smoother'; options: method, delay, low_pass, outliers\n"),
        ("message = 'x'", "no option 'message'; options: method, delay, low_pass, outliers\n"),
        ("outliers = 'a'", "option 'outliers' must be a number, got 'a'"),
        ("outliers = nan", "outliers nan"),
        ("rows = 3", "preprocess.rows"),
        ("name = 3", "no option 'name'"),
    ],
)
def test_an_option_has_a_name_and_a_kind(refused, options, words) -> None:
    assert words in refused(f"[preprocess]\nname = 'adaptive'\noptions = {{ {options} }}\n")


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("-1", "'mass': should be greater than or equal to 0, got -1.0"),
        ("nan", "'mass': should be a finite number, got nan"),
        ("1,inf,0,0", "'com.0': should be a finite number, got inf"),
        ("0", "mass"),
    ],
)
def test_a_known_load_is_a_body(robotid, load, words) -> None:
    done = robotid("payload", ARM, "a.h5", "b.h5", f"--load={load}")
    assert done.code == 2
    assert done.err.startswith(f"robotid: --load '{load}': ")
    assert words in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("design", "words"),
    [
        ("period = 0.01", "design.period is 0.01 s; give at least 2.21 s"),
        ("period = 0.2", "design.period is 0.2 s; give at least 2.21 s"),
        ("period = 2.0\nperiods = 1\nharmonics = 3000", "'harmonics' is 3000; give at most 50"),
        ("family = 'b-spline'\noptions = { points = 99 }", "'points' is 99; give at most 50"),
        ("family = 'fourier-quintic'\nharmonics = 99", "'harmonics' is 99; give at most 50"),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["run", "dry"])
def test_an_excitation_can_be_sampled_fitted_and_held(refused, design, words, flags) -> None:
    assert words in refused(f"[design]\n{design}\n", *flags)


CONSTRAINED = "[design.constraints]\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[design]\nprior = ['none.json']", "none.json"),
        ("[design]\nnoise_std = [1.0]", "design.noise_std has 1 numbers for 2 joints"),
        ("[design]\nnoise_std = [1.0, -1.0]", "noise_std must be positive"),
        (CONSTRAINED + "start = [9.0, 0.0]", "the start pose has joint 'shoulder' at 9, outside"),
        (CONSTRAINED + "start = [0.0]", "design.start has 1 numbers for 2 joints"),
        (
            "[[design.constraints.boxes]]\nlower = [1.0, 0.0, 0.0]\nupper = [0.0, 1.0, 1.0]",
            "a box needs three lower bounds below three upper ones",
        ),
        (
            "[[design.constraints.planes]]\nnormal = [0.0, 0.0, 0.0]\noffset = 1.0",
            "must not be zero",
        ),
    ],
)
@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["run", "dry"])
def test_what_a_run_refuses_its_plan_does(robotid, tmp_path, text, words, flags) -> None:
    config = tmp_path / "c.toml"
    config.write_text(text)
    done = robotid("run", ARM, "--out", tmp_path / "out", "--config", config, *flags)
    assert done.code in (1, 2)
    assert (done.out, done.err.count("\n"), words in done.err) == ("", 1, True)


@pytest.mark.parametrize("flags", [(), ("--dry-run",)], ids=["run", "dry"])
def test_a_path_has_samples_that_fit_into_memory(refused, tmp_path, flags) -> None:
    rows = "".join(f"{30.0 * k},0.0,{1.0 + 0.001 * k}\n" for k in range(1000))
    (tmp_path / "long.csv").write_text(f"t,shoulder,elbow\n{rows}")
    said = refused(f"[control.tasks.csv]\npath = '{tmp_path / 'long.csv'}'\n", *flags)
    assert "task csv-long runs for 3e+04 s, which are 3e+07 samples at 1000 Hz" in said


def test_a_plan_looks_at_its_folder(robotid, tmp_path) -> None:
    (tmp_path / "result.json").write_text("{}")
    for folder, words in (
        (tmp_path, "result.json: it is of no run"),
        (tmp_path / "result.json", "cannot write in folder"),
    ):
        done = robotid("run", ARM, "--out", folder, "--dry-run")
        assert (done.code, done.out, words in done.err) == (2, "", True)


def test_a_harmonic_has_two_samples_at_least(refused, robotid, tmp_path) -> None:
    said = refused("[design]\nperiod = 2.5\nharmonics = 50\n[experiment]\nrate = 40.0\n")
    assert "design.harmonics is 50, but a period of 2.5 s at 40 Hz" in said
    assert "fewer than 50" in said
    words = ("-o", tmp_path / "t.json", "--config", tmp_path / "c.toml")
    assert robotid("design", ARM, *words).err == said
