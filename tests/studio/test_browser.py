"""Whole stories in a real browser: Chromium, driven by Playwright.

pip install playwright && apt-get install chromium
pytest -m browser
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gamedsl
from gamedsl.runtime import Action
from gamedsl.runtime.transcripts import dump
from gamedsl.view.report.page import write_report
from tests.report.runs import write_run
from tests.studio.test_pages import LEAKY, run_of_stag_hunt

pytestmark = pytest.mark.browser

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium")

STAG = {"hunter_1:move": "stag", "hunter_2:move": "stag"}
"""The last policy of a run of `stag_hunt`."""

SCRIPT = '<img src=x onerror="window.hacked = 1"><script>window.hacked = 1</script>'


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: `apt-get install chromium`")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """A page of the studio's owner; it fails the test where something is refused or raised."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    found = context.new_page()
    faults: list[str] = []
    found.on("pageerror", lambda error: faults.append(str(error)))
    found.on("request", lambda request: faults.append(request.url) if _leaves(request) else None)
    found.goto(address)
    found.wait_for_url(re.compile(r"/$"))
    found.set_default_timeout(30_000)
    yield found
    context.close()
    assert faults == []


def _leaves(request: Any) -> bool:
    """Whether a request goes to another machine."""
    return not request.url.startswith(("http://127.0.0.1:", "data:"))


def base_of(address: str) -> str:
    return address.partition("/?")[0]


def start(page: Any, address: str, game: str, **held: str) -> None:
    """Starts a play by the form, by mouse."""
    page.goto(f"{base_of(address)}/play?file={game}")
    for seat, who in held.items():
        page.select_option(f"[name='seat.{seat}']", who)
    page.click("form.setup button:text-is('Play')")
    page.wait_for_url(re.compile("/(seat|tables)/"))


def test_token_leaves_the_address(page: Any, address: str) -> None:
    assert "token" not in page.url
    assert page.evaluate("document.cookie") == ""


def test_file_is_edited_until_it_is_right(page: Any, address: str, folder: Path) -> None:
    page.goto(f"{base_of(address)}/new")
    page.keyboard.type("edited")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=No problem found")
    text = page.input_value("textarea")
    page.fill("textarea", text.replace("roles:", "rolls:"))
    page.wait_for_selector("text=unknown key `rolls`")
    line = text[: text.index("roles:")].count("\n") + 1
    problem = page.locator("#problems li").first
    numbered = page.locator(".numbers b").first
    assert numbered.inner_text().strip() == f"✗ {line}"
    assert abs(problem.bounding_box()["y"] - numbered.bounding_box()["y"]) < 40
    page.click("#problems button:has-text('Do it')")
    page.wait_for_selector("text=No problem found")
    assert page.input_value("textarea") == text
    page.keyboard.press("Control+s")
    page.wait_for_selector("text=Saved:")
    assert (folder / "edited.yaml").read_text(encoding="utf-8").strip() == text.strip()
    page.click("nav.tabs a:has-text('Turns')")
    picture = page.locator(".picture img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100


def test_colours_follow_what_is_typed(page: Any, address: str, folder: Path) -> None:
    text = "game: painted\nabout: |\n  roles: 3 # text\nroles: [a, 'b # c'] # two\n" + "#\n" * 60
    (folder / "painted.yaml").write_text(text, encoding="utf-8")
    page.goto(f"{base_of(address)}/game?file=painted.yaml")
    page.wait_for_selector("form.painted")

    def coloured(kind: str) -> list[str]:
        return page.locator(f".paint .{kind}").all_inner_texts()

    assert coloured("key") == ["game", "about", "roles"]
    assert coloured("quoted") == ["'b # c'"]
    assert coloured("comment")[:2] == ["# two", "#"]
    assert coloured("number") == []
    page.keyboard.insert_text(f"{SCRIPT} 7 ")
    assert coloured("number") == ["1", "7"]
    assert page.evaluate("window.hacked") is None
    page.keyboard.press("Control+z")
    assert coloured("number") == []
    assert page.input_value("textarea").strip() == text.strip()
    devices = page.context.new_cdp_session(page)  # an input method that has not ended its word
    word = {"text": "かな", "selectionStart": 2, "selectionEnd": 2}
    devices.send("Input.imeSetComposition", word)
    area, paint = page.locator("textarea"), page.locator(".paint")
    assert "かな" in area.input_value()
    assert paint.evaluate("e => e.textContent") == area.input_value() + "\n"
    frame = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(f"document.querySelector('textarea').scrollTo(0, 300); {frame}")
    sizes = "e => [e.scrollTop, e.scrollWidth, e.scrollHeight, e.getBoundingClientRect().x]"
    assert paint.evaluate(sizes) == area.evaluate(sizes)


def test_a_leak_opens_as_plays_while_typed(page: Any, address: str, folder: Path) -> None:
    right = LEAKY.replace("card.other != high", "card.me != high")
    (folder / "typing.yaml").write_text(right, encoding="utf-8")
    page.goto(f"{base_of(address)}/game?file=typing.yaml")
    page.wait_for_selector("text=Its claims:")
    page.fill("textarea", LEAKY)
    page.focus("#problems button:has-text('See the two plays')")
    page.keyboard.press("Enter")
    page.wait_for_selector("#played >> text=Another play")
    assert page.locator("#played mark").count() > 0
    assert page.input_value("textarea") == LEAKY
    page.fill("textarea", LEAKY.replace("!= high", "!= middle"))
    page.wait_for_selector("#played >> text=card is not middle")  # the plays follow the text
    press_until(page, "Back")
    for at in (1, 0, 1, 2):  # at the start there is no way back: Next has the focus
        page.keyboard.press("Enter")
        page.wait_for_selector(f"#played >> text={at} of 2")
    page.fill("textarea", right)
    page.wait_for_selector("text=Its claims:")
    page.wait_for_selector("#played >> text=Another play", state="detached")
    assert (folder / "typing.yaml").read_text(encoding="utf-8") == right


def test_kuhn_by_keyboard_alone_with_analysis(page: Any, address: str) -> None:
    page.goto(f"{base_of(address)}/")
    page.keyboard.type("kuhn poker")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("words=kuhn"))
    press_until(page, "Play kuhn_poker")
    page.keyboard.press("Enter")
    page.wait_for_selector("form.setup")
    press_until(page, "Play")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/seat/"))
    for _ in range(3):
        if page.is_visible("text=The game is over"):
            break
        page.keyboard.press("1")
        page.keyboard.press("Enter")
        page.wait_for_timeout(700)
    page.wait_for_selector("#review svg")
    assert "In all they cost" in page.inner_text("#review")


