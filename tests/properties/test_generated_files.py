"""What holds of every file: broken ones are told so, and how it is laid out changes nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from random import Random

import yaml
from hypothesis import Phase, event, given, seed, settings
from hypothesis import strategies as st

import gamedsl
from gamedsl import Game
from gamedsl.compiler import Result
from gamedsl.diagnostics.codes import explain
from gamedsl.diagnostics.render import render
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from gamedsl.view.conversation import conversation_of, text_of
from tests.properties.strategies import game_files
from tests.properties.walking import compiled, fault, finish, load, make, moves
from tests.shipped import CLOSED

ROOT = Path(__file__).parent.parent.parent
SHIPPED = [ROOT / "games" / f"{name}.yaml" for name in CLOSED]
PROGRAM = """
import sys
from tests.properties.test_generated_files import portrait
for path in sys.argv[1:]:
    print(portrait(path))
"""

few = settings(
    max_examples=settings().max_examples * 2 // 3, phases=[Phase.explicit, Phase.generate]
)
randoms = st.integers(0, 10**6).map(Random)

files = st.one_of(
    game_files(), game_files(), st.sampled_from(SHIPPED).map(lambda p: p.read_text("utf-8"))
)

ODD = (
    "\t", "\x00", "\u2028", "é", "{", "}", "[", "]", ": ", ":", "#", " #", '"', "'", "|", ">",
    "&a ", "*a", "!!x ", "- ", "? ", "%", "@", "`", ",", "-", "..", "99", "-1", "0", "1/0", "none",
    "null", "true", "~", "me", "other", "others", "all", "roles", "owner", "nobody", "actions",
    "turns", "choose", "draw", "deal", "show", "do", "pay", "use", "repeat", "each", "until", "if",
    "per", "from", "seen_by", "cycle(roles)", "simultaneous", "alternate", "repeated", "= ", "+= ",
    "drop ", "for x in roles", "past(x)", "(", ")", "()", "[]", "{}", "\ud800",
    "\N{BYTE ORDER MARK}",
)  # fmt: skip


def damaged(text: str, random: Random) -> str:
    """A text with something wrong in it, perhaps."""
    lines = text.split("\n")
    at = random.randrange(len(lines))
    match random.randrange(9):
        case 0:
            return text[: random.randrange(len(text))]
        case 1:
            start = random.randrange(len(text))
            return text[:start] + text[start + random.randrange(1, 12) :]
        case 2:
            lines.insert(at, lines[random.randrange(len(lines))])
        case 3:
            del lines[at]
        case 4:
            other = random.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
        case 5:
            lines[at] = " " * random.randrange(1, 5) + lines[at]
        case 6:
            lines[at] = lines[at].removeprefix("  ")
        case _:
            tokens = re.split(r"(\w+|\s+|\W)", text)
            place = random.randrange(len(tokens))
            tokens[place] = random.choice([*tokens, *ODD * 4])
            return "".join(tokens)
    return "\n".join(lines)


def check_told(result: Result) -> None:
    """Either there is a game, or there are problems, each with its place and its explanation."""
    is_game = result.document is not None and result.document.kind == "game"
    assert result.ok == (result.ir is not None) or (result.ok and not is_game)
    for problem in result.diagnostics:
        assert problem.message
        assert explain(problem.code)
        for span in (problem.span, *(note.span for note in problem.notes)):
            assert 0 <= span.start <= span.end <= len(span.source.text)
    for form in ("pretty", "concise", "json"):
        told = render(result.diagnostics, form=form)
        assert told or not result.diagnostics
    assert json.loads(render(result.diagnostics, form="json")) is not None


@few
@given(files, randoms, st.integers(1, 3))
def test_a_damaged_file_is_told_so_or_played(text: str, random: Random, times: int) -> None:
    for _ in range(times):
        text = damaged(text or "x", random)
    result = compiled(text)
    check_told(result)
    event(f"compiles: {result.ok}")
    if result.ir is None or result.document is None:
        return
    env = Game(result.ir, result.document.files).env()
    for number in range(3):
        error = fault(env.reset(number), random)
        if error is not None:
            assert error.message
            assert error.span.source.text


def laid_out(text: str, random: Random) -> str:
    """The same file with other line breaks, brackets, indents, comments and blank lines."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pending = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, yaml.CollectionNode):
            node.flow_style = random.random() < 0.4
            for part in node.value:
                pending += part if isinstance(part, tuple) else (part,)
    width = random.choice([30, 80, 4000])
    dumped = yaml.serialize(root, indent=random.randrange(2, 6), width=width, allow_unicode=True)
    lines = []
    for line in dumped.split("\n"):
        if width == 4000 and random.random() < 0.2 and not any(q in dumped for q in "\"'|>"):
            lines += random.choice([[""], ["# a comment"], ["    # another", ""]])
        lines.append(line)
    return "# a first line\n\n" + "\n".join(lines) + "\n# the last\n"


