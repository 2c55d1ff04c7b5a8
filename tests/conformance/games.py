"""The games that are compared with OpenSpiel: rules as OpenSpiel has them, names, differences.

One row a configuration. `rules` are facts about OpenSpiel 2.0.2, found by running it. What stands
on one side only is declared in the row's `Agreement` and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pyspiel

import gamedsl
from tests.conformance.rows import (
    LONG,
    RANDOM,
    TREE,
    VARIANTS,
    Row,
    Walk,
    always,
    arguments,
    less_one,
    moves,
    numbers,
    spiel,
)
from tests.conformance.sides import Agreement

# poker

KUHN_RULES = """
One card of players + 1 each, player 0 first, a chance node each; ante 1, at most one bet of 1. Pass
and bet are the only actions; after the first bet every other player answers once, in cyclic order,
also those who had passed, and nothing cuts that short. The highest card among the bettor and the
callers (among all if nobody bet) takes the pot.
"""

KUHN_MOVES = {"check": 0, "fold": 0, "bet": 1, "call": 1}


def kuhn(id: str, ours: str, players: int, histories: int, sets: int, *cards: str) -> Row:
    return Row(
        id, ours, spiel(f"kuhn_poker(players={players})"),
        always(Agreement(lambda seat, name: KUHN_MOVES[name], numbers(*cards))),
        params={"players": players} if ours == "kuhn_poker_n" else {},
        histories=histories, sets=(sets,) * players, rules=KUHN_RULES,
    )  # fmt: skip


KUHN = [
    kuhn("kuhn_poker", "kuhn_poker", 2, 58, 6, "J", "Q", "K"),
    kuhn("kuhn_poker_n-2", "kuhn_poker_n", 2, 58, 6, *"012"),
    kuhn("kuhn_poker_n-3", "kuhn_poker_n", 3, 617, 16, *"0123"),
    kuhn("kuhn_poker_n-4", "kuhn_poker_n", 4, 7_886, 40, *"01234"),
]

LEDUC_CARDS = numbers(*(",".join(card) for card in product("JQK", "ab")))

LEDUC_MOVES = {"fold": 0, "check": 1, "call": 1, "bet": 2, "raise": 2}

LEDUC = [
    Row(
        "leduc_poker", "leduc_poker", spiel("leduc_poker"),
        always(Agreement(lambda seat, name: LEDUC_MOVES[name], LEDUC_CARDS)),
        histories=9_457, sets=(468, 468),
        rules="""
