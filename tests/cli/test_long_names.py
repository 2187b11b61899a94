"""Names that no file can have: exit 2 and one line, by every way a path comes in."""

import pytest
from robots import DATA

ARM = DATA / "2r.urdf"
LONG = 300 * "x"
DEEP = "/".join(30 * [200 * "y"])


@pytest.mark.parametrize("name", [LONG, DEEP], ids=["long", "deep"])
@pytest.mark.parametrize(
    "words",
    [
        ("check", "{}"),
        ("check", ARM, "--config", "{}"),
        ("identify", ARM, "{}", "-o", "e.json"),
        ("design", ARM, "-o", "{}"),
        ("simulate", ARM, "--trajectory", "{}", "-o", "l.h5"),
        ("import", "{}", "--robot", ARM, "-o", "l.h5"),
        ("export", ARM, "-o", "{}.xml"),
        ("view", ARM, "--record", "{}.png"),
        ("compare", "{}", "{}"),
        ("run", ARM, "--dry-run", "--out", "{}"),
        ("reproduce", "twolink-elpidso", "--out", "{}"),
    ],
    ids=lambda words: " ".join(str(word) for word in words if word != ARM),
)
def test_a_name_that_is_too_long_is_no_bug(refused, tmp_path, monkeypatch, words, name) -> None:
    monkeypatch.chdir(tmp_path)
    assert name[:40] in refused(*(str(word).format(name) for word in words))
    assert list(tmp_path.iterdir()) == []
