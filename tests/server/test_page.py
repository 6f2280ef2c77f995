"""The page in a real browser; screenshots are kept in `screenshots/`, or where ANYSCENE_SCREENSHOTS says."""

import base64
import json
import os
import re
import shutil
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from tests.server.browser import open_browser, show_as
from tests.server.conftest import PATIENT, wait_for

By = pytest.importorskip("selenium.webdriver.common.by", reason="selenium is not installed").By
from selenium.webdriver.common.action_chains import ActionChains  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import Select, WebDriverWait  # noqa: E402

DROP = """
const [data, name, type] = arguments;
const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
const transfer = new DataTransfer();
transfer.items.add(new File([bytes], name, { type }));
const target = document.getElementById("stage");
for (const kind of ["dragenter", "dragover", "drop"])
  target.dispatchEvent(new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true }));
"""
PASTE = """
const [data] = arguments;
const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
const transfer = new DataTransfer();
transfer.items.add(new File([bytes], "pasted.png", { type: "image/png" }));
document.dispatchEvent(new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true }));
"""


@pytest.fixture(scope="module")
def page_server(servers, model_file):
    """A server of the page's own: budgets are not shared with other tests."""
    second = model_file.with_name("second.anyscene")
    shutil.copy(model_file, second)
    return servers.start(
        models={"small": str(model_file), "second": str(second)}, limits={**PATIENT, "queue_length": 1}
    )


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def opened(downloads):
    browser = open_browser(downloads)
    yield browser
    browser.quit()


@pytest.fixture
def browser(opened, page_server, request):
    """The page, freshly loaded; whatever a test does, nothing may be wrong in the console after it."""
    opened.get("about:blank")
    opened.get_log("browser")
    opened.get(page_server.url)
    until(opened, lambda: opened.find_elements(By.CSS_SELECTOR, "#pane-a .model option"))
    yield opened
    keep(opened, request.node.name)
    allowed = request.node.get_closest_marker("refused_requests")
    entries = [entry for entry in opened.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
    assert not [entry for entry in entries if not (allowed and entry["source"] == "network")]


def keep(browser, name):
    folder = Path(os.environ.get("ANYSCENE_SCREENSHOTS", Path(__file__).parents[2] / "screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(f"{folder}/{name}.png")


def until(browser, condition, seconds=60):
    return WebDriverWait(browser, seconds).until(lambda _: condition())


def plans_of(server, model):
    """How many pictures a model has labelled."""
    text = httpx.get(f"{server.url}/metrics").text
    found = re.findall(rf'^anyscene_plans_total{{model="{model}".*}} (\S+)$', text, re.MULTILINE)
    return sum(map(float, found))


def verdict(browser, pane="pane-a"):
    return browser.find_element(By.CSS_SELECTOR, f"#{pane} .verdict").text


def drop(browser, data, name="street.png", kind="image/png"):
    browser.execute_script(DROP, base64.b64encode(data).decode(), name, kind)


def value(browser):
    return browser.find_element(By.ID, "budget-value").text


def labelled(browser, pane="pane-a"):
    until(browser, lambda: verdict(browser, pane))


def painted(browser):
    """The alpha of all overlay pixels, summed."""
    script = """
    const { width, height } = document.querySelector("#pane-a .labels");
    const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
    copy.drawImage(document.querySelector("#pane-a .labels"), 0, 0);
    const { data } = copy.getImageData(0, 0, width, height);
    let sum = 0;
    for (let index = 3; index < data.length; index += 4) sum += data[index];
    return sum;
    """
    return browser.execute_script(script)


def test_a_dropped_photo_is_labelled(browser, photo):
    drop(browser, photo)
    labelled(browser)
    assert painted(browser) == 255 * 120 * 90
    legend = browser.find_elements(By.CSS_SELECTOR, "#legend button")
    assert legend
    shares = [one.find_element(By.CSS_SELECTOR, ".share").text for one in legend]
    total = sum(float(share.strip("<% ")) for share in shares)
    assert 98 < total < 102


def test_a_pasted_photo_is_labelled(browser, photo):
    browser.execute_script(PASTE, base64.b64encode(photo).decode())
    labelled(browser)


def test_a_file_can_be_chosen(browser, photo, tmp_path):
    path = tmp_path / "street.png"
    path.write_bytes(photo)
    browser.find_element(By.ID, "file").send_keys(str(path))
    labelled(browser)


def test_examples_are_real_pictures(browser):
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, "#examples img")) >= 3)
    browser.find_element(By.CSS_SELECTOR, "#examples button").click()
    labelled(browser)


