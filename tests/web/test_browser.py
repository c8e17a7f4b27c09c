"""The page in a real browser, on a server whose robot does what the test says."""

from __future__ import annotations

import json
import re
import shutil
import struct
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from edgeagent.events import Notice, ToolExecutionUpdate
from edgeagent.messages import ToolCall
from edgeagent.web import Question
from tests.cli.conftest import Command
from tests.web.conftest import Relay, Robot, Serving

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
LIMIT_MS = 20_000
WORKSHOP = Path(__file__).parents[1] / "mcp_tools" / "workshop.py"
OF_RUN: Any = {"seq": 0, "t": 0.0, "run_id": "r", "agent": "robi", "turn": 1}
PHONE = {"width": 360, "height": 740}

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as started:
        running = started.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens pages of a server. What the browser complains of fails the test."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def visiting(address: str, **options: Any) -> Any:
        contexts.append(browser.new_context(**options))
        contexts[-1].set_default_timeout(LIMIT_MS)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if "Content Security" in said.text else None)
        page.goto(address)
        return page

    yield visiting
    for context in contexts:
        context.close()
    assert complaints == []


def address(serving: Serving) -> str:
    fragment = "" if serving.token is None else f"#{serving.token}"
    return f"http://127.0.0.1:{serving.port}/{fragment}"


def notice(text: str) -> Notice:
    return Notice(**OF_RUN, level="info", text=text)


