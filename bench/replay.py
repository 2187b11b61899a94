"""The replay of a page: its size, and frames per second in software rendering.

Every robot sweeps its joints, and tracks a reference with three ghosts beside it, in a headless
Chromium that draws by SwiftShader on the processor. The page counts its own frames.

    python bench/replay.py [ROBOT ...]
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from selenium import webdriver

from robotid_sim.model.catalog_files import find_urdf
from robotid_sim.model.robot import Robot
from robotid_sim.report.page import Page, page_text
from robotid_sim.report.replay.motions import Replay, ReplayMotion, make_tracking_motion
from robotid_sim.trajectory.reference import PointToPoint
from robotid_sim.viewer.animation import Animation

SECONDS = 6.0
"""Time of a measurement [s]."""
FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--enable-unsafe-swiftshader"),
    *("--disable-background-networking", "--disable-dev-shm-usage", "--window-size=1400,1000"),
)
PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
REPLAY = "document.getElementById('replay').replay"


def replay_of(robot: Robot) -> Replay:
    """Return a sweep, and a reference with three arms beside it."""
    middle, half = robot.limits.middle, robot.limits.half_range
    path = PointToPoint(robot.joint_names, middle - 0.2 * half, middle + 0.2 * half, 0.0, 3.0)
    t = np.linspace(0.0, 3.0, 180)
    models = ("true", "nominal", "identified")
    errors = {
        model: (model, t, 0.1 * k * np.sin(t)[:, None] * half / half.max())
        for k, model in enumerate(models)
    }
    sweep = ReplayMotion("sweep", Animation.sweep(robot))
    return Replay(robot, (sweep, make_tracking_motion(robot, "tracking", path, errors)))


def frames_per_second(driver: webdriver.Chrome, motion: str) -> float:
    """Return how often the page draws while a motion plays."""
    driver.execute_script(f"const r = {REPLAY}; r.seek(0, '{motion}'); r.play(true);")
    time.sleep(3.0)  # the page finds the size that it can draw in time
    before, began = driver.execute_script(f"return {REPLAY}.frames"), time.perf_counter()
    time.sleep(SECONDS)
    frames = driver.execute_script(f"return {REPLAY}.frames") - before
    seconds = time.perf_counter() - began
    driver.execute_script(f"{REPLAY}.play(false)")
    return float(frames / seconds)


def main(names: list[str]) -> None:
    """Print a row for every robot."""
    options = webdriver.ChromeOptions()
    options.binary_location = next(filter(None, map(shutil.which, ("chromium", "google-chrome"))))
    for flag in FLAGS:
        options.add_argument(flag)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    print(
        f"{'robot':20} {'page [MB]':>9} {'paint [ms]':>10} {'sweep':>8} {'3 ghosts':>8}  frames/s"
    )
    try:
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                robot = Robot.from_urdf(find_urdf(name))
                page = Page(title=robot.name, finding="", sections=(), replay=replay_of(robot))
                path = Path(folder) / "page.html"
                path.write_text(page_text(page), encoding="utf-8")
                driver.get(path.as_uri())
                time.sleep(2.0)
                paint = driver.execute_script(PAINT)
                rates = [frames_per_second(driver, motion) for motion in ("sweep", "tracking")]
                scale = driver.execute_script(f"return {REPLAY}.state.scale")
                size = path.stat().st_size / 1e6
                print(
                    f"{robot.name:20} {size:9.2f} {paint:10.0f} {rates[0]:8.0f} {rates[1]:8.0f}  "
                    f"at {scale:.2f} of the resolution"
                )
    finally:
        driver.quit()


if __name__ == "__main__":
    main(sys.argv[1:] or ["irb140", "twolink"])