def test_the_slider_relabels_while_it_is_dragged(browser, photo, page_server):
    drop(browser, photo)
    labelled(browser)
    before = browser.find_element(By.ID, "budget-value").text
    requests = page_server.metric("anyscene_requests_total")
    slider = browser.find_element(By.ID, "budget")
    chain = ActionChains(browser, duration=50).click_and_hold(slider)
    for _ in range(10):
        chain.move_by_offset(15, 0).pause(0.25)
    chain.perform()  # still held
    until(browser, lambda: page_server.metric("anyscene_requests_total") >= requests + 2)
    ActionChains(browser).release().perform()
    assert browser.find_element(By.ID, "budget-value").text != before
    until(browser, lambda: verdict(browser).split(" of ")[-1].startswith(value(browser)))
    assert browser.find_elements(By.CSS_SELECTOR, "#curve .line")
    assert browser.find_elements(By.CSS_SELECTOR, "#bar div")


def test_the_slider_is_logarithmic_from_half_a_millisecond_to_a_second(browser):
    slider = browser.find_element(By.ID, "budget")
    slider.send_keys(Keys.HOME)
    assert browser.find_element(By.ID, "budget-value").text == "0.5 ms"
    slider.send_keys(Keys.END)
    assert browser.find_element(By.ID, "budget-value").text == "1.0 s"
    assert slider.get_attribute("aria-valuetext") == "1.0 s"
    slider.send_keys(Keys.ARROW_LEFT)
    assert browser.find_element(By.ID, "budget-value").text != "1.0 s"


def test_hovering_tells_class_and_confidence(browser, photo):
    drop(browser, photo)
    labelled(browser)
    canvas = browser.find_element(By.CSS_SELECTOR, "#pane-a .labels")
    ActionChains(browser).move_to_element(canvas).perform()
    probe = browser.find_element(By.CSS_SELECTOR, "#pane-a .probe")
    assert "% sure" in probe.text
    width, height = canvas.size["width"], canvas.size["height"]
    for x, y in ((0.02, 0.02), (0.5, 0.5), (0.6, 0.8), (0.98, 0.98)):  # it stays inside of the picture
        aside = round((x - 0.5) * width), round((y - 0.5) * height)
        ActionChains(browser).move_to_element_with_offset(canvas, *aside).perform()
        assert canvas.rect["x"] <= probe.rect["x"] <= canvas.rect["x"] + width - probe.rect["width"]
        assert canvas.rect["y"] <= probe.rect["y"] <= canvas.rect["y"] + height - probe.rect["height"]
    ActionChains(browser).move_to_element(browser.find_element(By.ID, "open")).perform()
    assert not probe.is_displayed()


def test_the_keyboard_moves_the_probe(browser, photo):
    drop(browser, photo)
    labelled(browser)
    canvas = browser.find_element(By.CSS_SELECTOR, "#pane-a .labels")
    canvas.send_keys(Keys.ARROW_DOWN)
    assert "percent sure" in browser.find_element(By.ID, "spoken").get_attribute("textContent")


def test_a_class_can_be_toggled(browser, photo):
    drop(browser, photo)
    labelled(browser)
    whole = painted(browser)
    browser.find_element(By.CSS_SELECTOR, "#legend button").click()
    ActionChains(browser).move_to_element(browser.find_element(By.ID, "open")).perform()
    browser.execute_script("document.activeElement.blur()")
    assert painted(browser) < whole
    assert browser.find_element(By.CSS_SELECTOR, "#legend button").get_attribute("aria-pressed") == "false"
    browser.find_element(By.ID, "all").click()
    assert painted(browser) == whole


def test_opacity_shows_the_photo(browser, photo):
    drop(browser, photo)
    labelled(browser)
    browser.find_element(By.ID, "opacity").send_keys(Keys.HOME)
    style = browser.find_element(By.CSS_SELECTOR, "#pane-a .labels").value_of_css_property("opacity")
    assert float(style) == 0


def test_two_budgets_stand_side_by_side(browser, photo):
    drop(browser, photo)
    labelled(browser)
    browser.find_element(By.ID, "compare").click()
    until(browser, lambda: "of pixels differ" in verdict(browser, "pane-b"))
    assert browser.find_element(By.ID, "budget-b").is_displayed()
    before = verdict(browser, "pane-b")
    browser.find_element(By.ID, "budget-b").send_keys(Keys.END)
    until(browser, lambda: "of 1.0 s" in verdict(browser, "pane-b") != before)


def test_two_models_stand_side_by_side(browser, photo, page_server):
    drop(browser, photo)
    labelled(browser)
    browser.find_element(By.ID, "compare").click()
    labelled(browser, "pane-b")
    before = plans_of(page_server, "second")
    Select(browser.find_element(By.CSS_SELECTOR, "#pane-b .model")).select_by_value("second")
    until(browser, lambda: plans_of(page_server, "second") > before)


@pytest.mark.parametrize(("button", "suffix"), [("save-png", "png"), ("save-json", "json")])
def test_labels_are_downloaded(browser, photo, downloads, button, suffix):
    drop(browser, photo)
    labelled(browser)
    browser.find_element(By.ID, button).click()
    path = downloads / f"street.labels.{suffix}"
    until(browser, path.exists)
    if suffix == "png":
        assert np.asarray(Image.open(path)).shape == (90, 120)
    else:
        assert json.loads(path.read_text())["annotations"]


