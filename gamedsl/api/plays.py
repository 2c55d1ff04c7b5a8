"""`Plays`: episodes that were played, as notebooks, terminals and files show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from gamedsl.api import notebook
from gamedsl.runtime.replay import replay
from gamedsl.runtime.transcripts import dump, read
from gamedsl.storage.writer import write_output
from gamedsl.tables.text import plural
from gamedsl.view.conversation import conversation_of, text_of

if TYPE_CHECKING:
    from gamedsl.players.base import Player
    from gamedsl.runtime.episode import Episode
    from gamedsl.runtime.game import Game


@dataclass(frozen=True, repr=False)
class Plays:
    """Episodes of one game that have ended, in order of their seeds. `plays[0].payoffs` are those
    of the first."""

    game: Game
    episodes: tuple[Episode, ...]

    def __len__(self) -> int:
        return len(self.episodes)

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    def __getitem__(self, number: int) -> Episode:
        return self.episodes[number]

    def __repr__(self) -> str:
        means = ", ".join(f"{seat} {mean:.3g}" for seat, mean in self.mean_payoffs.items())
        count = plural(len(self), "episode")
        return f"<Plays {self.game.name}: {count}; mean payoffs {means}>"

    def _repr_html_(self) -> str:
        rows = [(seat, f"{mean:.3g}") for seat, mean in self.mean_payoffs.items()]
        title = f"{self.game.name}: {plural(len(self), 'episode')}"
        head = notebook.grid(("seat", "mean payoff"), rows, title)
        return head + (notebook.verbatim(self.text()) if self.episodes else "")

    @property
    def mean_payoffs(self) -> dict[str, float]:
        """The mean payoff of each seat, in the game's units. Void payoffs, of seats whose episode
        somebody else forfeited, do not count; NaN where all are void."""
        found = {}
        for seat in self.game.ir.seats:
            amounts = [episode.payoffs[seat] for episode in self.episodes]
            numbers = [float(amount) for amount in amounts if amount is not None]
            found[seat] = fmean(numbers) if numbers else float("nan")
        return found

    def text(self, number: int = 0) -> str:
        """Return an episode as `gamedsl replay` prints it: each move, and who saw what. IndexError
        for a number that there is not."""
        (transcript,) = read(dump(self.episodes[number]))
        return text_of(conversation_of(replay(self.game, transcript, self.episodes[number].env)))

    def save(self, path: str | Path) -> Path:
        """Write the transcripts as JSON lines, which `gamedsl replay` reads, and return the path.
        Raises OSError where the system refuses the file."""
        write_output(Path(path), "".join(map(dump, self.episodes)), parents=True)
        return Path(path)


def play_episodes(game: Game, players: Mapping[str, Player], episodes: int, seed: int) -> Plays:
    """Plays episodes many side by side, with a player for each seat and referee. Raises as players
    do."""
    from gamedsl.evaluate.playing import Seated, answerer, play_side_by_side, seeds_of

    each = {id(player): answerer(player, game.ir.labels_last) for player in players.values()}
    answerers = {seat: each[id(player)] for seat, player in players.items()}
    table = Seated(tuple(game.ir.seats), {seat: seat for seat in players}, answerers)
    return Plays(game, tuple(play_side_by_side(game.env(), table, seeds_of(seed, episodes))))
