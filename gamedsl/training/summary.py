"""The summary of a run in a few sentences.

Reads the start record, the last step's record and, for games small enough to have one, the tree. It
claims no more than they show: an outcome is "learned" only where every decision that play comes to
is made one way at least nine times in ten.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gamedsl.prompting.replies import REASONS

if TYPE_CHECKING:
    from gamedsl.solve import Equilibrium, PureEquilibria, Tree

Record = Mapping[str, Any]
Policy = Mapping[str, Mapping[str, float]]

SETTLED = 0.9
CLOSE = 0.1
"""How far each probability of a mixture may be off to count as reached."""

SELDOM_VALID = 0.5
"""A share of valid replies below which the form of replies is to be learned first."""
SHOWN = 3
_COUNT = {3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten"}


def summarise(
    start: Record | None,
    last: Record | None,
    tree: Tree | None = None,
    *,
    first: Record | None = None,
    labels: Mapping[str, str] | None = None,
) -> str:
    """Returns the sentences at the end of a run.

    `start` and `last` are the start record and the last step's; `first`, the first step's, says
    where rewards began in games without a tree. `labels` (canonical name -> label) adds what a
    convention looked like to the players.
    """
    if last is None or not last.get("step"):
        return "No step of training was completed."
    policy = policy_of(last)
    if tree is None or not is_complete(tree, policy):
        return _by_rewards(first, last)
    chosen = settled(tree, policy)
    said = [_learned(tree, policy, chosen, labels or {}) if chosen else _unsettled(tree, last)]
    said.append(_worth(tree, last))
    prediction = (start or {}).get("prediction")
    if prediction:
        said.append(_came_true(prediction, chosen, policy))
    return " ".join(said)


def policy_of(record: Record) -> dict[str, dict[str, float]]:
    """Returns the policy of a record of `metrics.jsonl`: information set -> action ->
    probability."""
    return {key: dict(row["probs"]) for key, row in (record.get("policy") or {}).items()}


def settled(tree: Tree, policy: Mapping[str, Mapping[str, float]]) -> dict[str, str] | None:
    """Returns the action at each information set that play comes to, where all of them are
    settled."""
    from gamedsl.solve.table import on_path

    chosen = on_path(tree, policy)
    return chosen if all(policy[key][name] >= SETTLED for key, name in chosen.items()) else None


def predicted(prediction: Record) -> str:
    """Returns the sentence on a prediction before training (`Prediction.as_dict()`)."""
    if refuted := prediction.get("refuted"):
        return f"Predicted: nothing; the learning dynamics do not say, since {refuted}."
    if prediction["kind"] == "moving":
        return "Predicted: no settled outcome; the learning dynamics keep moving from this start."
    if prediction["kind"] == "mixed" and prediction.get("margin") == 0:
        return (
            "Predicted: nothing; the start lies on the boundary between outcomes, "
            "and sampling noise will decide."
        )
    if prediction["kind"] == "mixed":
        rows = list(prediction["probabilities"].items())[:2]
        what = "; ".join(f"{key} {mixture(probs)}" for key, probs in rows)
        return f"Predicted: a mixture, as no pure outcome attracts this start ({what})."
    margin = prediction.get("margin")
    if margin is None:
        sure = "no other start that was tried leads elsewhere"
    else:
        if prediction["confidence"] != "clear":
            return f"Predicted: {_undecided(prediction)}."
        sure = f"clear: a change of {margin:.2f} in the start would tip it"
    return f"Predicted: {prediction['text']} ({sure})."


def _undecided(prediction: Record) -> str:
    """Returns what is said where the start is not clear: `too close to call (margin 0.02), leaning
    hare`. No outcome is named, so that none can fail to come true."""
    margin, names = prediction["margin"], set((prediction.get("profile") or {}).values())
    size = f"margin {margin:.2f}" if margin >= 0.01 else "margin below 0.01"
    leaning = names.pop() if len(names) == 1 else prediction["text"]
    return f"too close to call ({size}), leaning {leaning}"


def names_of(one: Equilibrium, every: PureEquilibria) -> str:
    """Returns the name of an equilibrium among all: "the risk-dominant equilibrium"."""
    rivals = [other for other in every.found or () if other.text != one.text]
    if "dominant-strategy" in one.names:
        return "the equilibrium in dominant strategies"
    if not rivals:
        return "the only pure equilibrium"
    named = [n for n in one.names if n != "dominant-strategy"]
    if named:
        return f"the {' and '.join(named)} equilibrium"
    texts = {other.text for other in rivals} | {one.text}
    many = _COUNT.get(len(texts), "two" if len(texts) == 2 else f"{len(texts)}")
    if all(other.values == one.values for other in rivals):
        return f"one of {many} equally good conventions"
    return f"one of {many} pure equilibria"


def _learned(
    tree: Tree, policy: Policy, chosen: Mapping[str, str], labels: Mapping[str, str]
) -> str:
    from gamedsl.solve import one_shot, pure_equilibria
    from gamedsl.solve.table import named_play, share

    text, every = named_play(tree, chosen), pure_equilibria(tree)
    found = every.found or ()
    one = next((e for e in found if all(e.profile[k] == n for k, n in chosen.items())), None)
    table = one_shot(tree)
    if one:
        what = f"{text}, {names_of(one, every)},"
    elif every.found is None:
        what = f"{text}"
    elif table:
        names = tuple(chosen[key] for key in table.keys)
        what = f"{text}, which is not an equilibrium ({_temptation(table, names)}),"
    else:
        what = f"{text}, which is not an equilibrium,"
    played = _percent(share(tree, policy, chosen))
    said = f"{_learners(tree, chosen, labels)}: {what} played {played} of the time."
    if table:
        here = table.rewards[tuple(chosen[key] for key in table.keys)]
        better = [
            (sum(got), names)
            for names, got in table.rewards.items()
            if all(g > h for g, h in zip(got, here, strict=True))
        ]
        if better:
            _, names = max(better, key=lambda pair: pair[0])
            said += f" ({', '.join(names)}) would pay every role more."
    return said


def _temptation(table: Any, names: tuple[str, ...]) -> str:
    """Returns the best one-seat deviation, in words."""
    gains = []
    for seat, who in enumerate(table.seats):
        for name in table.actions[seat]:
            there = (*names[:seat], name, *names[seat + 1 :])
            gain = table.rewards[there][seat] - table.rewards[names][seat]
            gains.append((gain, f"{who} would gain {_number(gain)} by {name}"))
    return max(gains, key=lambda pair: pair[0])[1]


def _learners(tree: Tree, chosen: Mapping[str, str], labels: Mapping[str, str]) -> str:
    from gamedsl.solve.table import sequence

    made = [(info, chosen[info.key]) for info in sequence(tree) if info.key in chosen]
    names = {name for _, name in made}
    once = len({info.seat for info, _ in made}) == len(made) == len(tree.seats)
    if once and len(names) == 1 and len(made) > 1:
        name = names.pop()
        return f"{_everyone(tree.seats)} learned {_called(name, labels)}"
    parts = [f"{info.seat} learned {_called(name, labels)}" for info, name in made]
    return _listed(parts)


def _called(name: str, labels: Mapping[str, str]) -> str:
    label = labels.get(name, name)
    return name if label == name else f"{name} (shown as “{label}”)"


def _everyone(seats: Sequence[str]) -> str:
    stems = {re.sub(r"_\d+$", "", seat) for seat in seats}
    noun = f"{stems.pop()}s" if len(stems) == 1 else "roles"
    return f"Both {noun}" if len(seats) == 2 else f"All {_COUNT.get(len(seats), len(seats))} {noun}"


def _unsettled(tree: Tree, last: Record) -> str:
    from gamedsl.solve import mixed_equilibria, play, pure_equilibria

    policy = policy_of(last)
    reached = play(tree, policy)
    often = sorted(tree.info_sets, key=lambda info: -reached[info.key])
    shown = [i for i in tree.info_sets if reached[i.key] > 0.05] or often[:SHOWN]
    now = "; ".join(f"{info.key} {mixture(policy[info.key])}" for info in shown[:SHOWN])
    more = f"; and {len(shown) - SHOWN} more" if len(shown) > SHOWN else ""
    mixed = mixed_equilibria(tree)
    found = min(_farthest(policy, one) for one in mixed) if mixed else None
    if pure_equilibria(tree).found == ():
        said = f"The game has no pure equilibrium; after {_steps(last)} play is mixed: {now}{more}."
    elif found and found[0] <= CLOSE:
        said = f"After {_steps(last)} play is mixed: {now}{more}."
    else:
        return f"Not settled after {_steps(last)}: {now}{more}."
    if found:
        _, key, name, wanted = found
        said += (
            f" Farthest from the mixed equilibrium is {key} with {name} at "
            f"{_percent(policy[key].get(name, 0))} instead of {_percent(wanted)}."
        )
    return said


def _farthest(policy: Policy, equilibrium: Mapping[str, Any]) -> tuple[float, str, str, float]:
    return max(
        (abs(policy.get(key, {}).get(name, 0) - float(p)), key, name, float(p))
        for key, row in equilibrium.items()
        for name, p in row.items()
    )


def mixture(probs: Mapping[str, float], shown: int = SHOWN) -> str:
    """Returns `stag 62%, hare 38%`; of many actions the likeliest few."""
    ranked = sorted(probs.items(), key=lambda pair: -pair[1])
    said = ", ".join(f"{name} {_percent(p)}" for name, p in ranked[:shown])
    return said + (f" and {len(ranked) - shown} less likely" if len(ranked) > shown else "")


def _worth(tree: Tree, last: Record) -> str:
    most: dict[str, float] = {}
    for seat, role in zip(tree.seats, tree.roles, strict=True):
        most[role] = max(most.get(role, float("-inf")), float(tree.span(seat)[1]))
    reward = {role: x for role, x in (last.get("reward") or {}).items() if x is not None}
    said = []
    means = {f"{x:.2f}" for x in reward.values()}
    tops = {f"{most[role]:.2f}" for role in reward}
    if len(means) == len(tops) == 1:
        said.append(f"reward {means.pop()} of at most {tops.pop()} per role")
    elif len(tops) == 1:
        parts = [f"{role} {x:.2f}" for role, x in reward.items()]
        said.append(f"reward {', '.join(parts)}, of at most {tops.pop()} each")
    elif reward:
        parts = [f"{role} {x:.2f} of at most {most[role]:.2f}" for role, x in reward.items()]
        said.append(f"reward {', '.join(parts)}")
    if last.get("exploitability") is not None:
        said.append(f"exploitability {last['exploitability']:.3f} (NashConv / {len(tree.seats)})")
    return _sentence("; ".join(said)) if said else ""


def _came_true(prediction: Record, chosen: Mapping[str, str] | None, policy: Policy) -> str:
    if prediction["kind"] != "pure":
        said = predicted(prediction).replace("Predicted:", "Predicted before training:", 1)
        if prediction["kind"] == "moving" or prediction.get("margin") == 0:
            return said
        far, *_ = _farthest(policy, prediction["probabilities"])
        return f"{said[:-1]} — {'came true' if far <= CLOSE else 'did not come true'}."
    margin = prediction.get("margin")
    if margin is not None and prediction["confidence"] != "clear":
        said = f"Before training: {_undecided(prediction)}"
        if chosen is None:
            return f"{said}; play has not settled."
        there = dict(prediction["profile"]) == dict(chosen)
        return f"{said}; play went {'there' if there else 'the other way'}."
    said = f"Predicted before training: {prediction['text']}"
    if chosen is None:
        return f"{said} — open, as play has not settled."
    if dict(prediction["profile"]) == dict(chosen):
        return f"{said} — came true."
    if margin is None:
        return f"{said} — did not come true."
    return f"{said} — did not come true, though the start was {margin:.2f} from the boundary."


def _by_rewards(first: Record | None, last: Record) -> str:
    now = {role: x for role, x in (last.get("reward") or {}).items() if x is not None}
    if not now:
        return f"After {_steps(last)} no reward was recorded."
    before = (first or {}).get("reward") or {}
    parts = []
    for role, x in now.items():
        was = before.get(role)
        begun = "" if was is None or first is last else f" ({was:.2f} in the first)"
        parts.append(f"{role} {x:.2f}{begun}")
    said = f"After {_steps(last)}, mean reward per game in the last: {_listed(parts)}."
    if before and first is not last:
        count = f"{last['games']:,} games" if "games" in last else "games"
        said += (
            f" Each step has {count} of its own, and luck; `gamedsl eval` compares policies on the"
            " same ones."
        )
    if last.get("exploitability") is not None:
        said += f" Exploitability {last['exploitability']:.3f}."
    return " ".join(filter(None, (said, refusals(last))))


def refusals(record: Record) -> str:
    """Returns the sentence on the replies that were refused in a step, with the commonest reasons;
    empty where all were valid, or none was written."""
    reasons = {name: n for name, n in (record.get("invalid") or {}).items() if n}
    if not reasons:
        return ""
    rates = [f"{role} {_percent(rate)}" for role, rate in (record.get("valid") or {}).items()]
    ranked = sorted(reasons.items(), key=lambda pair: -pair[1])
    why = "; ".join(f"{REASONS.get(name, name)} ({count:,})" for name, count in ranked[:SHOWN])
    count = (
        f"{sum(reasons.values()):,} {'reply was' if sum(reasons.values()) == 1 else 'replies were'}"
    )
    valid = f" Valid replies: {', '.join(rates)}." if rates else ""
    if min((record.get("valid") or {}).values(), default=1) < SELDOM_VALID:
        valid += " A warm-up, or a longer one, teaches their form first: `warm_up.expert: random`."
    return f"In step {record['step']} {count} refused: {why}.{valid}"


def is_complete(tree: Tree, policy: Policy) -> bool:
    """Returns whether a policy has a probability of every action of a tree."""
    return all(policy.get(info.key, {}).keys() >= set(info.actions) for info in tree.info_sets)


def _steps(record: Record) -> str:
    return f"{record['step']} step{'' if record['step'] == 1 else 's'}"


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else parts[0]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _number(x: Any) -> str:
    return f"{float(x):.2f}".rstrip("0").rstrip(".")


def _percent(p: float) -> str:
    """Returns a percentage: one decimal near certainty, where it matters, and never a rounded-up
    100%."""
    p = float(p)
    if p in (0, 1):
        return f"{p:.0%}"
    if p > 0.9995 or p < 0.0005:
        return "over 99.9%" if p > 0.5 else "under 0.1%"
    return f"{p:.1%}" if p > 0.9 or p < 0.1 else f"{p:.0%}"
