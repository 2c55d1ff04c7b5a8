"""Labels: the names of actions in prompts and replies.

A model that reads `stag` already knows the game. Masked labels are meaningless words, so that
learning comes from reward. A label set is a pure function of the rules, the run seed, the episode's
seed and the tokenizer: it comes from a SHA-256 stream, never from a library's generator, so it is
the same on every platform and Python version. Invariants: one label per option name for all roles,
no two equal under case folding, none a prefix of another (the words of a style have one length),
none a common word nor a name of the game.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from math import prod

from gamedsl.ir.game import GameIR
from gamedsl.ir.hashing import digest
from gamedsl.prompting.tokenizers import TokenCounter, counts, inside

_CACHED_BOOKS = 4096
_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:/[0-9]+)?")
_SHORTEST_SUBSTRING = 3
_COUNTED = 5_000
_DRAWS_PER_WORD = 40
_MOST_DRAWS = 200_000


@dataclass(frozen=True)
class LabelBook:
    """The labels of one episode: `pairs` are (canonical name, label), in order of declaration.

    `key` seeds the order in which options are shown; it is empty where they are shown as declared.
    """

    kind: str
    pairs: tuple[tuple[str, str], ...]
    key: str = ""
    _label: dict[str, str] = field(init=False, repr=False, compare=False)
    _name: dict[str, str] = field(init=False, repr=False, compare=False)
    _rank: dict[tuple[str, str, str], bytes] = field(init=False, repr=False, compare=False)
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_label", dict(self.pairs))
        object.__setattr__(self, "_name", {label: name for name, label in self.pairs})
        object.__setattr__(self, "_rank", {})
        object.__setattr__(self, "_hash", hash((self.kind, self.pairs, self.key)))

    def __hash__(self) -> int:
        return self._hash

    def label(self, name: str) -> str:
        """Returns the label of an option. Raises KeyError for a name that is no option of the
        game."""
        return self._label[name]

    def has(self, name: str) -> bool:
        """Returns whether there is an option of this name."""
        return name in self._label

    def relabelled(self, name: str, roles: Mapping[str, str]) -> str:
        """Returns a value that was drawn or shown, part by part as prompts say it: by its label
        where it has one, a role as `roles` names it, anything else by its own name."""
        if name in self._label:
            return self._label[name]
        return _PART.sub(lambda m: self._label.get(m[0]) or roles.get(m[0]) or m[0], name)

    def name(self, label: str) -> str | None:
        """Returns the option that a label names, or None."""
        return self._name.get(label)

    def order(self, step: str, seat: str, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names in the order in which they are shown to a seat at a step.

        Drawn per step and seat, independently: the position of an option then means nothing that
        two seats could share. Each name has its own rank, so leaving one out does not move the
        others. Nothing is lost to prefix sharing: options come after the seat's name in a prompt.
        """
        if not self.key:
            return names
        return tuple(sorted(names, key=lambda name: self._rank_of(step, seat, name)))

    def as_dict(self) -> dict[str, object]:
        """For transcripts: JSON-able, and enough to read the prompts again."""
        return {"kind": self.kind, "labels": dict(self.pairs), "order": self.key}

    def _rank_of(self, step: str, seat: str, name: str) -> bytes:
        place = (step, seat, name)
        rank = self._rank.get(place)
        if rank is None:
            rank = self._rank[place] = _hash(self.key, "order", *place)
        return rank


def draw_labels(
    ir: GameIR, *, run_seed: int, seed: int, tokenizer: TokenCounter | None = None
) -> LabelBook:
    """Returns the labels of the episode with this seed; the same object while the inputs are the
    same.

    Masked labels are the first of the seeded stream; with a tokenizer, the first whose token counts
    are all equal. Seeds: `per: game` the rules' hash, `run` the run seed alone (so that two
    variants of one game are compared under the same words), `episode` run seed and episode seed.

    ValueError: the style has too few words for this game (`validate` reports it as GD0506), or too
    few of equal length in this tokenizer.
    """
    labels = ir.labels
    if labels.kind not in ("masked", "partly"):
        return _book(_Inputs(ir.hash, "", "", ir, None))
    scope = {
        "game": f"game {ir.rules_hash}",
        "run": f"run {run_seed}",
        "episode": f"episode {run_seed} {seed}",
    }[labels.per]
    fingerprint = "" if tokenizer is None else tokenizer.fingerprint
    return _book(_Inputs(ir.hash, scope, fingerprint, ir, tokenizer))


