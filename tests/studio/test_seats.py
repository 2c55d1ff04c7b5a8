"""Plays in pages: what a seat is sent, and how it answers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from random import Random

import pytest

import gamedsl
from gamedsl import Action
from tests.shipped import CLOSED, OPEN
from tests.studio.client import Client, Page
from tests.studio.person import play_to_the_end

PARAMS = {"hanabi": {"colours": "[red, white]", "hand_size": "2", "lives": "1", "clues": "2"}}
"""Of plays that are compared: with so few cards the same knowledge comes again."""


def started(owner: Client, game: str, seed: int = 5, **held: str) -> Page:
    """The page to which a play leads; other seats are held by random players."""
    form = owner.get(f"/play?file={game}").form("/play")
    fields = {**form.fields, "seed": str(seed)}
    fields |= {f"param.{name}": value for name, value in PARAMS.get(game, {}).items()}
    for name in fields:
        if name.startswith("seat.") and fields[name] != "me":
            fields[name] = "random"
    return owner.post("/play", fields | {f"seat.{seat}": who for seat, who in held.items()})


def links_of(page: Page) -> dict[str, str]:
    """The address of each seat that a person holds, from the page of a play."""
    found = [href for href, _ in page.links if href.startswith("/seat/")]
    names = re.findall(r"<b>(\w+)</b> <a href=\"/seat/", page.html)
    return dict(zip(names, found, strict=True))


def test_kuhn_is_played_and_reviewed(owner: Client, folder: Path) -> None:
    page = started(owner, "kuhn_poker", second="equilibrium")
    here = owner.at
    assert "second: equilibrium" in page.text
    hint = owner.get(f"{here}/hint?part=1")
    assert "By the Nash equilibrium that the solver found." in hint.text
    page = play_to_the_end(owner, page, seed=1)
    saved = re.search(r"Saved as (\S+\.jsonl)", page.text)
    assert saved
    record = json.loads((folder / saved[1]).read_text(encoding="utf-8"))
    assert record["payoffs"]["first"] in page.text
    review = owner.get(f"{here}/review?part=1")
    made = sum("first" in step.get("choices", ()) for step in record["steps"])
    assert review.html.count("<tr>") == made + 1
    assert review.html.count("<svg") == 1


def test_choice_that_costs_is_named(owner: Client) -> None:
    page = started(owner, "nim", seed=1, second="minimax")
    here = owner.at
    play_to_the_end(owner, page, seed=4)
    text = owner.get(f"{here}/review?part=1").text
    lost = float(re.findall(r"In all they cost (\S+) of payoff", text)[0])
    assert lost in (0, 1, 2)
    assert "exact value of each position" in text


@pytest.mark.parametrize("name", ["stag_hunt", "battleship", "debate", "bargaining_in_words"])
def test_games_of_each_kind_are_played_by_reading(name: str, owner: Client) -> None:
    page = play_to_the_end(owner, started(owner, name), seed=5)
    assert "Saved as" in page.text


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted((*CLOSED, *OPEN)))
def test_every_shipped_game_is_played_by_reading(name: str, owner: Client) -> None:
    assert "Saved as" in play_to_the_end(owner, started(owner, name), seed=5).text


def test_two_people_sit_at_one_table_by_links(owner: Client, stranger: Client) -> None:
    links = links_of(started(owner, "kuhn_poker", second="me"))
    page = owner.get(links["first"])
    other = stranger.get(links["second"])
    assert "Waiting for the others" in other.text
    assert "card for first" in page.text
    assert "card for first" not in other.html
    mark = stranger.get(f"{links['second']}/part").headers["etag"]
    again = stranger.request("GET", f"{links['second']}/part", headers={"If-None-Match": mark})
    assert again.status == 304
    form = page.form("/answer")
    owner.post(form.action, {"option": "0"})
    seen = stranger.request("GET", f"{links['second']}/part", headers={"If-None-Match": mark})
    assert seen.status == 200
    assert "first chose check" in seen.text


def test_a_seat_opens_nothing_else(owner: Client, stranger: Client) -> None:
    table = started(owner, "kuhn_poker", second="me")
    links = links_of(table)
    at = owner.at
    page = play_to_the_end_of_both(owner, stranger, links)
    assert "Saved as" not in page.html  # the record shows what the other seat held
    for path in ("/", at, "/tables", "/replays", "/runs", "/game?file=kuhn_poker"):
        assert stranger.get(path).status == 403


def play_to_the_end_of_both(owner: Client, stranger: Client, links: dict[str, str]) -> Page:
    """Both people choose their first option until the end; the stranger's last page."""
    clients = {"first": owner, "second": stranger}
    for _ in range(10):
        for seat, client in clients.items():
            page = client.get(links[seat])
            if any(form.action.endswith("/answer") for form in page.forms):
                client.post(f"{links[seat]}/answer", {"option": "0"})
    page = stranger.get(links["second"])
    assert "The game is over" in page.text
    return page


def test_missing_reply_is_refused_with_its_reason(owner: Client) -> None:
    page = started(owner, "debate", seed=1)
    form = page.form("/answer")
    page = owner.post(form.action, {"text": "word " * 400})
    assert "That is no move" in page.text
    assert "word word" in page.form("/answer").fields["text"]
    assert "pro said" not in page.text
    page = owner.post(started(owner, "kuhn_poker").form("/answer").action, {"option": "7"})
    assert "choose one of the options" in page.text


