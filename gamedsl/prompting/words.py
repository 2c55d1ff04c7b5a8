"""The styles of masked labels, one row each, and the real words that they must not hit.

All words of a style have one length, which makes every set of distinct ones prefix-free.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

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
        """How many words it has."""
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