def option_names(ir: GameIR) -> tuple[str, ...]:
    """Returns the canonical names of all options of all steps, each once, in order of
    declaration."""
    return tuple(
        dict.fromkeys(
            choice.name for step in ir.steps for options in step.options for choice in options
        )
    )


def masked_names(ir: GameIR) -> tuple[str, ...]:
    """Returns the options that are called by meaningless words: all of a masked game, those of some
    types, or none."""
    if ir.labels.kind == "partly":
        only = frozenset(ir.labels.only)
        return tuple(name for name in option_names(ir) if name in only)
    return option_names(ir) if ir.labels.kind == "masked" else ()


def secret_words(ir: GameIR) -> tuple[str, ...]:
    """Returns the words that no prompt of a masked game may say: the names of actions, roles, seats
    and the game; in a partly masked one, the masked names."""
    if ir.labels.kind == "partly":
        return masked_names(ir)
    roles = (name for role in ir.roles for name in (role.name, *role.seats))
    return tuple(dict.fromkeys((*option_names(ir), *roles, ir.name)))


def hidden_words(ir: GameIR) -> re.Pattern[str] | None:
    """Returns a pattern of every secret name as a word, in any case, `_` read as a space, longer
    names first; None for no names. Numbers are no names, and a role called `player` is shown as
    one, as every role of a masked game is."""
    names = [name for name in secret_words(ir) if not _harmless(name)]
    parts = sorted({as_words(name) for name in names}, key=len, reverse=True)
    if not parts:
        return None
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(parts)})(?![^\W_])", re.IGNORECASE)


def as_words(name: str) -> str:
    """Returns the pattern of a name, whose parts a space, `-` or `_` may stand between."""
    return r"[\s_-]+".join(re.escape(word) for word in re.split(r"[\s_-]+", name) if word)


def _harmless(name: str) -> bool:
    """Returns whether a name is a number, or what prompts call roles anyway."""
    return not re.search(r"[^\W\d_]", name) or bool(re.fullmatch(r"(?i)players?(_?\d+)?", name))


def capacity(ir: GameIR, style: Style) -> int:
    """Returns the number of labels that a style has for a game: exact for short words, a safe part
    of long ones."""
    if style.size > _COUNTED:
        return style.size // 4
    avoided = _avoided(ir)
    return sum(_admissible("".join(word), avoided) for word in product(*style.pattern))


def styles_of(ir: GameIR) -> Iterator[Style]:
    """Yields the styles that have enough words for a masked game, of those it admits; the first is
    used.

    A later one is used only if a tokenizer splits the words of those before it too unevenly.
    """
    needed = len(masked_names(ir))
    named = STYLES.values() if ir.labels.style == AUTO else (STYLES[ir.labels.style],)
    return (s for s in named if s.size >= needed and capacity(ir, s) >= needed)


@dataclass(frozen=True)
class _Inputs:
    """The inputs of a label book; the objects behind the hashes are not compared."""

    ir_hash: str
    scope: str
    fingerprint: str
    ir: GameIR = field(compare=False)
    tokenizer: TokenCounter | None = field(compare=False)


@lru_cache(maxsize=_CACHED_BOOKS)
def _book(inputs: _Inputs) -> LabelBook:
    ir, labels = inputs.ir, inputs.ir.labels
    names = option_names(ir)
    if labels.kind == "plain":
        return LabelBook("plain", tuple((name, name) for name in names))
    if labels.kind == "fixed":
        fixed = dict(labels.fixed)
        return LabelBook("fixed", tuple((name, fixed.get(name, name)) for name in names))
    masked = masked_names(ir)
    for style in styles_of(ir):
        words = _draw(style, inputs.scope, len(masked), _avoided(ir), inputs.tokenizer)
        if words is not None:
            key = digest(inputs.scope, style.name)
            drawn = dict(zip(masked, words, strict=True))
            return LabelBook("masked", tuple((name, drawn.get(name, name)) for name in names), key)
    raise ValueError(
        f"the label style `{labels.style}` has no {len(masked)} words"
        + ("" if inputs.tokenizer is None else f" of one token count {inside(inputs.tokenizer)}")
    )


def _draw(
    style: Style, scope: str, size: int, avoided: frozenset[str], tokenizer: TokenCounter | None
) -> list[str] | None:
    """Returns the first `size` words of the stream that have one token count (any, without a
    tokenizer)."""
    if not size:
        return []
    alike: dict[tuple[int, ...], list[str]] = {}
    for word in _stream(style, scope, avoided):
        group = alike.setdefault(() if tokenizer is None else counts(tokenizer, word), [])
        group.append(word)
        if len(group) == size:
            return group
    return None


