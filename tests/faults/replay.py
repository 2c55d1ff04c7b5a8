"""The second check of a fault: the compiler's report of the broken game is true.

A game with errors is refused by `gamedsl.load`, so that it cannot be played through the public
door. Its text still says what happens, up to where it is broken: `corpus.unchecked` builds it with
nothing proved, and the reference interpreter runs it behind the same `Env` and `Episode` as every
game. On that the witness of the compiler is played move by move (`Proof.histories`; where a proof
has only lines for people, those are looked for among the histories that fail), and what it claims
is looked up in the episode: payoffs that do not sum to zero, two histories with one prompt, a point
at which the rules say nothing.

Much of what is proved by types and flow has no witness. There the same is found by brute force: all
plays are made (`leaks`), and some seat must meet two that were the same to it and now differ. What
"never happens" must leave the game as it is when it is put out of the file. And in all of these the
twin must show nothing: a check that the good game fails as well would check nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.faults import play_checks, prompt_checks
from tests.faults.case import Case

Check = Callable[[Case], list[str]]

CHECKS: dict[str, Check] = {
    "GD0402": play_checks.rules_say_nothing,
    "GD0433": play_checks.probabilities,
    "GD0437": play_checks.rules_say_nothing,
    "GD0451": play_checks.gone,
    "GD0452": play_checks.gone,
    "GD0453": play_checks.order_matters,
    "GD0470": play_checks.payoffs_sum,
    "GD0471": play_checks.payoffs_equal,
    "GD0472": play_checks.exchange,
    **dict.fromkeys(["GD0473", "GD0474", "GD0475", "GD0476", "GD0477"], play_checks.gone),
    **dict.fromkeys([f"GD044{n}" for n in range(8)], play_checks.told_alike),
    "GD0501": prompt_checks.no_such_option,
    "GD0502": prompt_checks.option_without_a_label,
    "GD0503": prompt_checks.one_label_for_two,
    "GD0505": prompt_checks.label_is_no_reply,
    "GD0506": prompt_checks.no_words,
    "GD0507": prompt_checks.no_words,
    "GD0508": prompt_checks.hidden_in_prompt,
    **dict.fromkeys([f"GD051{n}" for n in (2, 3, 4, 5, 6, 8)], prompt_checks.cannot_be_rendered),
    "GD0519": prompt_checks.answer_not_shown,
    "GD0520": prompt_checks.name_told,
    "GD0521": prompt_checks.payoff_told,
    "GD0530": prompt_checks.one_prompt,
    "GD0531": prompt_checks.one_prompt,
    "GD0532": prompt_checks.two_seats_alike,
    "GD0602": play_checks.rules_say_nothing,
    "GD0610": play_checks.rewards_as_claimed,
    "GD0611": play_checks.incentives,
}
"""The second check by code. GD0460 has none: that a play takes too long is said by the counter."""
