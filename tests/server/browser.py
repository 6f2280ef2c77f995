"""A real browser for the tests of the page: Debian's chromium, headless, with a webcam that is not one."""

import os
import shutil
import subprocess

import pytest


def chromium() -> tuple[str, str]:
    """The paths of chromium and its driver; they are installed if we may, or the test is skipped."""
    is_there = shutil.which("chromium") and shutil.which("chromedriver")
    if not is_there and shutil.which("apt-get") and os.geteuid() == 0:
        for command in (["update"], ["install", "-y", "chromium", "chromium-driver"]):
            subprocess.run(["apt-get", "-qq", *command], capture_output=True, timeout=600)
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not browser or not driver:
        pytest.skip(
            "there is no chromium with its driver, and it cannot be installed here (apt-get, as root)"
        )
    return browser, driver


DESK = (1400, 1000)


def open_browser(downloads, size=DESK, dark=False):
    """Start a browser whose files land in a folder."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    browser, driver = chromium()
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--hide-scrollbars",
        "--use-fake-ui-for-media-stream",
        "--use-fake-device-for-media-stream",
        f"--window-size={size[0]},{size[1]}",
    ):
        options.add_argument(argument)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    show_as(opened, size, dark)
    return opened


def show_as(opened, size=DESK, dark=False):
    """Make the page as large as a device's, and light or dark as its user likes it."""
    width, height = size
    opened.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