def _stream(style: Style, scope: str, avoided: frozenset[str]) -> Iterator[str]:
    """Yields distinct admissible words, in seeded order, until hardly any is left."""
    used = set()
    for block in range(min(_DRAWS_PER_WORD * style.size, _MOST_DRAWS)):
        number = int.from_bytes(_hash("gamedsl labels 1", style.name, scope, str(block)), "big")
        word = ""
        for letters in style.pattern:
            number, letter = divmod(number, len(letters))
            word += letters[letter]
        if word not in used and _admissible(word, avoided):
            used.add(word)
            yield word


def _admissible(word: str, avoided: frozenset[str]) -> bool:
    """Returns whether a word is no real word, no name, and contains no name of three letters or
    more."""
    folded = word.casefold()
    if folded in DENIED or folded in avoided:
        return False
    return not any(
        folded[start:end] in avoided
        for start in range(len(folded))
        for end in range(start + _SHORTEST_SUBSTRING, len(folded) + 1)
    )


def _avoided(ir: GameIR) -> frozenset[str]:
    """Returns the words that the game's names are made of, folded."""
    return frozenset(
        word for name in secret_words(ir) for word in re.findall(r"[^\W_]+", name.casefold())
    )


def _hash(*parts: str) -> bytes:
    return hashlib.sha256("\x00".join(parts).encode()).digest()


_CONSONANTS = "bdfgklmnprstvz"
_VOWELS = "aeiou"
_OPEN_VOWELS = "aiou"
"""Without e, which ends so many English words of four letters."""


AUTO = "auto"
"""The style of `labels: masked`: the first row below that has enough words for the game.

Single letters leave a model's distribution before training far less skewed than made-up words
(SmolLM2-135M-Instruct, ten options: 0.90 of the highest entropy against 0.67 for syllables; two
options: 0.77 against 0.44; `benchmarks/label_skew.py`), and cost one token each.
"""


@dataclass(frozen=True, slots=True)
class Style:
    """Words with one letter out of each string of `pattern`."""

    name: str
    pattern: tuple[str, ...]
    about: str

    @property
    def size(self) -> int:
        """The number of words of the style."""
        return prod(map(len, self.pattern))


STYLES: dict[str, Style] = {
    style.name: style
    for style in (
        Style("letters", ("BCDFGHJKLMNPQRSTVWXZ",), "one capital letter, such as `K`"),
        Style(
            "syllables",
            (_CONSONANTS, _VOWELS, _CONSONANTS, _OPEN_VOWELS),
            "two syllables, such as `bako`",
        ),
        Style(
            "alien",
            (_CONSONANTS, _VOWELS, "lmnrsz", _CONSONANTS, _VOWELS, _CONSONANTS, _OPEN_VOWELS),
            "three syllables, such as `zarvoki`",
        ),
        Style("syllable", (_CONSONANTS, _VOWELS), "one syllable, such as `zu`; mostly one token"),
    )
}

_REAL = """
be bi bo da de do fa go la le li lo ma me mi mo mu no pa pi re so ta te ti to
baba bali bata beta bila bita boba bobo boka bola bozo bubu budi bula bulu dada dado dago
dali dama data demo dido dina diva dodo dona dora duba dufu duma duna fado fagi fago fagu
fama feta fido fila fini fono foto fuku gaga gala gama gata gato gaza gigi gina gisi gogo
guru kaka kali kama kapu kava kiki kilo kina kita kiva kobo koko kota koto kuba kudu kuku
lama lana lava lego lido lili lima limo lira liro lisa loba lobo logo lola lolo lota loto
luka lulu luna mali mama mana mani mara mari maru maso mata mega memo menu meta mezo midi
mika mila mili milo mimi mina mini mira mito mofo moma momo mono mota moto nada nana nani
nasa nata nato nazi nero nigo nika nila nina nino nita nono nora nova nudi nudo paka papa
para pata pato pena peni pepi pepo peru pesa peso pika pipa pipi pita pogo poko polo popo
posi pota puma pupa pupu puri puta rada raga raki rama rani redo remi renu riga rita roma
rosa rota roti sada sado saga sago sara sari sasa sego semi sera sika silo sisi sita siti
siva soda sofa sola solo sopa sora sota suba suda sufi suka sumo supa susa tabu tada taka
tala tapa tara taro tata tela tiki tina titi tito tofu toga togo tomi tori toro toto tuba
tuna tutu vega vela veni vera veto vibo vila vino visa vita viva vivo voto zada zara zero
zeta zona zulu
"""

DENIED = frozenset(_REAL.split())
"""Words and names, of several languages, that the syllables could spell."""