Six cards (rank i // 2, suit i % 2), one each and one on the board after the first round if nobody
folded. Ante 1; raises of 2 in the first round and of 4 in the second, two at most in each; fold
only against a higher stake; player 0 opens both rounds. A pair with the board wins, then the higher
rank; equal ranks share. The winner gets what the loser put in.
""",
    ),
]  # fmt: skip

# boards

TIC_TAC_TOE = [
    Row(
        "tic_tac_toe", "tic_tac_toe", spiel("tic_tac_toe"),
        # Perfect information: what a seat knows is the history, so the partition says nothing.
        always(
            Agreement(
                lambda seat, name: 3 * int(arguments(name)[0]) + int(arguments(name)[1]),
                information=None,
            )
        ),
        (Walk("positions"), Walk("tree", weekly=True)),
        histories=549_946,
        rules="Cells 0 to 8 row by row, player 0 is x; three in a row win 1, a full board pays 0.",
    ),
]  # fmt: skip


def connect_four(
    rows: int,
    columns: int,
    run: int,
    walks: tuple[Walk, ...],
    params: Mapping[str, Any],
    histories: int | None = None,
) -> Row:
    return Row(
        f"connect_four-{rows}x{columns}", "connect_four",
        spiel(f"connect_four(rows={rows},columns={columns},x_in_row={run})"),
        # Theirs names the column alone. Perfect information: as for tic-tac-toe.
        always(Agreement(lambda seat, name: int(arguments(name)[1]), information=None)),
        walks, params, histories,
        rules="An action is a column that is not full; a run in any direction wins 1.",
    )  # fmt: skip


CONNECT_FOUR = [
    connect_four(6, 7, 4, RANDOM, {}),
    connect_four(
        3,
        4,
        3,
        (Walk("positions"), Walk("tree", weekly=True)),
        {"rows": 3, "columns": 4, "run": 3},
        277_167,
    ),
]


def hex_board(size: int, walks: tuple[Walk, ...], histories: int | None = None) -> Row:
    def action(seat: int, name: str) -> int:
        row, column = map(int, arguments(name))
        return size * row + column

    return Row(
        f"hex-{size}x{size}", "hex", spiel(f"hex(board_size={size})"),
        # Perfect information: as for tic-tac-toe.
        always(Agreement(action, information=None)),
        walks, {"size": size}, histories,
        rules="""
Cells row by row; player 0 joins the first row to the last, player 1 the first column to the last. A
cell touches those beside it, above it and above to the right, below it and below to the left. The
winner is paid 1, the other -1; there are no draws.
""",
    )  # fmt: skip


HEX = [
    hex_board(3, (Walk("positions"), Walk("tree", weekly=True)), 548_650),
    hex_board(11, LONG),
]


def dark_hex(
    rows: int,
    columns: int,
    abrupt: bool,
    walks: tuple[Walk, ...] = TREE,
    histories: int | None = None,
    sets: tuple[int, ...] | None = None,
) -> Row:
    def action(seat: int, name: str) -> int:
        row, column = map(int, name.split(","))
        return columns * row + column

    return Row(
        f"dark_hex-{rows}x{columns}{'-abrupt' if abrupt else ''}", "dark_hex",
        spiel(
            f"dark_hex(num_rows={rows},num_cols={columns},obstype=reveal-numturns,"
            f"gameversion={'adh' if abrupt else 'cdh'})"
        ),
        always(Agreement(action)), walks, {"rows": rows, "columns": columns, "abrupt": abrupt},
        histories, sets,
        rules="""
Hex, whose players see their own stones. Who tries a cell that is taken learns it and tries another,
so that the other, who sees that there was a try, knows from whose turn it is whether it succeeded.
In the abrupt version the turn ends, and the other does not know.
""",
    )  # fmt: skip


def y_board(size: int, walks: tuple[Walk, ...], histories: int | None = None) -> Row:
    def action(seat: int, name: str) -> int:
        row, column = map(int, arguments(name))
        return size * row + column

    return Row(
        f"y-{size}", "y", spiel(f"y(board_size={size})"),
        # Perfect information: as for tic-tac-toe.
        always(Agreement(action, information=None)), walks, {"size": size}, histories,
        rules="""
The cells of a hex board whose row and column sum to less than its size. A chain that touches the
first row, the first column and the diagonal wins 1; a corner belongs to two sides.
""",
    )  # fmt: skip


Y = [
    y_board(3, TREE, 1_597),
    y_board(4, (Walk("random", 100), Walk("positions", weekly=True))),
    y_board(9, LONG),
]


def go(
    size: int,
    komi: str,
    moves: int,
    walks: tuple[Walk, ...] = TREE,
    histories: int | None = None,
) -> Row:
    def action(seat: int, name: str) -> int:
        if name == "pass":
            return size * size
        row, column = map(int, arguments(name))
        return size * row + column

    return Row(
        f"go-{size}x{size}", "go",
        spiel(f"go(board_size={size},komi={float(Fraction(komi))},max_game_length={moves})"),
        # Perfect information: as for tic-tac-toe.
        always(Agreement(action, information=None)),
        walks, {"size": size, "komi": komi, "moves": moves}, histories,
        rules="""
No suicide. A stone that takes one stone out of an eye may not be taken back at once. Two passes end
the game, and so do `max_game_length` moves; stones and what they alone surround are counted, all
on the board being alive. A stone that makes a position that was there before ends the game in a
draw; the empty board is one.
""",
    )  # fmt: skip


GO = [
    go(2, "1/2", 8, histories=4_635),
    go(3, "0", 40, RANDOM),
    go(5, "15/2", 50, (Walk("random", 20), Walk("random", 200, weekly=True))),
]


def nine_mens_morris(env: gamedsl.Env) -> Agreement:
    place = numbers(*(arguments(name)[0] for name in env.reset().decisions[0].legal))

    def action(seat: int, name: str) -> int:
        points = list(map(place, arguments(name) if "(" in name else [name]))
        return points[0] if len(points) == 1 else 24 + 24 * points[0] + points[1]

    # Perfect information: as for tic-tac-toe.
    return Agreement(action, information=None)


NINE_MENS_MORRIS = [
    Row(
        "nine_mens_morris", "nine_mens_morris", spiel("nine_mens_morris"), nine_mens_morris,
        (Walk("random", 20), Walk("random", 500, weekly=True)),
        rules="""
Points row by row from the top. Nine men each; a mill takes a man that stands in none, or any if all
do. Who has placed all men moves along a line, and with three men anywhere. Who has two men, or
cannot move, loses 1; after 200 turns nobody does.
""",
    ),
]  # fmt: skip

DARK_HEX = [
    dark_hex(2, 2, False, histories=441, sets=(33, 101)),
    dark_hex(2, 2, True, histories=471, sets=(59, 35)),
    dark_hex(2, 3, False, (Walk("random", 200), Walk("tree", weekly=True))),
    dark_hex(3, 3, False, RANDOM),
    dark_hex(3, 3, True, RANDOM),
]

# hanabi

HANABI_RULES = """
Every player's whole hand is dealt before the next player's, a card a chance node, identical cards
merged; rank 1 has three copies, the highest rank one, the others two. Discarding needs a spent
information token, a hint needs a token and must touch a card. Slots close up, the new card goes to
the end, drawn right after the play or discard. Completing a colour gives a token back. The end: no
lives (returns 0), all colours complete, or one more turn each after the last card was drawn.

OpenSpiel gives no information state, and its observation forgets (it shows the discards, not who
discarded what when). Ours has perfect recall. The two are compared through the sequence of
observations together with the actions, which are public: equal for theirs if and only if equal for
ours.
"""


def hanabi_action(players: int, colours: Sequence[str]) -> Callable[[int, str], str]:
    """Turns `play(0)`, `hint(player_2,red)` into their strings, where hints count from the speaker
    on."""

    def named(seat: int, name: str) -> str:
        action, rest = name.partition("(")[0], arguments(name)
        if action != "hint":
            return f"({action.capitalize()} {rest[0]})"
        offset = (int(rest[0].removeprefix("player_")) - 1 - seat) % players
        if rest[1] in colours:
            return f"(Reveal player +{offset} color {'RYGWB'[colours.index(rest[1])]})"
        return f"(Reveal player +{offset} rank {rest[1]})"

    return named


def hanabi_deal(colours: Sequence[str]) -> Callable[[str], str]:
    def named(name: str) -> str:
        colour, rank = name.split(",")
        return f"(Deal {'RYGWB'[colours.index(colour)]}{rank})"

    return named


COLOURS = ("red", "yellow", "green", "white", "blue")


def hanabi(
    id: str,
    walks: tuple[Walk, ...],
    ours: str | Path = "hanabi",
    *,
    players: int = 2,
    colours: Sequence[str] = COLOURS,
    theirs: str = "",
    histories: int | None = None,
) -> Row:
    agreement = Agreement(
        hanabi_action(players, colours), hanabi_deal(colours), information="observations"
    )
    name = f"hanabi(players={players}{theirs and ','}{theirs})"
    return Row(
        id, ours, spiel(name), always(agreement), walks, {"players": players}, histories,
        rules=HANABI_RULES,
    )  # fmt: skip


SMALL = "colors=2,ranks=3,hand_size=2,max_information_tokens=3,max_life_tokens=1"
TOY = "colors=1,ranks=2,hand_size=1,max_information_tokens=2,max_life_tokens=2"

HANABI = [
    *(
        hanabi(
            f"hanabi-{n}", (Walk("random", 20), Walk("random", 200, weekly=True)), players=n
        )
        for n in (2, 3, 4, 5)
    ),
    hanabi(
        "small_hanabi", (Walk("random", 300), Walk("random", 2_000, weekly=True)), "small_hanabi",
        colours=("red", "blue"), theirs=SMALL,
    ),
    hanabi(
        "toy_hanabi", TREE, VARIANTS / "toy_hanabi.yaml", colours=("red",), theirs=TOY,
        histories=3_729,
    ),
]  # fmt: skip

# tricks, dice, signals

GOOFSPIEL_RULES = """
A prize is drawn, both bid a card of their hand at once, the higher bid takes the prize, a tie
nobody; only the winner becomes known. OpenSpiel plays the last round, where nobody has a choice,
without nodes; ours has them.
"""


def goofspiel(id: str, theirs: str, histories: int, sets: tuple[int, ...] | None) -> Row:
    agreement = Agreement(
        lambda seat, name: less_one(name), less_one, ours_has=frozenset({"chance", "decision"})
    )
    game = f"goofspiel({theirs})"
    load = spiel(f"turn_based_simultaneous_game(game={game})" if "turns" in id else game)
    return Row(
        id, "goofspiel", load, always(agreement), histories=histories, sets=sets,
        rules=GOOFSPIEL_RULES,
    )  # fmt: skip


GOOFSPIEL = [
    goofspiel("goofspiel", "num_cards=3,imp_info=True,points_order=random", 418, (45, 45)),
    goofspiel("goofspiel-in-turns", "num_cards=3,imp_info=True,points_order=random", 418, (45, 45)),
]


def liars_dice(faces: int, histories: int, sets: int, walks: tuple[Walk, ...] = TREE) -> Row:
    def action(seat: int, name: str) -> str:
        return "Liar" if name == "liar" else "-".join(arguments(name))

    return Row(
        f"liars_dice-{faces}", "liars_dice", spiel(f"liars_dice(numdice=1,dice_sides={faces})"),
        always(Agreement(action, less_one)), walks, {"faces": faces}, histories, (sets, sets),
        rules="""
A die each, player 0's first. Bids are (count, face), each higher than the last, count before face;
"liar" once there is a bid. The highest face is wild. Enough matches: the bidder wins 1, else the
caller.
""",
    )  # fmt: skip


LIARS_DICE = [
    liars_dice(2, 127, 16),
    liars_dice(3, 1_147, 96),
    liars_dice(4, 8_181, 512),
    liars_dice(6, 294_883, 12_288, (Walk("random", 300), Walk("tree", weekly=True))),
]


def lewis_signaling(states: int, messages: int, histories: int) -> Row:
    def agreement(env: gamedsl.Env) -> Agreement:
        words, objects = (numbers(*env.action_names(seat)) for seat in env.seats)

        # The scene is all objects: a draw with one outcome, which they do not have.
        return Agreement(
            lambda seat, name: (words, objects)[seat](name), objects, ours_has=frozenset({"chance"})
        )

    payoffs = ",".join("1" if i == j else "0" for i in range(states) for j in range(states))
    given = {"num_states": states, "num_messages": messages, "payoffs": payoffs}
    return Row(
        f"lewis_signaling-{states}-{messages}", "lewis_signaling",
        spiel("lewis_signaling", given), agreement,
        params={"words": messages, "objects": states, "shown": states},
        histories=histories, sets=(states, messages),
        rules="A state that the sender sees, a message, an action; both get 1 if it is the state.",
    )  # fmt: skip


LEWIS_SIGNALING = [lewis_signaling(3, 3, 40), lewis_signaling(4, 2, 45)]


def trade_comm(items: int, histories: int, sets: int, other_sets: int) -> Row:
    def action(seat: int, name: str) -> int:
        give, _, want = name.partition(",")
        return items * int(give) + int(want) - 1 if want else int(give) - 1

    def deal(name: str) -> int:
        mine, yours = map(int, name.split(","))
        return items * (mine - 1) + yours - 1

    return Row(
        f"trade_comm-{items}", "trade_comm", spiel(f"trade_comm(num_items={items})"),
        always(Agreement(action, deal)), params={"items": items},
        histories=histories, sets=(sets, other_sets),
        rules="""
An item each, both in one node. Each says one of as many words, player 1 hearing player 0's. Then
both offer an item for another, blind to each other; they need not have it. If both offer what they
have for what the other has, both get 1.
""",
    )  # fmt: skip


TRADE_COMM = [trade_comm(2, 349, 10, 12), trade_comm(3, 7_408, 30, 36)]

# one shot, and again and again


def matrix(
    id: str, theirs: str | Callable[[], Any], *actions: str, ours: str | Path | None = None
) -> Row:
    return Row(
        id, ours or id, spiel(theirs) if isinstance(theirs, str) else theirs,
        always(Agreement(moves(*actions))),
        sets=(1, 1), histories=1 + len(actions) + len(actions) ** 2,
    )  # fmt: skip


def table(rows: list[list[int]], columns: list[list[int]]) -> Any:
    """Returns a game of two actions each in numbers of ours, where OpenSpiel's own has others."""
    return pyspiel.create_matrix_game("table", "table", ["0", "1"], ["0", "1"], rows, columns)


def dilemma() -> Any:
    return table([[3, 0], [5, 1]], [[3, 5], [0, 1]])


def stag_hunt() -> Any:
    return table([[4, 0], [3, 2]], [[4, 3], [0, 2]])


MATRIX = [
    matrix("rock_paper_scissors", "matrix_rps", "rock", "paper", "scissors"),
    matrix("matching_pennies", "matrix_mp", "heads", "tails"),
    matrix("chicken", "matrix_cd", "straight", "swerve"),
    matrix("prisoners_dilemma", dilemma, "cooperate", "defect"),
    matrix("stag_hunt", stag_hunt, "stag", "hare"),
    *(
        matrix(f"matrix_{name}", f"matrix_{name}", *actions, ours=VARIANTS / f"matrix_{name}.yaml")
        for name, actions in {
            "pd": ("cooperate", "defect"),
            "sh": ("stag", "hare"),
            "bos": ("opera", "football"),
            "brps": ("rock", "paper", "scissors"),
            "coordination": ("left", "right"),
        }.items()
    ),
]


def repeated(ours: str | Path, rounds: int, stage: Callable[[], Any], *actions: str) -> Row:
    """Returns a repeated game: all of the past is seen, so the observation is the information
    state."""
    times = {"num_repetitions": rounds, "recall": rounds}
    joint = len(actions) ** 2
    before = sum(joint**t for t in range(rounds))
    return Row(
        ours if isinstance(ours, str) else ours.stem, ours,
        lambda: pyspiel.create_repeated_game(stage(), times),
        always(Agreement(moves(*actions), information="observation", paid="payoffs")),
        histories=(1 + len(actions)) * before + joint**rounds, sets=(before, before),
        rules="The stage game several times; earlier moves are seen; rewards are paid as it goes.",
    )  # fmt: skip


REPEATED = [
    repeated("repeated_prisoners_dilemma", 5, dilemma, "cooperate", "defect"),
    # Talk has no counterpart there; without words the game is the same.
    repeated(VARIANTS / "repeated_stag_hunt_silent.yaml", 3, stag_hunt, "stag", "hare"),
]

# other games

OTHERS = [
    Row(
        "tiny_hanabi", "tiny_hanabi", spiel("tiny_hanabi"),
        always(Agreement(moves("a0", "a1", "a2"), numbers("d0", "d1"))),
        histories=55, sets=(2, 6),
        rules="""
A card of two each, independent; player 0 does one of three things, which player 1 sees, then player
1 does. Both get table[card 0][card 1][action 0][action 1].
""",
    ),
]  # fmt: skip


def nim(
    piles: Sequence[int], misere: bool, histories: int | None, walks: tuple[Walk, ...] = TREE
) -> Row:
    def action(seat: int, name: str) -> str:
        pile, count = map(int, arguments(name))
        return f"pile:{pile + 1}, take:{count};"

    sizes = ";".join(map(str, piles))
    return Row(
        f"nim-{sizes.replace(';', '')}{'-misere' if misere else ''}", "nim",
        spiel(f"nim(is_misere={misere},pile_sizes={sizes})"), always(Agreement(action)), walks,
        {"piles": list(piles), "misere": misere}, histories,
        rules="One or more from one pile; who takes the last thing wins, loses if misère.",
    )  # fmt: skip


NIM = [
    nim((1, 2, 3), True, 447),
    nim((1, 2, 3), False, 447),
    nim((1, 3, 5), True, 12_456),
    nim((1, 3, 5, 7), True, None, RANDOM),
]


def auction(players: int, top: int, histories: int) -> Row:
    def outcome(name: str) -> int:
        return int(name.removeprefix("bidder_")) - name.startswith("bidder_")

    return Row(
        f"first_price_auction-{players}-{top}", "first_price_auction",
        spiel(f"first_sealed_auction(players={players},max_value={top})"),
        always(Agreement(lambda seat, name: int(name), outcome)),
        params={"players": players, "top": top}, histories=histories, sets=(top,) * players,
        rules="""
A value from 1 up each, player 0's first; sealed bids from 0 to below one's value; the winner is
drawn from the highest bidders, in a node also where there is one only, and gets value less bid.
""",
    )  # fmt: skip


AUCTION = [auction(2, 4, 291), auction(3, 4, 3_064), auction(2, 10, 7_096)]

# cards, ships, offers

SUITS, RANKS = ("clubs", "diamonds", "hearts", "spades"), ("A", *map(str, range(2, 11)), *"JQK")

BLACKJACK = [
    Row(
        "blackjack", "blackjack", spiel("blackjack"),
        always(
            Agreement(moves("hit", "stand"), numbers(*map(",".join, product(SUITS, RANKS))))
        ),
        RANDOM, again=1 / 4,
        rules="""
One deck of 52. Two cards for the player, one face down and one face up for the dealer; an ace
counts 11 where that is within 21. The player hits or stands, also at 21; over 21 it loses at once.
The dealer draws up to 16 and stands from 17 on, soft or hard. The better total wins 1; a natural
counts as any 21.
""",
    ),
]  # fmt: skip


def battleship(
    rows: int,
    columns: int,
    ships: Sequence[int],
    worth: Sequence[int],
    shots: int,
    repeats: bool,
    walks: tuple[Walk, ...] = TREE,
    histories: int | None = None,
    sets: tuple[int, ...] | None = None,
) -> Row:
    kinds = {"": 0, "across": 1, "down": 2}

    def action(seat: int, name: str) -> int:
        *way, row, column = name.split(",")
        return kinds["".join(way)] * rows * columns + int(row) * columns + int(column)

    sizes, values = (";".join(map(str, each)) for each in (ships, worth))
    theirs = (
        f"battleship(board_height={rows},board_width={columns},num_shots={shots},"
        f"ship_sizes=[{sizes}],ship_values=[{values}],allow_repeated_shots={repeats})"
    )
    return Row(
        f"battleship-{rows}x{columns}-{sizes}", "battleship", spiel(theirs),
        always(Agreement(action)), walks,
        {
            "rows": rows, "columns": columns, "ships": list(ships), "worth": list(worth),
            "shots": shots, "repeats": repeats,
        },
        histories, sets,
        rules="""
The players place their ships in turn, the first ship of both first; a ship of one cell lies
across only. Then they shoot in turn. The shooter alone learns whether it hit water, hit, or sank;
with repeated shots a part of a sunk ship says again that it is sunk. The end: all shots are made,
or all ships of a player are sunk. A player gets the values of the ships it sank less those it lost.
A placement that leaves no room for the ships to come is none. Theirs looks at all of them, ours at
the next, which is the same for two ships, or where so many lines are free that all have room.
""",
    )  # fmt: skip


BATTLESHIP = [
    battleship(2, 2, (1, 2), (1, 2), 2, False, histories=13_685, sets=(397, 1_189)),
    battleship(2, 2, (2,), (1,), 2, True, histories=4_949, sets=(133, 465)),
    battleship(1, 3, (1, 2), (1, 2), 1, False),
    battleship(2, 3, (2, 3), (1, 2), 1, False),
    battleship(3, 4, (1, 2, 3), (1, 3, 2), 8, False, RANDOM),
    battleship(
        10, 10, (2, 3, 4), (1, 1, 1), 50, True,
        (Walk("random", 4), Walk("random", 200, weekly=True)),
    ),
]  # fmt: skip


class Drawn:
    """OpenSpiel's negotiation, which begins behind what it draws at random and does not list.

    Where a player's values come out all zero, it draws them again and keeps both draws, so that the
    player has more values than there are items; these states are left out.
    """

    def __init__(self, items: int, letters: int, symbols: int) -> None:
        self._items = items
        self._game = pyspiel.load_game(
            f"negotiation(num_items={items},num_symbols={symbols},utterance_dim={letters},rng_seed=1)"
        )

    def __str__(self) -> str:
        return str(self._game)

    def num_players(self) -> int:
        return int(self._game.num_players())

    def new_initial_state(self) -> Any:
        while True:
            state = self._game.new_initial_state()
            state.apply_action(0)
            if all(len(values) == self._items for values in drawn(state)[-2:]):
                return state


def drawn(state: Any) -> list[list[str]]:
    """Returns the number of turns, the pool and the values of both, as a state prints them."""
    return [line.partition(":")[2].split() for line in str(state).splitlines()[:4]]


def negotiation(items: int, letters: int, symbols: int, again: float) -> Row:
    def written(digits: Sequence[str], base: int) -> int:
        number = 0
        for digit in digits:
            number = number * base + int(digit)
        return number

    def action(seat: int, name: str) -> int:
        if name.startswith("keep"):
            return written(arguments(name), 6)
        agree: int = 6**items
        return agree if name == "agree" else agree + 1 + written(name.split(","), symbols)

    return Row(
        f"negotiation-{items}-{letters}-{symbols}", "negotiation",
        lambda: Drawn(items, letters, symbols),
        always(
            Agreement(
                action, information="observations",
                given=lambda state: [",".join(values) for values in drawn(state)],
            )
        ),
        RANDOM,
        {
            "goods": ["hats", "books", "balls"][:items], "letters": letters, "symbols": symbols,
        },
        again=again,
        rules="""
A number of turns from 4 to 10, of the Poisson distribution with mean 7; of each item 0 to 5 in the
pool; a value from 0 to 10 of each item for each player, not all zero. In each turn a player says
what it would keep and then utters one of symbols ** letters; from the second turn on it may agree
instead, which ends the game.
Returns are what each gets at the other's last offer if one agrees, and else 0. The draws are one
chance node without outcomes; ours has a node for each.

Compared through observations and actions, as Hanabi is. With one item the draws come again, and
with them information sets; with three, hardly ever.
""",
    )  # fmt: skip


NEGOTIATION = [negotiation(3, 3, 5, 0), negotiation(1, 1, 2, 1 / 4)]

ROWS = [
    *KUHN, *LEDUC, *TIC_TAC_TOE, *CONNECT_FOUR, *HEX, *Y, *GO, *NINE_MENS_MORRIS, *DARK_HEX,
    *HANABI, *GOOFSPIEL, *LIARS_DICE, *LEWIS_SIGNALING, *TRADE_COMM, *MATRIX, *REPEATED, *OTHERS,
    *NIM, *AUCTION, *BLACKJACK, *BATTLESHIP, *NEGOTIATION,
]  # fmt: skip
