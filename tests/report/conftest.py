"""A study, and pages with a replay in a headless browser."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from headless import chromium, open_page
from replay_pages import REPLAY, ROBOTS, page_of
from robots import urdf_path
from selenium import webdriver

from robotid_sim.model.robot import Robot
from robotid_sim.report.page import write_page


@pytest.fixture
def study(quick_study):
    """Return the quick study of irb140."""
    return quick_study[0]


@pytest.fixture(scope="module")
def driver(tmp_path_factory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("p"), "--enable-unsafe-swiftshader") as chrome:
        yield chrome


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, Path]:
    """Pages by robot."""
    folder, files = tmp_path_factory.mktemp("pages"), {}
    for name in ROBOTS:
        files[name] = folder / f"{name}.html"
        write_page(page_of(Robot.from_urdf(urdf_path(name))), files[name])
    return files


@pytest.fixture
def opened(driver, pages) -> Callable[..., object]:
    """Return a context manager that opens a page and waits for its replay."""

    @contextmanager
    def opened(page: str | Path = "2r", width: int = 1100, **media: str):
        open_page(driver, pages.get(page, page), REPLAY, width, **media)
        yield driver

    return opened
