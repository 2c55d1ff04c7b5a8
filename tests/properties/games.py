"""Random small games, and the spellings that mean the same game."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path

from hypothesis import strategies as st

import gamedsl

Profile = tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """Roles, what each can do, and what every joint action pays each of them."""

    roles: tuple[str, ...]
    actions: tuple[tuple[str, ...], ...]
    payoffs: dict[Profile, tuple[Fraction, ...]]


amounts = st.one_of(
    st.integers(-9, 9).map(Fraction),
    st.fractions(min_value=-9, max_value=9, max_denominator=12),
)


@st.composite
def tables(draw: st.DrawFn, most_roles: int = 4) -> Table:
    count = draw(st.integers(1, most_roles))
    most = 4 if count < 3 else 2
    roles = tuple(draw(st.permutations(("ann", "bob", "cyd", "dan")))[:count])
    alphabet = ("go", "stay", "wait", "leave", "ask")
    actions = tuple(
        tuple(draw(st.lists(st.sampled_from(alphabet), min_size=1, max_size=most, unique=True)))
        for _ in roles
    )
    payoffs = {profile: tuple(draw(st.tuples(*[amounts] * count))) for profile in product(*actions)}
    return Table(roles, actions, payoffs)


def head(table: Table, extra: str = "") -> str:
    lists = "".join(
        f"  {role}: [{', '.join(names)}]\n"
        for role, names in zip(table.roles, table.actions, strict=True)
    )
    return (
        f"game: random\nroles: [{', '.join(table.roles)}]\nactions:\n{lists}"
        f"protocol: simultaneous\n{extra}"
    )


def as_text(table: Table, order: list[int], extra: str = "") -> str:
    """As a text table whose header has the roles in some order, and whose rows are reversed."""
    *outer, last = order
    rows = [f"  {', '.join(table.roles[i] for i in order)} | {' | '.join(table.actions[last])}"]
    for names in reversed(list(product(*(table.actions[i] for i in outer)))):
        cells = []
        for column in table.actions[last]:
            chosen = dict(zip(outer, names, strict=True)) | {last: column}
            paid = table.payoffs[tuple(chosen[i] for i in range(len(order)))]
            cells.append(", ".join(str(paid[i]) for i in order))
        rows.append(f"  {', '.join(names)} | {' | '.join(cells)}")
    return head(table, extra) + "payoffs: |\n" + "\n".join(rows) + "\n"


def as_lists(table: Table, extra: str = "") -> str:
    def nested(depth: int, profile: Profile) -> str:
        if depth == len(table.roles):
            return f"[{', '.join(str(amount) for amount in table.payoffs[profile])}]"
        inner = (nested(depth + 1, (*profile, name)) for name in table.actions[depth])
        return f"[{', '.join(inner)}]"

    return head(table, extra) + f"payoffs: {nested(0, ())}\n"


def as_expressions(table: Table, extra: str = "") -> str:
    """One conditional a joint action, for each role; chains are cut into lets of eight."""
    lines = []
    for i, role in enumerate(table.roles):
        tests = [
            (
                " and ".join(
                    f"move.{r} == {name}" for r, name in zip(table.roles, profile, strict=True)
                ),
                paid[i],
            )
            for profile, paid in table.payoffs.items()
        ]
        parts = [tests[at : at + 8] for at in range(0, len(tests), 8)]
        for number, part in enumerate(parts):
            rest = f"{role}_{number + 1}" if number + 1 < len(parts) else "0"
            text = "".join(f"{amount} if {test} else " for test, amount in part) + rest
            lines.append(f"  {role}_{number}: {text}")
    lets = "let:\n" + "\n".join(lines) + "\n"
    payoffs = "".join(f"  {role}: {role}_0\n" for role in table.roles)
    return head(table, extra) + lets + "payoffs:\n" + payoffs


def load(text: str) -> gamedsl.Game:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "random.yaml"
        path.write_text(text, encoding="utf-8")
        return gamedsl.load(path)


def play(env: gamedsl.Env, profile: dict[str, str], seed: int = 0) -> gamedsl.Episode:
    episode = env.reset(seed)
    while not episode.done:
        episode.step({d.seat: gamedsl.Action(profile[d.seat]) for d in episode.decisions})
    return episode