@few
@given(game_files(), randoms)
def test_layout_changes_no_hash(text: str, random: Random) -> None:
    game = load(text)
    lines = ("# one", *text.rstrip("\n").split("\n"), "# two")
    commented = "".join(f"{line}\n\n" for line in lines)
    for other in (commented, text + "\n\n", laid_out(text, random)):
        assert load(other).hash == game.hash
    assert load(text.replace("game: generated", "game: renamed", 1)).ir.rules_hash == (
        game.ir.rules_hash
    )


def portrait(path: str | Path) -> str:
    """The hash of a game, and a digest of some plays with all that was asked and seen in them."""
    game = gamedsl.load(path)
    env, told = game.env(run_seed=4), []
    for number in range(3):
        episode, random = env.reset(number), Random(number)
        while not episode.done:
            told += [(d.messages, d.labels, d.information_set) for d in episode.decisions]
            told += [episode.view(seat).text for seat in env.seats]
            make(episode, random.choice(moves(episode))[0])
        told.append(episode.transcript)
    return f"{game.hash} {sha256(json.dumps(told).encode()).hexdigest()}"


def test_a_fresh_process_sees_the_same(tmp_path: Path) -> None:
    """Hashes, prompts, labels, views and transcripts, whatever order sets and dicts have there."""
    paths: list[Path] = []
    texts: set[str] = set()

    @seed(22)
    @settings(max_examples=60, phases=[Phase.generate])
    @given(game_files())
    def write(text: str) -> None:
        if text in texts:  # Hypothesis varies what it drew before, and may come to the same
            return
        texts.add(text)
        paths.append(tmp_path / f"{len(paths)}" / "generated.yaml")
        paths[-1].parent.mkdir()
        paths[-1].write_text(text, encoding="utf-8")

    write()
    here = [portrait(path) for path in paths]
    for hash_seed in ("1", "2"):
        told = subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, paths)],
            capture_output=True, text=True, check=True, cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        ).stdout.splitlines()  # fmt: skip
        assert told == here
    assert len(set(here)) > len(here) // 2


@few
@given(game_files(), st.integers(0, 2**40), randoms, st.booleans())
def test_a_transcript_is_replayed(text: str, number: int, random: Random, fails: bool) -> None:
    game = load(text)
    episode = game.env(run_seed=number % 7).reset(number)
    while not episode.done and random.random() < 0.6:
        episode.step({d.seat: random.choice(d.labels) for d in episode.decisions})
    if fails and not episode.done:
        episode.step({d.seat: "no label" for d in episode.decisions})
    finish(episode, random)
    (written,) = read(dump(episode))
    again = replay(game, written)
    assert again.faults == ()
    assert again.episode.payoffs == episode.payoffs
    assert again.episode.rewards == episode.rewards
    assert again.episode.transcript["steps"] == episode.transcript["steps"]
    assert text_of(conversation_of(again)).count("\n") >= len(written.happenings)
