"""Games that were written from docs/language.md alone, most of them in words, played by scripts:
their payoffs are recomputed, and what is hidden makes no difference to the prompts of others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from json import dumps
from pathlib import Path
from random import Random
from typing import Any

import pytest

import gamedsl
from gamedsl import Action, ParseFailure
from gamedsl.compiler import compile_file
from gamedsl.runtime import Decision, Episode

FOLDER = Path(__file__).parent / "written_games"
SEATS = ("player_1", "player_2", "player_3")
STORIES = ("first_story", "second_story", "third_story")

Reply = Action | str
Votes = list[dict[str, int]]


def load(name: str) -> gamedsl.Game:
    return gamedsl.load(FOLDER / f"{name}.yaml")


def play(episode: Episode, answer: Callable[[Decision], Reply]) -> list[tuple[str, str, str]]:
    """Plays to the end. Returns the prompt of each decision, with its seat and step."""
    prompts = []
    while not episode.done:
        asked = episode.decisions
        prompts += [(d.seat, d.step, "\n".join(t for _, t in d.messages)) for d in asked]
        episode.step({d.seat: answer(d) for d in asked})
    return prompts


@pytest.mark.parametrize("name", [path.stem for path in sorted(FOLDER.glob("*.yaml"))])
def test_written_games_are_without_problems(name: str) -> None:
    result = compile_file(FOLDER / f"{name}.yaml")
    assert result.diagnostics == []
    assert {proof.grade for proof in result.proofs} <= {"proved", "sampled", "enumerated"}


class Liar:
    """Plays `two_truths` by a seed: which story is the lie, and who guesses what."""

    def __init__(self, seed: int) -> None:
        draw = Random(seed)
        self.lies = {seat: draw.choice(STORIES) for seat in SEATS}
        self.guesses = {(t, s): draw.choice(STORIES) for t in SEATS for s in SEATS if s != t}
        self._tellers = iter(SEATS)
        self._teller = ""

    def answer(self, decision: Decision) -> Reply:
        match decision.step:
            case "lie":
                self._teller = next(self._tellers)
                return Action(self.lies[decision.seat])
            case "tale":
                return dumps({story: f"{decision.seat} tells the {story}" for story in STORIES})
            case "guess":
                return Action(self.guesses[self._teller, decision.seat])
            case _:
                return f"a word of {decision.seat}"

    @property
    def payoffs(self) -> dict[str, int]:
        paid = dict.fromkeys(SEATS, 0)
        for (teller, guesser), guess in self.guesses.items():
            paid[guesser if guess == self.lies[teller] else teller] += (
                2 if guess == self.lies[teller] else 1
            )
        return paid


def test_two_truths_pays_those_who_see_through_it() -> None:
    env = load("two_truths").env()
    for seed in range(100):
        liar, episode = Liar(seed), env.reset(seed=seed)
        play(episode, liar.answer)
        assert episode.payoffs == liar.payoffs


def test_lie_is_in_no_earlier_prompt() -> None:
    env = load("two_truths").env()
    for seed in range(20):
        found = []
        for lie in STORIES:
            liar = Liar(seed)
            liar.lies["player_1"] = lie
            prompts = play(env.reset(seed=seed), liar.answer)
            shown = next(n for n, (seat, step, _) in enumerate(prompts) if step == "lie" and n)
            found.append([one for one in prompts[:shown] if one[0] != "player_1"])
        assert found[0] == found[1] == found[2]
        assert any(step == "guess" for _, step, _ in found[0])


def test_fictionary_pays_for_the_truth_and_for_votes() -> None:
    env = load("fictionary").env()
    for seed in range(100):
        draw, votes = Random(seed), list[dict[str, int]]()

        def answer(decision: Decision, draw: Random = draw, votes: Votes = votes) -> Reply:
            if decision.step == "meaning":
                return f"a hat, {decision.seat}"
            if decision.seat == SEATS[0]:
                votes.append({})
            votes[-1][decision.seat] = draw.randint(1, 4)
            return Action(str(votes[-1][decision.seat]))

        episode = env.reset(seed=seed)
        prompts = play(episode, answer)
        paid, boards = dict.fromkeys(SEATS, 0), [p for _, s, p in prompts if s == "vote"][::3]
        for board, chosen in zip(boards, votes, strict=True):
            lines = board.rpartition("board:\n")[2].split("\n")[:4]
            authors = {line.strip()[0]: line.rpartition(", ")[2] for line in lines}
            assert sorted(authors.values())[1:] == list(SEATS)
            for seat, vote in chosen.items():
                author = authors[str(vote)]
                paid[author if author in SEATS else seat] += 1 if author in SEATS else 2
        assert episode.payoffs == paid
        meanings = {seat: text for seat, step, text in prompts[:3] if step == "meaning"}
        assert not any("hairnet" in text or "twilight" in text for text in meanings.values())


PLAYERS = ("player_1", "player_2", "player_3", "player_4")


class Accusers:
    """Plays `odd_one_in` by a seed. What is said does not depend on who knows the word."""

    def __init__(self, seed: int) -> None:
        draw = Random(seed)
        self.accused = {s: draw.choice([t for t in PLAYERS if t != s]) for s in PLAYERS}
        self.guess, self._place = "", draw.randrange(4)

    def answer(self, decision: Decision) -> Reply:
        match decision.step:
            case "accused":
                return Action(self.accused[decision.seat])
            case "guess":
                self.guess = decision.legal[self._place]
                return Action(self.guess)
            case _:
                return f"a word of {decision.seat}"


def test_odd_one_is_paid_by_the_rules() -> None:
    env, guessed = load("odd_one_in").env(), set()
    for seed in range(120):
        accusers, episode = Accusers(seed), env.reset(seed=seed)
        prompts = play(episode, accusers.answer)
        first = {seat: text for seat, step, text in prompts if step == "clue"}
        (odd,) = (seat for seat, text in first.items() if f"part for {seat}: outsider." in text)
        told = first[next(seat for seat in PLAYERS if seat != odd)]
        secret = told.rpartition("secret: ")[2].partition(".")[0]
        assert "\nsecret: " not in first[odd]
        votes = Counter(accusers.accused.values()).most_common()
        most = votes[0][0] if len(votes) == 1 or votes[0][1] > votes[1][1] else None
        assert bool(accusers.guess) == (most == odd)
        found = most == odd and accusers.guess != secret
        guessed.add((most == odd, accusers.guess == secret))
        assert episode.payoffs == {s: int((s == odd) != found) for s in PLAYERS}
    assert guessed == {(False, False), (True, False), (True, True)}


def test_odd_one_learns_nothing_of_the_word() -> None:
    env = load("odd_one_in").env()
    for seed in range(8):
        by_word = [play(env.reset(seed=seed, given={"secret": w}), Accusers(seed).answer)
                   for w in range(4)]  # fmt: skip
        first = {seat: text for seat, step, text in by_word[0] if step == "clue"}
        (odd,) = (seat for seat, text in first.items() if f"part for {seat}: outsider." in text)
        heard = [[text for seat, _, text in prompts if seat == odd] for prompts in by_word]
        assert heard[0] == heard[1] == heard[2] == heard[3]
        assert len({next(t for s, _, t in p if s != odd) for p in by_word}) == 4


FEATURES, SUPPLIERS = ("fast", "quiet", "sturdy"), ("north", "south")


class Market:
    """Plays `tender` by a seed: bids, of which some are no valid replies, and verdicts."""

    def __init__(self, seed: int) -> None:
        self._draw = Random(seed)
        self.last: dict[str, dict[str, Any]] = {}
        self.bids: dict[str, list[str]] = {s: [] for s in SUPPLIERS}
        self.fines, self.winner = dict.fromkeys(SUPPLIERS, 0), ""

    def answer(self, decision: Decision) -> Reply:
        draw = self._draw
        match decision.step:
            case "bid":
                bid: dict[str, Any] = {
                    "price": draw.choice([10, 20, 30, 40, 15, 15, 15, 15]),
                    "offers": {f: draw.random() < 0.5 for f in FEATURES},
                    "note": f"made by {decision.seat} as bid {len(self.bids[decision.seat])}",
                }
                self.bids[decision.seat].append(bid["note"])
                if bid["price"] != 15:
                    self.last[decision.seat] = bid
                elif decision.failed:
                    self.last.pop(decision.seat, None)
                return dumps(bid)
            case "wish":
                return dumps({"missing": None, "leader": draw.choice(SUPPLIERS), "note": ""})
            case "verdict":
                honest = {s: draw.random() < 0.5 for s in SUPPLIERS}
                for supplier in SUPPLIERS:
                    self.fines[supplier] += 0 if honest[supplier] else 2
                return dumps({"honest": honest, "reason": ""})
            case _:
                self.winner = draw.choice(decision.legal)
                return Action(self.winner)


def amounts(prompts: list[tuple[str, str, str]], seat: str, what: str) -> dict[str, int]:
    """Returns what a seat was told that each feature is worth, or costs it."""
    text = next(text for s, _, text in prompts if s == seat)
    found = {f: re.search(rf"^{what} of {f}(?: for \w+)?: (\d+)", text, re.M) for f in FEATURES}
    return {f: int(match[1]) for f, match in found.items() if match}


def test_buyer_pays_bids_and_liars_pay_fines() -> None:
    env, unsold = load("tender").env(), 0
    for seed in range(60):
        market, episode = Market(seed), env.reset(seed=seed)
        prompts = play(episode, market.answer)
        paid = {"buyer": 0, **{s: -fine for s, fine in market.fines.items()}}
        if len(market.last) == 1:  # nothing to choose
            (market.winner,) = market.last
        unsold += not market.winner
        if market.winner:
            bid = market.last[market.winner]
            offered = [f for f in FEATURES if bid["offers"][f]]
            worth, cost = (
                amounts(prompts, "buyer", "worth"), amounts(prompts, market.winner, "cost")
            )  # fmt: skip
            paid["buyer"] = sum(worth[f] for f in offered) - bid["price"]
            paid[market.winner] += bid["price"] - sum(cost[f] for f in offered)
        assert episode.payoffs == paid
        for rival, other in (SUPPLIERS, SUPPLIERS[::-1]):
            read = "\n".join(text for seat, _, text in prompts if seat == rival)
            assert not any(note in read for note in market.bids[other])
            assert f"for {other}:" not in read
    assert 0 < unsold < 60


@pytest.mark.parametrize(
    "wish",
    [
        '{"missing": null, "leader": "buyer", "note": ""}',
        '{"missing": "cheap", "leader": "north", "note": ""}',
    ],
)
def test_who_leads_is_one_of_the_suppliers(wish: str) -> None:
    episode = load("tender").env().reset(seed=1)
    bid = dumps({"price": 10, "offers": dict.fromkeys(FEATURES, True), "note": ""})
    episode.step(dict.fromkeys(SUPPLIERS, bid))
    (asked,) = episode.decisions
    failure = episode.parse(asked, wish)
    assert isinstance(failure, ParseFailure)
    assert failure.reason == "value"
    assert asked.schema is not None
    assert asked.schema["properties"]["leader"]["enum"] == list(SUPPLIERS)
    assert '"leader": "north" or "south"' in asked.messages[-1][1]


def test_entries_are_asked_of_listed_roles_alone() -> None:
    episode = load("tender").env().reset(seed=1)
    bid = dumps({"price": 10, "offers": dict.fromkeys(FEATURES, True), "note": ""})
    episode.step(dict.fromkeys(SUPPLIERS, bid))
    episode.step({"buyer": '{"missing": null, "leader": "north", "note": ""}'})
    (asked,) = episode.decisions
    assert asked.schema is not None
    assert list(asked.schema["properties"]["honest"]["properties"]) == list(SUPPLIERS)
    assert '{"honest": {"north": true or false, "south": true or false}' in asked.messages[-1][1]
    rules = asked.messages[0][1]
    assert "Each of north and south gets its cost" in rules
    assert "fines of each of north and south: 0 at first" in rules


def test_equal_parts_are_not_said_to_differ() -> None:
    asked = load("odd_one_in").env().reset(seed=1).decisions[0]
    assert "no two the same" not in asked.messages[0][1]
    assert "insider, each of these to one player at most" in asked.messages[0][1]


CREW = ("ann", "bob", "cal")


def told(text: str, what: str) -> str:
    """Returns what a prompt tells of a value by its title."""
    return text.rpartition(f"{what}: ")[2].partition("\n")[0].rstrip(".")


def test_lighthouse_pays_a_landing_less_the_hints() -> None:
    env, paid = load("lighthouse").env(), set()
    for seed in range(100):
        draw, chosen = Random(seed), dict[str, list[str]]()

        def answer(decision: Decision, draw: Random = draw, chosen=chosen) -> Reply:
            pick = draw.choice(decision.legal)
            chosen.setdefault(decision.seat, []).append(pick)
            return Action(pick)

        episode = env.reset(seed=seed)
        prompts = play(episode, answer)
        safe = told(prompts[0][2], "safe").replace("side ", "").replace("depth ", "")
        side, depth = safe.replace(", ", ",").split(",")
        assert set(chosen["keeper"]) <= {"silence", side, depth}
        hints = sum(hint != "silence" for hint in chosen["keeper"])
        landed = chosen["left"] == chosen["right"] == [f"{side},{depth}"]
        assert set(episode.payoffs.values()) == {6 * landed - hints}
        assert all(
            "\nsafe: " not in text and not text.startswith("safe: ")
            for seat, _, text in prompts
            if seat != "keeper"
        )
        paid.add(hints)
    assert paid == {0, 1, 2}


def test_vault_pays_for_the_code_and_the_tools() -> None:
    env, paid = load("vault").env(), set()
    for seed in range(60):
        draw, digits = Random(seed), dict[str, str]()
        lent = {seat: draw.choice([CREW[0], CREW[0], CREW[0], CREW[1]]) for seat in CREW}
        honest, words = draw.random() < 0.5, list[tuple[str, str, str]]()

        def answer(
            decision: Decision, lent=lent, honest=honest, digits=digits, words=words
        ) -> Reply:
            seat, text = decision.seat, "\n".join(t for _, t in decision.messages)
            digits.setdefault(seat, told(text, f"digit for {seat}"))
            match decision.step:
                case "word":
                    to = CREW[1] if seat == CREW[0] else CREW[0]
                    words.append((seat, to, f"{seat} to {to} alone"))
                    return dumps({"to": to, "text": words[-1][2]})
                case "lend":
                    return Action(lent[seat])
                case _:
                    code = [int(digits[each]) for each in CREW]
                    return dumps(dict(zip("abc", code if honest else [0, 0, 0], strict=True)))

        episode = env.reset(seed=seed)
        prompts = play(episode, answer)
        right = honest or set(digits.values()) == {"0"}
        amount = 3 * right + (set(lent.values()) == {CREW[0]})
        assert episode.payoffs == dict.fromkeys(CREW, amount)
        for author, to, word in words:
            assert {seat for seat, _, text in prompts if word in text} <= {author, to}
        paid.add(amount)
    assert {0, 1, 3, 4} == paid


def test_committee_pays_by_plan_and_accusation() -> None:
    env, seats = load("committee").env(), [f"member_{number}" for number in range(1, 5)]
    for seed in range(60):
        draw = Random(seed)
        votes = {seat: draw.choice(["harbour", "tower", "garden"]) for seat in seats}
        accused = {seat: draw.choice([s for s in seats if s != seat]) for seat in seats}

        def answer(decision: Decision, votes=votes, accused=accused) -> Reply:
            match decision.step:
                case "vote":
                    return Action(votes[decision.seat])
                case "accuse":
                    return Action(accused[decision.seat])
                case _:
                    return f"{decision.step} of {decision.seat}"

        episode = env.reset(seed=seed)
        prompts = play(episode, answer)
        first = {seat: text for seat, step, text in prompts if step == "speech"}
        (mole,) = (
            seat for seat, text in first.items() if "\nbad: " in text or text.startswith("bad")
        )
        bad = told(first[mole], "\nbad")
        plan = [
            v
            for v, n in Counter(votes.values()).items()
            if n == max(Counter(votes.values()).values())
        ]
        suspects = Counter(accused.values())
        caught = [s for s, n in suspects.items() if n == max(suspects.values())] == [mole]
        gain = (2 if plan == [bad] else -1) - caught
        assert episode.payoffs == {seat: gain if seat == mole else -gain for seat in seats}
        for seat, _, text in prompts:
            assert not any(f"note of {other}" in text for other in seats if other != seat)


CRATES = ("buyer_1", "buyer_2", "seller_1", "seller_2")


def test_double_auction_trades_at_the_best_prices() -> None:
    env, trades = load("double_auction").env(), 0
    for seed in range(100):
        draw = Random(seed)
        price = {seat: draw.randrange(5) for seat in CRATES}
        episode = env.reset(seed=seed)
        prompts = play(episode, lambda asked, price=price: Action(str(price[asked.seat])))
        worth = {
            seat: int(re.findall(rf"worth for {seat}: (\d+)", text)[0]) for seat, _, text in prompts
        }
        for seat, _, text in prompts:
            assert not any(f"worth for {other}:" in text for other in CRATES if other != seat)
        bids, asks = ({s: price[s] for s in part} for part in (CRATES[:2], CRATES[2:]))
        takers = [s for s in bids if bids[s] == max(bids.values())]
        givers = [s for s in asks if asks[s] == min(asks.values())]
        paid = dict.fromkeys(CRATES, Fraction(0))
        if len(takers) == len(givers) == 1 and bids[takers[0]] >= asks[givers[0]]:
            middle = Fraction(bids[takers[0]] + asks[givers[0]], 2)
            paid[takers[0]] = worth[takers[0]] - middle
            paid[givers[0]] = middle - worth[givers[0]]
            trades += 1
        assert episode.payoffs == paid
    assert 0 < trades < 100


def test_overheard_hints_pay_who_guesses() -> None:
    env = load("overheard").env()
    for seed in range(100):
        draw, episode, last = Random(seed), env.reset(seed=seed), dict[str, str]()

        def answer(asked: Decision, draw: Random = draw, last: dict[str, str] = last) -> Reply:
            if asked.step == "hint":
                return "it is a thing"
            last[asked.seat] = draw.choice(["anchor", "basket", "candle", "dragon"])
            return Action(last[asked.seat])

        prompts = play(episode, answer)
        told = re.compile(r"^word: (\w+)\.$", re.MULTILINE)
        word = next(told.findall(text)[0] for seat, _, text in prompts if seat == "giver")
        right = {seat: int(last[seat] == word) for seat in ("friend", "rival")}
        assert episode.payoffs == {"giver": right["friend"] - right["rival"], **right}
        for seat, _, text in prompts:
            assert seat == "giver" or not told.search(text)
        rounds = sum(step == "hint" for _, step, _ in prompts)
        assert rounds == 2 or sum(right.values()) > 0
