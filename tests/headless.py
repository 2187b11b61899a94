"""A headless Chromium for tests of pages."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.support.ui import WebDriverWait

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
QUIET = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--disable-dev-shm-usage",
)
WAIT = 30.0
"""Longest wait for a page [s]."""


@contextmanager
def chromium(folder: Path, *flags: str) -> Iterator[webdriver.Chrome]:
    """Give a browser with its profile in a folder, and flags beyond those of all."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver_path = shutil.which("chromedriver")
    assert found, "no Chromium; install the package chromium"
    assert driver_path, "no chromedriver; install the package chromium-driver"
    options = webdriver.ChromeOptions()
    options.binary_location = found
    for flag in (*QUIET, *flags, f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver_path))
    try:
        yield driver
    finally:
        driver.quit()


def open_page(
    driver: webdriver.Chrome, page: Path, ready: str, width: int = 1100, **media: str
) -> None:
    """Open a page under media features and wait until an expression of JavaScript is true."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    set_media(driver, **media)
    driver.get("about:blank")  # leave the browser's own start page behind
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(page.as_uri())
    WebDriverWait(driver, WAIT).until(lambda d: d.execute_script(f"return Boolean({ready})"))


def set_media(driver: webdriver.Chrome, **media: str) -> None:
    """Set features of the medium, as ``prefers_color_scheme="dark"``; the rest as it comes."""
    features = [{"name": name.replace("_", "-"), "value": value} for name, value in media.items()]
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def complaints(driver: webdriver.Chrome) -> list[dict]:
    """Return what the browser complained of; that it draws in space by software is its own."""
    return [entry for entry in driver.get_log("browser") if entry["source"] != "rendering"]


def requests(driver: webdriver.Chrome) -> list[str]:
    """Return the addresses that were asked for since a page was opened."""
    sent = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    wanted = [e for e in sent if e["method"] == "Network.requestWillBeSent"]
    return [e["params"]["request"]["url"] for e in wanted]