def png(width: int, height: int) -> bytes:
    """Returns a grey picture."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    rows = chunk(b"IDAT", zlib.compress((b"\0" + b"\x80" * width) * height))
    return b"\x89PNG\r\n\x1a\n" + header + rows + chunk(b"IEND", b"")


def notes(page: Any) -> list[str]:
    return [text.strip() for text in page.locator("li.note").all_inner_texts()]


def test_two_pages_type_stop_by_key_and_allow_motion_again(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    serving = serve(robot, aloud=True)
    robot.level = (-30.0, -60.0, True)
    one, other = visit(address(serving)), visit(address(serving), viewport=PHONE, has_touch=True, is_mobile=True)
    one.get_by_role("meter", name="Microphone").wait_for()
    one.get_by_label("Say something to the robot").fill("  hello <b>there</b> ")
    one.keyboard.press("Enter")
    one.locator("input[name=line]:placeholder-shown").wait_for()
    assert robot.entered == ["hello <b>there</b>"]
    one.get_by_role("button", name="Mute").click()
    one.get_by_role("button", name="Unmute").wait_for()
    other.get_by_role("button", name="Unmute").wait_for()
    one.keyboard.press("Escape")
    one.get_by_role("button", name="It may move again").wait_for()
    assert robot.latch.reason == "stop button of the page"
    other.get_by_role("button", name="It may move again").tap()
    one.get_by_role("button", name="It may move again").wait_for(state="detached")
    assert robot.latch.state == "free"
    other.get_by_role("button", name="Stop the robot. Key: Escape").tap()
    one.get_by_role("button", name="It may move again").wait_for()
    assert robot.latch.state == "tripped"


def test_a_stop_waits_for_no_other_tab_of_its_browser(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    serving = serve(robot)
    first = visit(address(serving))
    first.get_by_text("ready").wait_for()
    for _ in range(7):
        last = first.context.new_page()
        last.goto(address(serving))
        last.get_by_text("ready").wait_for()
    first.get_by_text("Not connected", exact=True).wait_for()
    last.keyboard.press("Escape")
    last.get_by_role("button", name="It may move again").wait_for()
    assert robot.latch.state == "tripped"
    first.evaluate("dispatchEvent(new Event('focus'))")
    first.get_by_role("button", name="It may move again").wait_for()


def test_a_phone_has_large_buttons_and_nothing_beside_its_edge(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    serving = serve(robot)
    for number in range(40):
        serving.put(notice(f"line {number} " + "longwordwithoutend" * 8))
    page = visit(address(serving), viewport=PHONE, has_touch=True, is_mobile=True, color_scheme="dark")
    page.get_by_text("line 39").wait_for()
    stop = page.get_by_role("button", name="Stop the robot. Key: Escape").bounding_box()
    assert stop["height"] >= 60
    assert stop["width"] >= 300
    assert 0 <= stop["y"] <= PHONE["height"] - stop["height"], "it can be seen without scrolling"
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    for button in page.get_by_role("button").all():
        assert button.bounding_box()["height"] >= 44
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 19, 22)"


def test_a_question_is_answered_by_a_button(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    page = visit(address(serve(robot)))
    robot.question = Question(4, "allow erase?", True)
    page.get_by_role("alertdialog").get_by_text("allow erase?").wait_for()
    page.get_by_role("button", name="Yes").click()
    assert robot.answering.acquire(timeout=LIMIT_MS / 1000)
    assert robot.answered == [(4, "yes")]
    robot.question = None
    page.get_by_role("alertdialog").wait_for(state="detached")


def test_a_lost_connection_is_told_in_big_letters_and_nothing_is_lost_or_doubled(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    serving = serve(robot)
    relay = Relay(serving.port)
    page = visit(f"http://127.0.0.1:{relay.port}/")
    serving.put(notice("before"))
    page.get_by_text("before").wait_for()
    relay.silence()
    alert = page.get_by_role("alert").filter(has_text="The stop button stops nothing now")
    alert.wait_for()
    assert alert.locator("strong").evaluate("element => parseFloat(getComputedStyle(element).fontSize)") >= 24
    page.get_by_role("button", name="Stop button: not connected, stops nothing").wait_for()
    serving.put(notice("meanwhile"))
    relay.mend()
    alert.wait_for(state="detached")
    page.get_by_text("meanwhile").wait_for()
    serving.put(notice("after"))
    page.get_by_text("after").wait_for()
    assert notes(page) == ["before", "meanwhile", "after"]
    relay.close()


def test_the_token_leaves_the_address_and_opens_the_page_and_a_bookmark_of_it(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    robot.map = (
        "image/svg+xml",
        b'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 3"><rect width="4" height="3"/></svg>',
    )
    serving = serve(robot, token="t" * 32)
    page = visit(address(serving))
    page.get_by_role("img", name=re.compile("map")).wait_for()
    assert page.url == f"http://127.0.0.1:{serving.port}/"
    page.reload()
    page.get_by_role("button", name="Stop the robot. Key: Escape").wait_for()
    assert page.context.cookies() == []
    bookmark = page.url
    page.close()
    again = page.context.new_page()
    again.goto(bookmark)
    again.get_by_role("button", name="Stop the robot. Key: Escape").wait_for()
    stranger = visit(address(serving).partition("#")[0])
    stranger.get_by_label(re.compile("asks for a token")).fill("t" * 32)
    stranger.get_by_role("button", name="Open").click()
    stranger.get_by_role("button", name="Stop the robot. Key: Escape").wait_for()


def test_the_map_and_a_picture_of_a_tool_are_shown_beside_each_other(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    robot.map = "image/svg+xml", b'<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"/>'
    serving = serve(robot)
    page = visit(address(serving))
    page.get_by_role("img", name="The map of the robot").wait_for()
    serving.put(ToolExecutionUpdate(**OF_RUN, call=ToolCall("c", "look"), update=png(2, 1)))
    shown = page.get_by_role("img", name="The newest picture of a tool")
    shown.wait_for()
    width = "async element => (await element.decode(), element.naturalWidth)"
    assert shown.evaluate(width) == 2
    assert page.get_by_role("img", name="The map of the robot").is_visible()
    before = shown.get_attribute("src")
    serving.put(ToolExecutionUpdate(**OF_RUN, call=ToolCall("c", "look"), update=png(5, 1)))
    page.locator(f'.picture img[alt*="tool"]:not([src="{before}"])').wait_for()
    assert shown.evaluate(width) == 5


def test_what_is_said_is_text_whatever_it_holds(serve: Callable[..., Serving], visit: Callable[..., Any]) -> None:
    serving = serve()
    nasty = "<img src=x onerror=alert(1)> <script>alert(2)</script> \u202e ${x} &amp;"
    serving.put(notice(nasty))
    page = visit(address(serving))
    page.get_by_text("<script>alert(2)</script>").wait_for()
    assert page.locator("li.note img, li.note script").count() == 0


def test_a_thousand_events_a_second_leave_the_page_at_work(
    serve: Callable[..., Serving], robot: Robot, visit: Callable[..., Any]
) -> None:
    serving = serve(robot)
    page = visit(address(serving))
    page.get_by_text("Nothing was said yet.").wait_for()
    pace = threading.Event()

    def flood() -> None:
        begun_s = time.monotonic()
        for number in range(2000):
            serving.put(notice(f"event {number}"))
            pace.wait(max(begun_s + number / 1000 - time.monotonic(), 0))

    flooding = threading.Thread(target=flood)
    flooding.start()
    page.keyboard.press("Escape")
    page.get_by_role("button", name="It may move again").wait_for()
    assert robot.latch.state == "tripped"
    page.get_by_text("event 1999").wait_for()
    flooding.join()
    assert page.locator("li.note").count() == 300


def test_the_page_drives_the_house_robot_on_nano(at_terminal: Any, visit: Callable[..., Any]) -> None:
    terminal = at_terminal("chat", "--web", "--web-port", "0")
    found = re.search(r"page: (http://\S+)", terminal.expect(r"page: \S+\n"))
    assert found is not None
    page = visit(found[1])
    page.get_by_role("status", name="State: ready").wait_for()
    page.get_by_role("img", name=re.compile("map")).wait_for()
    line = page.get_by_label("Say something to the robot")
    line.fill("how full is your battery?")
    line.press("Enter")
    page.locator("li.robot", has_text=re.compile("battery.*percent")).wait_for()
    page.locator("li.tool.good", has_text="get_battery").wait_for()
    assert page.locator(".times .bars i.tool").count() == 1
    before = page.get_by_role("img", name=re.compile("map")).get_attribute("src")
    line.fill("go to the kitchen")
    line.press("Enter")
    page.locator("li.tool.running", has_text="go_to kitchen").wait_for()
    page.locator(f'.picture img:not([src="{before}"])').wait_for()
    page.keyboard.press("Escape")
    page.locator("li.tool.bad", has_text="stopped for safety").wait_for()
    page.get_by_role("status", name="State: stopped").wait_for()
    terminal.expect("■ stopped \\(stop button of the page\\)")
    terminal.enter("continue")
    page.get_by_role("status", name="State: ready").wait_for()
    terminal.enter("/quit")
    page.get_by_role("alert").get_by_text("program has ended").wait_for()
    assert terminal.ends() == 0


def test_a_picture_of_another_program_s_tool_is_shown(
    edgeagent: Command, at_terminal: Any, visit: Callable[..., Any], tmp_path: Path
) -> None:
    settings = tmp_path / "settings.toml"
    settings.write_text(f'[[mcp]]\nname = "shop"\ncommand = {json.dumps([sys.executable, str(WORKSHOP)])}\n')
    terminal = at_terminal("chat", "--web", "--web-port", "0", "--config", settings, house=True)
    found = re.search(r"page: (http://\S+)", terminal.expect(r"page: \S+\n"))
    assert found is not None
    page = visit(found[1])
    line = page.get_by_label("Say something to the robot")
    line.fill("shop_photo")
    line.press("Enter")
    shown = page.get_by_role("img", name="The newest picture of a tool")
    shown.wait_for()
    assert shown.evaluate("async element => (await element.decode(), element.naturalWidth)") == 2
    answer = httpx2.get(f"{found[1]}api/picture")
    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")
