"""Pages of games, replays and runs."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from gamedsl.cli import main
from gamedsl.studio import replays
from gamedsl.studio.records import Advice
from gamedsl.studio.runs import rows, seeds
from tests.studio.client import Client
from tests.studio.person import play_to_the_end
from tests.studio.test_seats import started


def test_list_has_pictures_sizes_and_claims(owner: Client, folder: Path) -> None:
    (folder / "own.yaml").write_text("game: own\nroles: [a, b]\n", encoding="utf-8")
    page = owner.get("/?words=kuhn")
    assert "kuhn_poker" in page.text
    assert "tic_tac_toe" not in page.text
    assert "own" in owner.get("/?tag=own").text
    facts = owner.get("/game/facts?file=kuhn_poker")
    assert "58 histories" in facts.text
    assert re.search(r"\d+ proved, \d+ enumerated", facts.text)
    picture = owner.get("/game/picture?file=kuhn_poker&view=tree")
    assert picture.headers["content-type"].startswith("image/svg+xml")
    assert picture.html.startswith("<svg")


@pytest.mark.parametrize(
    ("tab", "told"),
    [
        ("rules", "Each player is dealt its card at random"),
        ("tree", ""),
        ("table", "fix: see Tree"),
        ("sight", ""),
        ("prompts&seat=second&at=card%3DQ%2C+open%3Dbet", "second: answer"),
        ("proofs", "every play ends"),
        ("solution", "-1/18"),
        ("nonsense", "there is no part"),
    ],
)
def test_parts_of_a_game(tab: str, told: str, owner: Client) -> None:
    page = owner.get(f"/game?file=kuhn_poker&tab={tab}")
    assert page.status == 200
    assert told in page.text


def test_editor_names_lines_and_saves(owner: Client, folder: Path) -> None:
    page = owner.post("/new", {"name": "mine", "template": "matrix"})
    assert (folder / "mine.yaml").is_file()
    form = page.form("/game/check")
    assert "No problem found" in page.text
    wrong = form.fields["text"].replace("roles:", "rolls:")
    page = owner.post("/game/check", {**form.fields, "text": wrong})
    line = wrong[: wrong.index("rolls:")].count("\n") + 1
    assert f"line {line} error unknown key `rolls`" in page.text
    assert page.form("/game/check").fields["text"].strip() == wrong.strip()
    edits = re.findall(r"data-edits='(.*?)'", page.html)
    assert json.loads(edits[0].replace("&#34;", '"'))[0][2] == "roles"
    assert "rolls" not in (folder / "mine.yaml").read_text(encoding="utf-8")
    text = form.fields["text"] + "# a comment\n"
    page = owner.post("/game/save", {**form.fields, "text": text.replace("\n", "\r\n")})
    assert "Saved" in page.text
    assert (folder / "mine.yaml").read_bytes().decode() == text
    assert owner.post("/new", {"name": "mine", "template": "matrix"}).status == 400
    assert owner.post("/new", {"name": "../x", "template": "matrix"}).status == 400


def test_shipped_games_are_copied(owner: Client, folder: Path) -> None:
    form = owner.get("/game?file=nim").form("/game/check")
    before = form.fields["text"]
    owner.post("/game/save", {**form.fields, "as": "nim_of_mine", "text": before})
    assert (folder / "nim_of_mine.yaml").read_text(encoding="utf-8").strip() == before.strip()


def test_check_that_takes_too_long_is_given_up(tmp_path: Path) -> None:
    from tests.studio.client import running

    with running(tmp_path, seconds=0.001) as address, Client(address) as client:
        page = client.post("/game/problems", {"file": "kuhn_poker", "text": "game: x\n"})
    assert "took longer than" in page.text


def test_replay_steps_and_branches(owner: Client, folder: Path) -> None:
    page = play_to_the_end(owner, started(owner, "kuhn_poker", seed=12), seed=2)
    link = next(href for href, _ in page.links if href.startswith("/replay?"))
    page, seen = owner.get(link), []
    while True:
        seen.append(page.text)
        after = [href for href, text in page.links if text == "Next"]
        if not after:
            break
        page = owner.get(after[0])
    assert "Next: chance draws card[first]" in seen[0]
    asked = next(text for text in seen if "first chooses open" in text)
    assert "(chosen)" in asked
    assert "reply with" in asked.casefold()
    assert "has seen: first.card=" in asked
    assert "The game is over" in seen[-1]
    whole = next(href for href, _ in page.links if href.startswith("/replay/conversation"))
    talk = owner.get(whole)
    assert "first chooses open" in talk.text
    assert "Payoffs: first" in talk.text
    place = next(href for href, text in talk.links if text == "move 3")
    assert owner.get(place).text == seen[2]
    back = owner.get(link + "&move=2")
    advice = next(href for href, _ in back.links if href.startswith("/replay/advice"))
    assert "by the Nash equilibrium" in owner.get(f"{advice}&part=1").text
    form = back.form("/replay/branch")
    page = owner.post(form.action, {**form.fields, "seat": "first"})
    card = re.findall(r"has seen: first.card=(\w)", back.text)[0]
    assert f"card for first: {card}." in page.text
    page = play_to_the_end(owner, page, seed=3)
    saved = re.findall(r"Saved as (\S+\.jsonl)", page.text)[0]
    assert main(["replay", "kuhn_poker", str(folder / saved), "--quiet"]) == 0


def test_replay_shows_refused_replies(owner: Client, folder: Path) -> None:
    record = {
        "format": 1, "game": "kuhn_poker", "hash": _hash("kuhn_poker"), "run_seed": 0, "seed": 1,
        "steps": [], "failures": {}, "payoffs": {}, "rewards": {},
    }  # fmt: skip
    other = record | {"hash": "0" * 64}
    (folder / "other.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    page = owner.get(f"/replay?{urlencode({'file': 'other.jsonl'})}")
    assert page.status == 400
    assert "another version" in page.text
    page = play_to_the_end(owner, started(owner, "debate", seed=3), seed=3)
    saved = folder / re.findall(r"Saved as (\S+\.jsonl)", page.text)[0]
    record = json.loads(saved.read_text(encoding="utf-8"))
    first = next(step for step in record["steps"] if "pro" in step.get("choices", ()))
    record["mistakes"] = [{
        "seat": "pro", "step": first["step"], "occurrence": 0, "try": 1, "reason": "large",
        "text": "<b>too</b> long",
    }]  # fmt: skip
    (folder / "refused.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")
    pages = [owner.get(f"/replay?file=refused.jsonl&move={move}") for move in range(4)]
    shown = next(page for page in pages if "Refused:" in page.text)
    assert "<b>too</b> long" in shown.text


def a_play(n: int) -> str:
    """The line of the n-th play: the first seat is paid n/3; every fourth has a refused reply."""
    record: dict[str, Any] = {
        "format": 1, "game": "kuhn_poker", "hash": _hash("kuhn_poker"), "run_seed": 0,
        "seed": n, "steps": [], "failures": {}, "payoffs": {"first": f"{n}/3", "second": "-1"},
        "rewards": {},
    }  # fmt: skip
    if n % 4 == 0:
        record["mistakes"] = [{
            "seat": "first", "step": "open", "occurrence": 0, "try": 1, "reason": "large",
            "text": "?",
        }]  # fmt: skip
    return json.dumps(record) + "\n"


def test_plays_are_filtered_by_pay_and_refusals(owner: Client, folder: Path) -> None:
    (folder / "twelve.jsonl").write_text("".join(map(a_play, range(12))), encoding="utf-8")

    def shown(**filters: Any) -> list[str]:
        page = owner.get(f"/replay?{urlencode({'file': 'twelve.jsonl', **filters})}")
        return [text for href, text in page.links if "number=" in href]

    assert len(shown()) == 12
    assert shown(refused="some") == ["1", "5", "9"]
    assert len(shown(refused="none")) == 9
    assert shown(seat="first", least="3.4") == ["12"]
    assert shown(seat="first", least=1, most=2, refused="some") == ["5"]
    assert len(shown(seat="second", least=-1, most=-1)) == 12
    assert shown(seat="nobody", least=0) == []
    assert len(shown(seat="<script>", least="nan", most="", refused="perhaps")) == 12
    empty = owner.get("/replay?file=twelve.jsonl&least=99")
    assert "No play fits." in empty.text
    assert "Show all plays" in empty.text


def of_three_steps(run: Path) -> list[Path]:
    """Writes the transcripts of three steps of a run, four plays each."""
    (run / "transcripts").mkdir(parents=True)
    files = [run / "transcripts" / f"step-{step:06d}.jsonl" for step in (10, 20, 30)]
    for place, file in enumerate(files):
        file.write_text("".join(map(a_play, range(4 * place, 4 * place + 4))), encoding="utf-8")
    return files


def test_plays_are_filtered_over_several_steps(owner: Client, folder: Path) -> None:
    run = run_of_stag_hunt(folder, 7)
    (run / "recipe.yaml").write_text("steps: 3\n", encoding="utf-8")
    of_three_steps(run)
    form = owner.get("/run?folder=runs/seed-7").form("/run/plays")
    assert "from" in form.fields

    def shown(**filters: Any) -> list[str]:
        page = owner.get(f"/run/plays?{urlencode({**form.fields, **filters})}")
        places = re.findall(r'aria-label="step (\d+), play (\d+)"', page.html)
        return [" ".join(place) for place in places]

    assert len(shown()) == 12
    assert shown(refused="some") == ["10 1", "20 1", "30 1"]
    assert shown(refused="some", **{"from": "11", "to": 29}) == ["20 1"]
    assert shown(least=1, most=2, seat="first") == ["10 4", "20 1", "20 2", "20 3"]
    assert shown(at="20-3") == ["20 4", "30 1", "30 2", "30 3", "30 4"]
    assert shown(**{"from": "40"}) == []
    (run / "transcripts" / "step-000020.jsonl").write_text('{"format": 1}\n', encoding="utf-8")
    assert "step-000020.jsonl, play 1" in owner.get(f"/run/plays?{urlencode(form.fields)}").text


def test_no_more_files_are_read_than_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [str(file) for file in of_three_steps(tmp_path)]
    opened: list[str] = []
    read = replays.read_bytes
    monkeypatch.setattr(
        replays, "read_bytes", lambda file, limit: opened.append(file) or read(file, limit=limit)
    )
    found = replays.plays_over(files, 1, 3)
    assert [row["number"] for row in found["rows"]] == [1, 2, 3]
    assert found["next"] == [1, 0]
    assert opened == files[:2]
    monkeypatch.setattr(replays, "MOST_READ", 900)  # fewer bytes than four plays have
    found = replays.plays_over(files, 0, 3, least=100.0)
    assert found["rows"] == []
    assert found["next"][0] < 2


def _hash(game: str) -> str:
    import gamedsl

    return gamedsl.load(game).hash


def test_large_run_opens_without_its_transcripts(owner: Client, folder: Path) -> None:
    run = folder / "runs" / "large"
    (run / "transcripts").mkdir(parents=True)
    (run / "game").mkdir()
    source = Path(__file__).parents[2] / "games" / "kuhn_poker.yaml"
    (run / "game" / "kuhn_poker.yaml").write_bytes(source.read_bytes())
    info = {"game": "kuhn_poker", "hash": _hash("kuhn_poker"), "seed": 0, "model": "tiny"}
    (run / "run.json").write_text(json.dumps(info), encoding="utf-8")
    (run / "recipe.yaml").write_text("steps: 2\n", encoding="utf-8")
    row = {
        "role": "first",
        "seat": "first",
        "step": "open",
        "probs": {"check": 0.375, "bet": 0.625},
    }
    steps = [
        {"event": "step", "step": n, "reward": {"first": 0.1 * n, "second": -0.1 * n},
         "policy": {"first:open [first.card=K]": row}}
        for n in (1, 2)
    ]  # fmt: skip
    first = {"event": "start", "step": 0, "policy": {"first:open [first.card=K]": row}}
    later = {**row, "probs": {"check": 0.9, "bet": 0.1}}  # after the games of step 1
    steps[0]["policy"] = {"first:open [first.card=K]": later}
    lines = "".join(json.dumps(step) + "\n" for step in (first, *steps))
    (run / "metrics.jsonl").write_text(lines, encoding="utf-8")
    record = {
        "format": 1, "game": "kuhn_poker", "hash": info["hash"], "run_seed": 0, "seed": 1,
        "steps": [
            {"step": "card", "chance": {"card/first": "K", "card/second": "J"}},
            {"step": "open", "choices": {"first": "check"}},
            {"step": "reply", "choices": {"second": "check"}},
        ],
        "failures": {}, "payoffs": {"first": "1", "second": "-1"},
        "rewards": {"first": "1", "second": "-1"},
    }  # fmt: skip
    whole = json.dumps(record) + "\n"
    (run / "transcripts" / "step-000001.jsonl").write_text(whole * 9_999, encoding="utf-8")
    (run / "transcripts" / "step-000002.jsonl").write_text("no JSON\n", encoding="utf-8")
    owner.get("/runs")  # starts the workers
    owner.get("/replay?file=runs/large/transcripts/step-000001.jsonl&number=0")
    begun = time.monotonic()
    page = owner.get("/run?folder=runs/large")
    listed = owner.get(next(href for href, text in page.links if text == "after step 1"))
    last = owner.get("/replay?file=runs/large/transcripts/step-000001.jsonl&number=9998")
    seconds = time.monotonic() - begun
    assert page.html.count("<svg") == 2
    assert "of 9999" in listed.text
    assert "first open = check" in last.html
    asked = owner.get("/replay?file=runs/large/transcripts/step-000001.jsonl&number=0&move=2")
    advice = next(href for href, _ in asked.links if href.startswith("/replay/advice"))
    assert "the run, after step 0 solver worth check 38% 100%" in owner.get(f"{advice}&part=1").text
    assert seconds < 2


def test_odds_of_the_policy_are_those_recorded(tmp_path: Path) -> None:
    """Step 5 was played two updates behind, by the policy after step 2."""
    run = run_of_stag_hunt(tmp_path, 8)
    probs = {"stag": 0.25, "hare": 0.75}
    row = {"role": "hunter", "seat": "hunter_1", "step": "move", "probs": probs}
    steps = [
        {"event": "start", "step": 0},
        {"event": "step", "step": 2, "policy": {"hunter_1:move": row}, "thoughts": 4},
        {"event": "step", "step": 5, "lag": 2},
    ]
    (run / "metrics.jsonl").write_text("".join(json.dumps(one) + "\n" for one in steps), "utf-8")
    record = json.dumps({
        "format": 1, "game": "stag_hunt", "hash": _hash("stag_hunt"), "run_seed": 0, "seed": 1,
        "steps": [{"step": "move", "choices": {"hunter_1": "stag", "hunter_2": "hare"}}],
        "failures": {}, "payoffs": {"hunter_1": "0", "hunter_2": "1"}, "rewards": {},
    }) + "\n"  # fmt: skip

    def odds(step: int, seat: str = "hunter_1", **head: Any) -> dict[str, Any]:
        text = json.dumps(json.loads(record) | head) + "\n"
        return Advice().odds("stag_hunt", text, seat, 0, str(run) if step else "", step)

    found = odds(5)
    assert [row[1] for row in found["rows"]] == [0.25, 0.75]
    assert (found["recorded"], found["note"]) == ("the run, after step 2, mean over 4 thoughts", "")
    assert "after step 3 played" in odds(4)["note"]
    assert "recorded no odds before this step" in odds(1)["note"]
    assert "1 of its decisions" in odds(5, seat="hunter_2")["note"]
    against = odds(5, opponent="pool", learner="hunter_2")
    assert (against["recorded"], against["rows"][0][1]) == ("", None)
    assert "held by pool" in against["note"]
    assert "in no run" in odds(0)["note"]


def test_a_leak_is_shown_as_two_plays(owner: Client, folder: Path) -> None:
    """The second seat may choose by a card that it has not seen; the names in the file are hostile
    and stay text."""
    (folder / "leaky.yaml").write_text(
        "game: leaky\nroles: [first, second]\ntypes: {Card: [low, middle, high]}\n"
        "about: '<script>alert(1)</script>'\n"
        "actions: {raise: {when: card.other != high}, fold: {}}\nturns:\n"
        "  - {deal: card, from: Card, seen_by: owner}\n"
        "  - {each: roles, choose: move, from: actions}\npayoffs: 0\n",
        encoding="utf-8",
    )
    page = owner.get("/game?tab=proofs&file=leaky.yaml")
    link = next(href for href, text in page.links if text == "See the two plays")
    shown = owner.get(link)
    assert "GD0440, line 5" in shown.text
    assert "has seen the same in both plays" in shown.text
    talks = shown.text.split("Another play")
    assert len(talks) == 2
    assert "chance draws card" in talks[0]
    assert "Options: raise, fold" in shown.text
    assert "Options: fold" in shown.text
    assert "<script>alert" not in shown.html
    assert "2 of 2" in shown.text
    before = owner.get(next(href for href, text in shown.links if text == "Back"))
    assert "1 of 2" in before.text
    assert "Next: chance draws card[second] = high" in before.text
    assert "Next: chance draws card[second] = middle" in before.text
    start = owner.get(next(href for href, text in before.links if text == "Start"))
    assert "first has seen the same in both plays so far" in start.text
    assert "is not asked here" in start.text
    missing = owner.get("/game?tab=witness&proof=nothing&file=leaky.yaml")
    assert "no witness" in missing.text


def run_of_stag_hunt(folder: Path, seed: int) -> Path:
    """Writes the folder of a run of two steps; its recipe says seed 2 at most."""
    run = folder / "runs" / f"seed-{seed}"
    run.mkdir(parents=True, exist_ok=True)
    info = {"game": "stag_hunt", "hash": "0" * 64, "seed": seed, "model": "tiny"}
    (run / "run.json").write_text(json.dumps(info), encoding="utf-8")
    recipe = f"steps: 2\nseed: {min(seed, 2)}\nlr: {0.1 if seed < 3 else 0.2}\n"
    (run / "recipe.yaml").write_text(recipe, encoding="utf-8")
    probs = {"stag": seed / 10, "hare": 1 - seed / 10}
    odds = {"hunter:move": {"role": "hunter", "seat": "hunter", "step": "move", "probs": probs}}
    steps = [
        {"event": "step", "step": n, "reward": {"hunter": seed}, "policy": odds} for n in (1, 2)
    ]
    lines = "".join(json.dumps(step) + "\n" for step in steps)
    (run / "metrics.jsonl").write_text(lines, encoding="utf-8")
    return run


def test_seeds_of_one_recipe_are_one_page(owner: Client, folder: Path) -> None:
    for seed in (1, 2, 3):
        run_of_stag_hunt(folder, seed)
    runs = owner.get("/runs")
    assert "cannot be read" not in runs.text
    (link,) = [href for href, text in runs.links if text.endswith("2 seeds")]
    page = owner.get(link)
    assert "seed 1, 2 steps" in page.text
    assert "runs/seed-3" not in page.text
    assert "hunter 1.5 ± 6.35" in page.text
    assert "hunter:move" in page.text
    assert 'class="band' in page.html
    one = owner.get("/run?folder=runs/seed-1")
    assert "hunter:move" in one.text


def lasting(folder: Path, seed: int, steps: int, *, ended: bool = True) -> str:
    """Writes a run that was asked for 6 steps, or for those that it ended after."""
    run = run_of_stag_hunt(folder, seed)
    recipe = f"steps: {steps if ended else 6}\nseed: {seed}\n"
    (run / "recipe.yaml").write_text(recipe, encoding="utf-8")
    lines = [{"event": "step", "step": n, "reward": {"hunter": steps}} for n in range(1, steps + 1)]
    lines += [{"event": "end", "step": steps}] if ended else []
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (run / "metrics.jsonl").write_text(text, encoding="utf-8")
    return str(run)


def test_runs_of_different_lengths_are_not_pooled(tmp_path: Path) -> None:
    """The last steps of runs of 2 and of 6 steps would have the mean 4. One that has not ended may
    just be behind."""
    runs = [lasting(tmp_path, seed, steps) for seed, steps in enumerate((2, 6, 2, 6))]
    runs.append(lasting(tmp_path, 4, 3, ended=False))
    short, long, *others, behind = [row["recipe"] for row in rows(runs)]
    assert short != long
    assert [*others, behind] == [short, long, long]
    assert dict(seeds(runs[:3:2])["means"])["hunter"] == "2 ± 0"
    assert len({row["recipe"] for row in rows([runs[1], runs[4]])}) == 1


def test_a_tile_has_the_last_result(owner: Client, folder: Path) -> None:
    run = run_of_stag_hunt(folder, 1)
    end = {"event": "end", "step": 2, "summary": "Both hunters learned <b>hare</b>. And more"}
    with (run / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(end) + "\n")
    page = owner.get("/?words=stag_hunt")
    assert any(text == "Both hunters learned <b>hare</b>" for _, text in page.links)


LEAKY = (
    "game: typed\nroles: [first, second]\ntypes: {Card: [low, middle, high]}\n"
    "actions: {raise: {when: card.other != high}, fold: {}}\nturns:\n"
    "  - {deal: card, from: Card, seen_by: owner}\n"
    "  - {each: roles, choose: move, from: actions}\npayoffs: 0\n"
)


def test_a_leak_is_played_while_it_is_typed(owner: Client, folder: Path) -> None:
    """The file on disk is right; the text that is not saved has a leak, and then has none."""
    right = LEAKY.replace("card.other", "card.me")
    (folder / "typed.yaml").write_text(right, encoding="utf-8")
    given = {"file": "typed.yaml", "text": LEAKY}
    assert "No problem found" in owner.post("/game/problems", given).text
    claims = owner.post("/game/claims", given)
    assert "line 4 error" in claims.text
    (name,) = re.findall(r'name="proof" value="(.*?)"', claims.html)
    shown = owner.post("/game/played?part=1", given | {"proof": name})
    assert "has seen the same in both plays" in shown.text
    assert "Options: raise, fold" in shown.text
    whole = owner.post("/game/played", given | {"proof": name})
    assert whole.form("/game/check").fields["text"].strip() == LEAKY.strip()
    step = owner.post("/game/played?part=1", given | {"stepping": name, "move": "1"})
    assert "1 of 2" in step.text
    assert "Next: chance draws card[second]" in step.text
    assert "Another play" in whole.text
    mended = owner.post("/game/claims", given | {"text": right})
    assert "No problem found" in mended.text
    assert "proved" in mended.text
    gone = owner.post("/game/played?part=1", given | {"text": right, "proof": name})
    assert "no witness" in gone.text
    assert (folder / "typed.yaml").read_text(encoding="utf-8") == right