NAME = """() => {
  const e = document.activeElement;
  const label = e.labels && e.labels[0];
  const own = label && [...label.childNodes].filter((one) => one.nodeType === 3);
  const name = e.ariaLabel || (own && own.map((one) => one.data).join("")) || e.innerText || "";
  return [name.trim(), getComputedStyle(e).outlineStyle];
}"""
"""Returns the name of what has the focus, and its outline."""


def press_until(page: Any, name: str) -> None:
    """Presses Tab until the element of this name has the focus, which must be seen."""
    for _ in range(120):
        page.keyboard.press("Tab")
        found = page.evaluate(NAME)
        if found[0] == name:
            assert found[1] != "none"
            return
    raise AssertionError(f"{name} cannot be reached by the keyboard")


def test_a_replay_by_keyboard_alone(page: Any, address: str, folder: Path) -> None:
    episode = gamedsl.load("kuhn_poker").env().reset(seed=5)
    while not episode.done:
        episode.step({one.seat: Action(one.legal[0]) for one in episode.decisions})
    (folder / "keys.jsonl").write_text(dump(episode), encoding="utf-8")
    page.goto(f"{base_of(address)}/replays")
    press_until(page, "keys.jsonl")
    page.keyboard.press("Enter")
    for move in range(4):
        page.wait_for_selector(f"nav.steps >> text={move} of 4")
        page.keyboard.press("Enter")  # Next has the focus
    page.wait_for_selector("text=The game is over")
    for move in (3, 2):
        assert page.evaluate(NAME)[0] == "Back"
        page.keyboard.press("Enter")
        page.wait_for_selector(f"nav.steps >> text={move} of 4")
    press_until(page, "prompt")
    page.keyboard.press("Enter")
    page.wait_for_selector("details[open] pre")
    press_until(page, "What a solver would play here")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=the Nash equilibrium")
    press_until(page, "The whole play as a conversation")
    page.keyboard.press("Enter")
    page.wait_for_selector("#whole >> text=Payoffs")
    press_until(page, "move 2")
    page.keyboard.press("Enter")
    page.wait_for_selector("nav.steps >> text=1 of 4")
    press_until(page, "All moves")
    page.keyboard.press("Enter")
    press_until(page, "first open = check")
    page.keyboard.press("Enter")
    page.wait_for_selector("nav.steps >> text=3 of 4")
    press_until(page, "Play on from here as")
    page.keyboard.press("ArrowDown")
    press_until(page, "Play on")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/seat/"))
    assert "second" in page.title()