def test_a_page_is_answered_once(owner: Client) -> None:
    """A second click, and another window that still shows an earlier question, choose nothing."""
    page = started(owner, "tic_tac_toe", o="me")
    links = links_of(page)
    old = owner.get(links["x"]).form("/answer")
    reply = {"mark": old.fields["mark"], "option": "0"}
    assert "Waiting for the others" in owner.post(old.action, reply).text
    assert "you are not asked now" in owner.post(old.action, reply).text
    other = owner.get(links["o"]).form("/answer")
    owner.post(other.action, {"mark": other.fields["mark"], "option": "0"})
    page = owner.post(old.action, reply)
    assert "the game has gone on since the page" in page.text
    cells = [text for form in page.forms for _, _, text in form.buttons if "," in text]
    assert len(cells) == 7
    new = page.form("/answer").fields["mark"]
    assert "Waiting for the others" in owner.post(old.action, {**reply, "mark": new}).text


def test_undo_only_where_nobody_learned(owner: Client) -> None:
    links = links_of(started(owner, "stag_hunt", hunter_2="me"))
    here = links["hunter_1"]
    page = owner.post(f"{here}/answer", {"option": "0"})
    assert "Waiting for the others" in page.text
    page = owner.post(f"{here}/undo", {})
    assert "stag" in [text for form in page.forms for _, _, text in form.buttons]
    page = started(owner, "kuhn_poker", seed=6)
    here = owner.at
    page = owner.post(f"{here}/answer", {"option": "0"})
    if "The game is over" not in page.text:
        page = owner.post(f"{here}/undo", {})
        assert "somebody has learned from it" in page.text


class Watcher:
    """Plays all seats of one table many times, and keeps what each seat was sent by what it
    knew."""

    def __init__(self, owner: Client, guest: Client, game: str) -> None:
        self.game = gamedsl.load(game, PARAMS.get(game))
        seats = self.game.ir.everyone
        self.guest = guest
        self.links = links_of(started(owner, game, **dict.fromkeys(seats, "me")))
        self.sent: dict[tuple[str, str], str] = {}
        self.met = 0

    def keep(self, seat: str, known: str, page: Page) -> None:
        self.met += (seat, known) in self.sent
        before = self.sent.setdefault((seat, known), page.html)
        assert page.html == before, known

    def play(self, dice: Random, seed: int, run_seed: int) -> None:
        """Plays once, beside an episode of the same seeds that says what each seat knows."""
        episode = self.game.env(run_seed=run_seed).reset(seed=seed)
        while True:
            pages = {seat: self.guest.get(link) for seat, link in self.links.items()}
            asked = {decision.seat: decision for decision in episode.decisions}
            for seat, page in pages.items():
                if seat in asked:
                    self.keep(seat, asked[seat].information_set, page)
                else:
                    paid = f" {episode.payoffs}" if episode.done else " waits"
                    self.keep(seat, episode.information(seat) + paid + f" {episode.failures}", page)
            if episode.done:
                return
            chosen = {seat: dice.randrange(len(d.legal)) for seat, d in asked.items()}
            for seat, option in chosen.items():
                self.guest.post(f"{self.links[seat]}/answer", {"option": str(option)})
            legal = {seat: decision.legal for seat, decision in asked.items()}
            episode.step({seat: Action(legal[seat][n]) for seat, n in chosen.items()})


def watch(owner: Client, guest: Client, game: str, plays: int) -> None:
    watcher, dice = Watcher(owner, guest, game), Random(7)
    seed = 5
    for _ in range(plays):
        watcher.play(dice, seed, run_seed=5)
        owner.post(f"{next(iter(watcher.links.values()))}/again", {"seed": ""})
        seed = watcher_seed(owner, watcher)
    assert watcher.met > plays / 4


def watcher_seed(owner: Client, watcher: Watcher) -> int:
    """The seed of the present play, from the transcript that its owner saves."""
    found = [href for href, _ in owner.get("/tables").links if href.startswith("/tables/")]
    for table in found:
        page = owner.get(table)
        if next(iter(watcher.links.values())) in page.html:
            saved = owner.post(f"{table}/save", {})
            return int(re.findall(r"-(\d+)(?:-\d+)?\.jsonl", saved.html)[0])
    raise AssertionError("the play is not listed")


@pytest.mark.parametrize(("game", "plays"), [("kuhn_poker", 25), ("battleship", 6)])
def test_seat_is_sent_what_it_knows(game: str, plays: int, owner: Client, stranger: Client) -> None:
    watch(owner, stranger, game, plays)


SOME = {"kuhn_poker": 20, "leduc_poker": 20, "hanabi": 80, "battleship": 8}
"""Plays in which what a seat knows comes again."""


@pytest.mark.parametrize(
    ("game", "plays"),
    [pytest.param(game, plays, marks=pytest.mark.slow) for game, plays in SOME.items()]
    + [pytest.param(game, 200, marks=pytest.mark.weekly) for game in SOME],
)
def test_plays_give_nothing_away(game: str, plays: int, owner: Client, stranger: Client) -> None:
    watch(owner, stranger, game, plays)