def test_the_webcam_is_labelled_live(browser):
    browser.find_element(By.ID, "webcam").click()
    until(browser, lambda: "last look" in verdict(browser))  # the stream remembers the frames before
    assert "frames/s" in verdict(browser)
    browser.find_element(By.ID, "webcam").click()
    assert browser.find_element(By.ID, "webcam").get_attribute("aria-pressed") == "false"
    assert not browser.find_element(By.ID, "notice").is_displayed()


def test_the_last_frame_of_the_webcam_stays_as_a_photo(browser, photo):
    drop(browser, photo)
    labelled(browser)
    browser.find_element(By.ID, "webcam").click()
    until(browser, lambda: "frames/s" in verdict(browser))
    browser.find_element(By.ID, "webcam").click()
    until(browser, lambda: browser.find_element(By.ID, "save-png").is_enabled())
    browser.find_element(By.ID, "budget").send_keys(Keys.END)
    until(browser, lambda: "of 1.0 s" in verdict(browser))
    assert painted(browser) > 255 * 400 * 200  # labels of the frame, not of the small photo before it
    browser.find_element(By.ID, "compare").click()
    until(browser, lambda: "of pixels differ" in verdict(browser, "pane-b"))
    drop(browser, photo)
    until(browser, lambda: painted(browser) == 255 * 120 * 90)


def test_a_bad_file_is_told(browser):
    drop(browser, b"this is no picture", "notes.png")
    notice = browser.find_element(By.ID, "notice")
    until(browser, notice.is_displayed)
    assert "notes.png" in notice.text
    assert "PNG, JPEG or WebP" in notice.text


@contextmanager
def busy(server, photo):
    """Give the worker a request that takes for ever so long; another one has the only place in the queue."""
    (worker,) = server.workers()
    with ThreadPoolExecutor(2) as others:
        os.kill(worker, signal.SIGSTOP)
        try:
            for count in (0, 1):
                others.submit(httpx.post, f"{server.url}/v1/label", content=photo, timeout=60)
                wait_for(lambda count=count: server.metric("anyscene_queue_length") == count)
                wait_for(lambda count=count: server.metric("anyscene_queue_bytes") > count * len(photo))
            yield
        finally:
            os.kill(worker, signal.SIGCONT)


@pytest.mark.refused_requests
def test_a_busy_server_is_told_and_tried_again(browser, photo, page_server):
    with busy(page_server, photo):
        drop(browser, photo)
        notice = browser.find_element(By.ID, "notice")
        until(browser, notice.is_displayed)
        assert "The server is busy; trying again in" in notice.text
    labelled(browser)


def test_a_server_that_is_too_busy_for_the_webcam_is_told_and_tried_again(browser, photo, page_server):
    with busy(page_server, photo):
        browser.find_element(By.ID, "webcam").click()
        notice = browser.find_element(By.ID, "notice")
        until(browser, notice.is_displayed)
        assert "the server is busy" in notice.text
    until(browser, lambda: "frames/s" in verdict(browser))
    browser.find_element(By.ID, "webcam").click()


def test_nothing_comes_from_elsewhere(browser, photo, page_server):
    drop(browser, photo)
    labelled(browser)
    script = "return performance.getEntriesByType('resource').map((entry) => entry.name)"
    loaded = browser.execute_script(script)
    assert loaded
    assert all(name.startswith((page_server.url, "blob:")) for name in loaded)


def test_the_interface_is_shown(browser, page_server):
    browser.get(f"{page_server.url}/docs")
    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, ".card")) > 8)
    assert "/v1/label" in browser.find_element(By.ID, "paths").text


def test_a_photo_can_be_labelled_and_probed_with_the_keyboard_alone(browser):
    def press(*keys):
        ActionChains(browser).send_keys(*keys).perform()

    def focused():
        return browser.switch_to.active_element

    until(browser, lambda: len(browser.find_elements(By.CSS_SELECTOR, "#examples img")) >= 3)
    for _ in range(12):
        press(Keys.TAB)
        if focused().find_elements(By.CSS_SELECTOR, "img") and focused().tag_name == "button":
            break
    press(Keys.ENTER)
    labelled(browser)
    for _ in range(20):
        press(Keys.TAB)
        if focused().get_attribute("id") == "budget":
            break
    press(Keys.ARROW_LEFT * 5)
    until(browser, lambda: verdict(browser).split(" of ")[-1].startswith(value(browser)))


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [(390, 844), (1400, 1000)])
def test_it_fits_phones_and_desks_in_light_and_dark(browser, photo, size, dark):
    show_as(browser, size, dark)
    try:
        drop(browser, photo)
        labelled(browser)
        keep(browser, f"fits-{size[0]}-{'dark' if dark else 'light'}")
        assert browser.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        back = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, back[4:-1].split(","))) < 380) == dark
        buttons = browser.find_elements(By.CSS_SELECTOR, "button, select")
        assert all(one.size["height"] >= 36 for one in buttons if one.is_displayed())  # fingers are thick
    finally:
        show_as(browser)