def test_runs_by_keyboard_alone(page: Any, address: str, folder: Path) -> None:
    runs_of(folder)
    page.goto(f"{base_of(address)}/tables")
    press_until(page, "Runs")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/runs$"))
    press_until(page, "runs/legible-3")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/run\\?"))
    press_until(page, "Its report")
    press_until(page, "steps from")
    page.keyboard.type("1")
    press_until(page, "replies")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    press_until(page, "paid at least")
    page.keyboard.type("4")
    press_until(page, "Find plays")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/run/plays.*refused=none.*least=4"))
    press_until(page, page.locator("tbody a").first.get_attribute("aria-label"))
    page.keyboard.press("Enter")
    page.wait_for_selector("nav.steps")
    press_until(page, "Runs")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/runs$"))
    for seed in (3, 4):
        press_until(page, f"compare runs/legible-{seed}")
        page.keyboard.press("Space")
    press_until(page, "Compare those chosen")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/compare"))
    assert page.evaluate("document.querySelectorAll('svg').length") > 0


def test_two_browsers_at_one_table(page: Any, browser: Any, address: str) -> None:
    start(page, address, "debate", con="me", judge="random")
    links = dict(
        zip(page.locator(".links b").all_inner_texts(),
            [link.get_attribute("href") for link in page.locator(".links a").all()], strict=True)
    )  # fmt: skip
    guest = browser.new_context().new_page()
    guest.goto(base_of(address) + links["con"])
    page.goto(base_of(address) + links["pro"])
    page.fill("textarea", "Rest is work too.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("text=Waiting for the others")
    guest.wait_for_selector("text=Rest is work too.")  # by itself, without a reload
    guest.fill("textarea", f"No. {SCRIPT}")
    guest.keyboard.press("Control+Enter")
    page.wait_for_selector("text=No. <img")
    assert page.evaluate("window.hacked") is None
    guest.goto(f"{base_of(address)}/tables")
    assert "The token is missing" in guest.content()
    guest.context.close()


def test_replay_is_stepped_through_and_branched(page: Any, address: str) -> None:
    start(page, address, "tic_tac_toe", o="random")
    while not page.is_visible("text=The game is over"):
        page.locator(".board button").first.click()
        page.wait_for_load_state()
    page.click("text=Replay it")
    for move in range(3):
        page.wait_for_selector(f"text={move} of")
        if move < 2:
            page.keyboard.press("Enter")  # Next has the focus
    page.click("button:has-text('Play on')")
    page.wait_for_url(re.compile("/seat/"))
    assert page.locator(".board td", has_text=re.compile("^[XO]$")).count() == 2


def test_a_live_run_is_watched(page: Any, address: str, folder: Path) -> None:
    run = run_of_stag_hunt(folder, 1)
    page.goto(f"{base_of(address)}/run?folder={run}")
    page.wait_for_selector("text=2 steps, running, or stopped")
    step = {"event": "step", "step": 3, "reward": {"hunter": 1.0}}
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(step) + "\n")
    page.wait_for_selector("text=3 steps")  # by itself, without a reload


