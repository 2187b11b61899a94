"""The kernels of OpenBLAS: those that processors share, where its version works with them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from robotid_sim.cli import openblas

WORK = """
import os
from robotid_sim.cli.openblas import common_kernels
os.environ.update(common_kernels())
import numpy as np, scipy.linalg
A = np.ones((1000, 40))
assert (A.T @ A == 1000.0).all()
assert (scipy.linalg.blas.dgemm(1.0, A, A, trans_a=True) == 1000.0).all()
from threadpoolctl import threadpool_info
print(*{part["architecture"] for part in threadpool_info() if part["internal_api"] == "openblas"})
"""
"""Kernels whose stack is too small for the matrices end this at the first product."""

CONFIGURATION = '"blas": {{"openblas configuration": r"OpenBLAS {} DYNAMIC_ARCH Haswell"}}'


@pytest.fixture
def on_any_processor(monkeypatch) -> None:
    """Let the processor have what is needed, and nobody have chosen."""
    monkeypatch.delenv(openblas.CORETYPE, raising=False)
    monkeypatch.setattr(openblas, "processor_flags", lambda: openblas.NEEDED)


@pytest.fixture
def packages(tmp_path, monkeypatch) -> Path:
    """Let NumPy and SciPy be empty packages of a folder."""
    for name in ("numpy", "scipy"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def state_versions(packages: Path, numpy: str, scipy: str) -> None:
    """Write with which OpenBLAS the two were built."""
    for name, version in (("numpy", numpy), ("scipy", scipy)):
        (packages / name / "__config__.py").write_text(CONFIGURATION.format(version))


def test_a_processor_works_with_the_kernels_that_others_have(monkeypatch) -> None:
    monkeypatch.delenv(openblas.CORETYPE, raising=False)
    words = [sys.executable, "-c", WORK]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    versions = [openblas.openblas_of(package) for package in ("numpy", "scipy")]
    known = all(version is not None and version <= openblas.NEWEST for version in versions)
    if openblas.processor_flags() >= openblas.NEEDED and known:
        assert done.stdout.split() == [openblas.KERNELS]
    else:
        assert openblas.common_kernels() == {}


def test_these_tests_work_with_the_kernels_of_the_program() -> None:
    parts = threadpool_info()
    taken = {part["architecture"] for part in parts if part["internal_api"] == "openblas"}
    if openblas.CORETYPE in os.environ:
        assert taken == {os.environ[openblas.CORETYPE]}
    else:
        assert openblas.common_kernels() == {}


def test_kernels_that_a_user_chose_stay(on_any_processor, monkeypatch) -> None:
    monkeypatch.setenv(openblas.CORETYPE, "Nehalem")
    assert openblas.common_kernels() == {}


@pytest.mark.parametrize("flags", [set(), {"avx", "sse4_2"}, {"avx2"}])
def test_a_processor_without_the_instructions_keeps_its_kernels(monkeypatch, flags) -> None:
    monkeypatch.delenv(openblas.CORETYPE, raising=False)
    monkeypatch.setattr(openblas, "processor_flags", lambda: flags)
    assert openblas.common_kernels() == {}


@pytest.mark.parametrize(
    ("numpy", "scipy", "heeds"),
    [
        ("0.3.27", "0.3.28", True),
        ("0.3.31.188.0", "0.3.31.dev", True),
        ("0.3.33", "0.3.33", True),
        ("0.3.34.237.2", "0.3.31.dev", False),
        ("0.3.31.188.0", "0.3.34", False),
        ("0.4.0", "0.3.31", False),
    ],
)
def test_an_openblas_that_crashes_with_them_keeps_its_kernels(
    on_any_processor, packages, numpy, scipy, heeds
) -> None:
    state_versions(packages, numpy, scipy)
    chosen = {openblas.CORETYPE: openblas.KERNELS} if heeds else {}
    assert openblas.common_kernels() == chosen


@pytest.mark.parametrize("text", [None, '"blas": {"name": "mkl-sdl", "version": "2025.0"}'])
def test_another_blas_keeps_its_kernels(on_any_processor, packages, text) -> None:
    state_versions(packages, "0.3.31", "0.3.31")
    configuration = packages / "numpy" / "__config__.py"
    if text is None:
        configuration.unlink()
    else:
        configuration.write_text(text)
    assert openblas.common_kernels() == {}


def test_the_version_is_known_without_loading_the_library() -> None:
    for part in threadpool_info():
        for package in ("numpy", "scipy"):
            if f"{package}.libs" in part["filepath"]:
                version = openblas.openblas_of(package)
                assert version is not None
                assert part["version"].startswith(".".join(map(str, version)))


def test_a_package_that_is_not_there_brings_none() -> None:
    assert openblas.openblas_of("no_such_package") is None
