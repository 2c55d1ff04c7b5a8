"""Who may ask the studio for what, which files it reads, and what hostile texts become."""

from __future__ import annotations

import re
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.studio.client import Client, Page
from tests.studio.test_seats import started

SCRIPT = "<script>alert(1)</script>"

HOSTILE = """\
game: hostile
about: "<script>alert(1)</script><img src=x onerror=alert(2)>"
roles: [a, b]
steps_are: x
"""

TALK = """\
game: talk
about: "<script>alert(1)</script> & <b>bold</b>"
roles: [a, b]
turns:
  - {role: a, say: words, max_tokens: 100}
  - {role: b, say: answer, max_tokens: 100}
payoffs: 0
"""


def status(address: str, path: str, method: str = "GET", **headers: str) -> int:
    """The status of an answer to exactly these headers."""
    line = HTTPConnection(address, timeout=60)
    try:
        line.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            line.putheader(name.replace("_", "-"), value)
        line.putheader("Content-Length", "0")
        line.endheaders()
        return line.getresponse().status
    finally:
        line.close()


def test_missing_and_wrong_tokens_are_refused(owner: Client, stranger: Client) -> None:
    for path in ("/", "/tables", "/play?file=nim", "/replays", "/?token=", "/?token=wrong"):
        assert stranger.get(path).status == 403, path
    name, value = next(iter(owner.cookies.items()))
    assert status(owner.host, "/tables", Cookie=f"{name}={value}") == 200
    assert status(owner.host, "/tables", Cookie=f"{name}={value[:-1]}") == 403
    assert stranger.get("/seat/wrong").status == 400


def test_cookie_is_strict_and_hidden_from_scripts(address: str) -> None:
    with Client(address, enter=False) as client:
        found = client.get(f"/?token={client.token}").headers["set-cookie"].lower()
    assert "httponly" in found
    assert "samesite=strict" in found


def test_foreign_hosts_and_origins_are_refused(owner: Client) -> None:
    name, value = next(iter(owner.cookies.items()))
    cookie, own = f"{name}={value}", f"http://{owner.host}"
    port = owner.host.partition(":")[2]
    assert status(owner.host, "/tables", Cookie=cookie, Host=f"evil.example:{port}") == 403
    assert status(owner.host, "/tables", Cookie=cookie, Host=f"localhost:{port}") == 200
    for headers in ({}, {"Origin": "null"}, {"Origin": "http://evil.example"}):
        assert status(owner.host, "/new", "POST", Cookie=cookie, **headers) == 403
    assert status(owner.host, "/new", "POST", Cookie=cookie, Origin=own) == 400
    embedded = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"}
    assert status(owner.host, "/tables", Cookie=cookie, **embedded) == 403


def test_pages_allow_nothing_inline(owner: Client, folder: Path) -> None:
    (folder / "hostile.yaml").write_text(HOSTILE, encoding="utf-8")
    for path in ("/", "/game?file=hostile.yaml", "/play?file=nim", "/tables", "/runs", "/new"):
        page = owner.get(path)
        policy = page.headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert_no_script(page)


def assert_no_script(page: Page) -> None:
    """The page has no script but the studio's file, no handler and no inline style."""
    assert re.findall(r"<script[^>]*>", page.html) == ['<script src="/static/studio.js" defer>']
    assert not [name for name in page.attributes if name.startswith("on") or name == "style"]
    assert "img" not in page.tags or 'src="x"' not in page.html


def test_hostile_games_and_replies_stay_text(owner: Client, folder: Path) -> None:
    (folder / "talk.yaml").write_text(TALK, encoding="utf-8")
    page = owner.get(f"/game?{urlencode({'file': str(folder / 'talk.yaml')})}")
    assert SCRIPT in page.text
    assert_no_script(page)
    problems = owner.post(
        "/game/problems", {"file": "talk.yaml", "text": f"game: x\n'{SCRIPT}': 1"}
    )
    assert "<script" not in problems.html
    assert SCRIPT in problems.text
    page = started(owner, "talk.yaml", b="me")
    links = [href for href, _ in page.links if href.startswith("/seat/")]
    page = owner.get(links[0])
    assert_no_script(page)
    owner.post(f"{links[0]}/answer", {"text": f"{SCRIPT}\n</textarea>{SCRIPT}"})
    page = owner.get(links[1])
    assert SCRIPT in page.text
    assert_no_script(page)


@pytest.mark.parametrize("file", ["../outside.yaml", "/etc/passwd", ".secret.yaml", "link.yaml"])
def test_files_elsewhere_are_not_read(file: str, owner: Client, folder: Path) -> None:
    outside = folder.parent / "outside.yaml"
    outside.write_text("game: outside\n", encoding="utf-8")
    (folder / ".secret.yaml").write_text("game: secret\n", encoding="utf-8")
    if not (folder / "link.yaml").is_symlink():
        (folder / "link.yaml").symlink_to(outside)
    for page in ("game", "play", "replay", "game/picture"):
        found = owner.get(f"/{page}?{urlencode({'file': file, 'view': 'flow'})}")
        assert found.status == 400
        assert "is not read" in found.text
    saved = owner.post("/game/save", {"file": file, "text": "game: mine\n"})
    assert saved.status == 400
    assert outside.read_text(encoding="utf-8") == "game: outside\n"
    assert "outside" not in owner.get("/").text


def test_players_with_code_or_elsewhere_are_refused(owner: Client, folder: Path) -> None:
    (folder / "player.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    fields = {"file": "nim", "seat.first": "me", "seat.second": "other"}
    specs = (f"module:{folder / 'player.py'}", "human", "run:/etc", "policy:../x.json")
    form = owner.get("/play?file=nim").form("/play")
    seats = [name for name in form.fields if name.startswith("seat.")]
    for spec in specs:
        fields = form.fields | {seats[1]: "other", seats[1].replace("seat", "other"): spec}
        assert owner.post("/play", fields).status == 400, spec


def test_long_and_broken_forms_are_refused(owner: Client) -> None:
    page = owner.post("/game/problems", {"file": "nim", "text": "x" * (3 << 20)})
    assert page.status == 400
    assert "too long" in page.text
    line = HTTPConnection(owner.host, timeout=60)
    name, value = next(iter(owner.cookies.items()))
    headers = {"Cookie": f"{name}={value}", "Origin": f"http://{owner.host}"}
    line.request("POST", "/new", b"\xff=\xfe", headers)
    assert line.getresponse().status == 400
    line.close()