def test_hostile_play_and_run_stay_text(page: Any, address: str, folder: Path) -> None:
    """Replies, seeds of names and the summary of a run are scripts; pages show them as text."""
    (folder / "talk.yaml").write_text(
        "game: talk\nroles: [a, b]\nturns:\n  - {role: a, say: words, max_tokens: 100}\n"
        "  - {role: b, choose: good, from: [fine, poor]}\npayoffs: 0\n",
        encoding="utf-8",
    )
    start(page, address, "talk.yaml", b="random")
    page.fill("textarea", SCRIPT)
    page.keyboard.press("Control+Enter")
    page.click("text=Replay it")
    for _ in range(2):
        page.wait_for_selector("text=<img src=x")
        page.click("text=The whole play as a conversation")
        page.wait_for_selector("#whole >> text=<img src=x")
        page.click("a:has-text('Next')")
    assert page.evaluate("window.hacked") is None
    run = write_run(folder / "runs" / "hostile", "stag_hunt", STAG)
    for name in ("run.json", "metrics.jsonl"):
        lines = [json.loads(line) for line in (run / name).read_text("utf-8").splitlines()]
        key = "model" if name == "run.json" else "summary"
        lines[-1][key] = SCRIPT
        (run / name).write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    for path in ("/runs", f"/run?folder={run}"):
        page.goto(base_of(address) + path)
        page.wait_for_selector("text=<img src=x")
        assert page.evaluate("window.hacked") is None


def test_hostile_game_runs_no_script(page: Any, address: str, folder: Path) -> None:
    text = f"game: evil\nabout: '{SCRIPT}'\nroles: [a, b]\nrolls: '{SCRIPT}'\n"
    (folder / "evil.yaml").write_text(text, encoding="utf-8")
    for path in (
        "/",
        "/game?file=evil.yaml",
        "/play?file=evil.yaml",
        "/game?file=evil.yaml&tab=rules",
    ):
        page.goto(base_of(address) + path)
        page.wait_for_timeout(300)
        assert page.evaluate("window.hacked") is None


HERE = Path(__file__).parent

CONTRAST = (HERE / "contrast.js").read_text(encoding="utf-8")
"""Returns the texts of a page whose contrast is below 4.5:1."""

OVERLAPS = (HERE / "overlaps.js").read_text(encoding="utf-8")
"""Returns the pairs of elements of a page that cover one another."""


def runs_of(folder: Path) -> list[Path]:
    """Two runs of one recipe by different seeds, with their pages."""
    found = [folder / "runs" / f"legible-{seed}" for seed in (3, 4)]
    for seed, run in zip((3, 4), found, strict=True):
        if run.is_dir():
            continue
        write_run(run, "stag_hunt", STAG)
        info = json.loads((run / "run.json").read_text("utf-8")) | {"seed": seed}
        (run / "run.json").write_text(json.dumps(info), "utf-8")
        recipe = (run / "recipe.yaml").read_text("utf-8")
        (run / "recipe.yaml").write_text(recipe.replace("seed: 3", f"seed: {seed}"), "utf-8")
        write_report(run)
    return found


def plays_of(run: Path) -> Path:
    return next((run / "transcripts").iterdir())


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_pages_are_legible(
    scheme: str, width: int, browser: Any, address: str, folder: Path
) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    page = context.new_page()
    page.set_default_timeout(30_000)
    page.goto(address)
    page.wait_for_url(re.compile(r"/$"))
    start(page, address, "hanabi", player_2="random")
    seat = page.url.removeprefix(base_of(address))
    start(page, address, "hex", o="random")
    board = page.url.removeprefix(base_of(address))
    runs = runs_of(folder)
    (folder / "leak.yaml").write_text(LEAKY, encoding="utf-8")
    for path in (
        "/?words=poker", "/play?file=kuhn_poker", seat, board, "/tables", "/replays", "/runs",
        "/new", "/game?file=kuhn_poker", "/game?file=kuhn_poker&tab=tree",
        "/game?file=kuhn_poker&tab=prompts", "/game?file=kuhn_poker&tab=proofs",
        "/game?file=kuhn_poker&tab=solution", f"/run?folder={runs[0]}", f"/seeds?folder={runs[0]}",
        f"/compare?run={runs[0]}&run={runs[1]}", "/train?file=stag_hunt",
        "/game?file=kuhn_poker&tab=rules", "/game?file=kuhn_poker&tab=sight",
        "/game?file=stag_hunt&tab=table", "/game?file=debate&tab=flow",
        f"/run/report?folder={runs[0]}", f"/replay?file={plays_of(runs[0])}",
        f"/replay?file={plays_of(runs[0])}&number=0&move=0", f"/run/plays?folder={runs[0]}",
        "/game?tab=witness&proof=told.alike&move=1&file=leak.yaml",
    ):  # fmt: skip
        page.goto(base_of(address) + path)
        page.wait_for_timeout(200)
        assert page.evaluate(CONTRAST) == [], path
        assert page.evaluate(OVERLAPS) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path
    context.close()
