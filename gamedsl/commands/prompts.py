"""`gamedsl prompts`: prints the prompts of each role, and the meaning of its labels.

The meaning of the labels is for the author and is never sent. Every step is shown; a later one
after a history with the first option of every choice before it. `--at` shows the decision after a
history of its own (`gamedsl.players.named_history`). With `--model` the labels are those
that this model's tokenizer gets, and the prompt is the output of its chat template, tools included.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from gamedsl.cli import CLEAN, PROBLEMS, USAGE, add_params, read_params, use_colour
from gamedsl.commands._arguments import seed
from gamedsl.tables.model import Table, text_columns
from gamedsl.tables.text import rendered, table_lines

if TYPE_CHECKING:
    from gamedsl.ir.game import GameIR
    from gamedsl.ir.program import Choose
    from gamedsl.policies.chat import HFTokenizer
    from gamedsl.prompting.events import Event
    from gamedsl.prompting.labels import LabelBook
    from gamedsl.prompting.prompts import Messages

HELP = "Print exactly what each role will be sent. FILE is a path or the name of a shipped game."


def configure(parser: argparse.ArgumentParser) -> None:
    add_params(parser)
    prompts = parser.add_argument_group("which prompts")
    seeds = parser.add_argument_group("seeds")
    output = parser.add_argument_group("output")
    parser.add_argument("file", metavar="FILE", help="a path or a shipped name")
    seeds.add_argument("--run-seed", type=seed, default=0, metavar="N", help="seed of the labels")
    seeds.add_argument(
        "--seed", type=seed, default=0, metavar="N", help="seed of the episode (for `per: episode`)"
    )
    prompts.add_argument("--role", metavar="R", help="only this role, or only this seat of a role")
    prompts.add_argument(
        "--at", metavar="MOVES",
        help='what is asked after these choices and draws, such as "card=Q, open=bet"',
    )  # fmt: skip
    output.add_argument("--model", metavar="NAME", help="apply the chat template of this model")
    output.add_argument(
        "--format", choices=("text", "json"), default="text",
        help="for people, or for programs (default: text)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    from gamedsl.analysis.history_sample import QUICK
    from gamedsl.compiler import compile_file
    from gamedsl.diagnostics.render import render

    try:
        params = read_params(args.param)
    except ValueError as error:
        return _usage(str(error))
    result = compile_file(args.file, params, QUICK)
    if result.diagnostics:
        shown = render(result.diagnostics, "pretty", use_colour(sys.stderr))
        print(shown, file=sys.stderr)
    if result.ir is None:
        if result.ok and result.document is not None:
            return _usage(f"{args.file} is a {result.document.kind} file; prompts belong to a game")
        return PROBLEMS
    ir = result.ir
    seats = [s for s in ir.everyone if args.role in (None, s, ir.role_of[s])]
    if not seats:
        return _usage(_no_role(ir, args.role))
    tokenizer = None
    if args.model is not None:
        from gamedsl.policies.errors import ModelError

        try:
            tokenizer = tokenizer_of(args.model)
        except ModelError as error:
            return _usage(str(error))
    seeds = {"run_seed": args.run_seed, "seed": args.seed}
    if args.at is None:
        report = describe(ir, seats, tokenizer=tokenizer, **seeds)
    else:
        try:
            report = describe_at(ir, seats, args.at, tokenizer=tokenizer, **seeds)
        except ValueError as error:
            return _usage(str(error))
    print(
        json.dumps(report, indent=2, ensure_ascii=False) if args.format == "json" else text(report)
    )
    return CLEAN


def describe(
    ir: GameIR, seats: list[str], *, run_seed: int, seed: int, tokenizer: HFTokenizer | None
) -> dict[str, Any]:
    """All prompts of some seats as plain data; `sent` is there with a tokenizer only."""
    from gamedsl.engine.random_plays import pasts
    from gamedsl.prompting.labels import draw_labels
    from gamedsl.prompting.prompts import Prompter

    book = draw_labels(ir, run_seed=run_seed, seed=seed, tokenizer=tokenizer)
    prompter = Prompter(ir, syntax=None if tokenizer is None else tokenizer.call_syntax)
    prompts = []
    for step in ir.steps:
        shown: set[tuple[str, bool]] = set()
        for past in sorted(pasts(ir, step), key=lambda past: bool(past.made_up)):
            kind = past.seat, bool(past.before)
            if past.seat not in seats or kind in shown:
                continue
            shown.add(kind)
            messages = prompter.messages(
                past.seat, step, past.legal, book, past.seen, past.variables, past.before
            )
            after = [event_text(ir, event, past.made_up) for event in past.seen]
            asked = _Asked(past.seat, step, past.legal, messages)
            prompts.append(_as_data(ir, asked, after, book, tokenizer))
    return _report(ir, book, run_seed, seed, prompts)


def describe_at(
    ir: GameIR, seats: list[str], at: str, *, run_seed: int, seed: int,
    tokenizer: HFTokenizer | None,
) -> dict[str, Any]:  # fmt: skip
    """The prompts of those who are asked after a named history, as `describe` has them. ValueError
    for a history that does not happen, or in which none of the seats is asked then."""
    from gamedsl.players.named_history import follow
    from gamedsl.prompting.labels import draw_labels
    from gamedsl.runtime import Env

    env = Env(ir, run_seed=run_seed, tokenizer=tokenizer)
    reached = follow(env.reset(seed, chance="asked"), at)
    book = draw_labels(ir, run_seed=run_seed, seed=seed, tokenizer=tokenizer)
    asked = reached.episode.decisions
    if not any(decision.seat in seats for decision in asked):
        names, verb = " and ".join(d.seat for d in asked), "are" if len(asked) > 1 else "is"
        raise ValueError(f"then {names} {verb} asked, not {seats[0]}")
    prompts = []
    for decision in asked:
        if decision.seat in seats:
            messages = cast("Messages", decision.messages)
            shown = _Asked(decision.seat, env.step_of(decision.step), decision.legal, messages)
            prompts.append(_as_data(ir, shown, list(reached.path), book, tokenizer))
    return _report(ir, book, run_seed, seed, prompts) | {"at": at}


class _Asked(NamedTuple):
    """A decision and its prompt."""

    seat: str
    step: Choose
    legal: tuple[str, ...]
    messages: Messages


def _as_data(
    ir: GameIR, asked: _Asked, after: list[str], book: LabelBook, tokenizer: HFTokenizer | None
) -> dict[str, Any]:
    """Returns a prompt as plain data."""
    from gamedsl.ir.json_types import reply_schema
    from gamedsl.prompting.tool_calls import tools_for

    step = asked.step
    said = [(role, content) for role, content in asked.messages if role != "tools"]
    prompt: dict[str, Any] = {
        "seat": asked.seat,
        "role": ir.role_of[asked.seat],
        "step": step.id,
        "after": after,
        "messages": [{"role": role, "content": content} for role, content in said],
        "answers": {book.label(name): name for name in (asked.legal if step.said is None else ())},
    }
    if step.said is not None:
        schema = reply_schema(step.said, step.reply_type(asked.seat), ir.seats)
        prompt |= {} if schema is None else {"schema": schema}
    if (ir.respond.kind if step.said is None else step.said.form) == "tool":
        tools = tools_for(ir, ir.role_of[asked.seat])
        prompt["tools"] = [{"type": "function", "function": tool} for tool in tools]
    if tokenizer is not None:
        prompt["sent"] = tokenizer.render(asked.messages)
        prompt["tokens"] = tokenizer.count(prompt["sent"])
    return prompt


def _report(
    ir: GameIR, book: LabelBook, run_seed: int, seed: int, prompts: list[dict[str, Any]]
) -> dict[str, Any]:
    return {
        "game": ir.name,
        "run_seed": run_seed,
        "seed": seed,
        "labels": {"kind": ir.labels.kind, "per": ir.labels.per, "names": dict(book.pairs)},
        "prompts": prompts,
    }


def event_text(ir: GameIR, event: Event, made_up: frozenset[str] = frozenset()) -> str:
    """An event in words, by canonical names. Of functions that are `made_up` it is said that they
    were not called."""
    from gamedsl.ir.program import Call, walk_steps

    if any(step.id == event.step and step.said is not None for step in ir.steps):
        return f"{event.seat} said {event.name or 'nothing'}"
    if any(step.id == event.step for step in ir.steps):
        return f"{event.seat} chose {event.name}"
    whose = f" of {event.seat}" if event.seat else ""
    called = (step for step in walk_steps(ir.turns) if isinstance(step, Call))
    function = next((step.function for step in called if step.id == event.step), None)
    note = f" (made up: `{function}` may give something else)" if function in made_up else ""
    return f"{event.step}{whose} is {event.name}{note}"


def text(report: dict[str, Any]) -> str:
    """The report for people: a heading, the text that is sent between rules, the meaning below."""
    lines = []
    for prompt in report["prompts"]:
        count = f", {prompt['tokens']} tokens" if "tokens" in prompt else ""
        lines.append(f"━━ {prompt['seat']} · {prompt['step']}{count} ━━")
        if prompt["after"]:
            words = "after" if "at" in report else "for instance after"
            lines.append(f"({words}: {'; '.join(prompt['after'])})")
        if "sent" in prompt:
            lines.append(prompt["sent"].rstrip("\n"))
        else:
            for message in prompt["messages"]:
                lines += [f"[{message['role']}]", message["content"]]
        if "schema" in prompt:
            schema = json.dumps(prompt["schema"], ensure_ascii=False)
            lines.append(f"(what is read fits this JSON Schema: {schema})")
        lines.append("")
    names = report["labels"]["names"]
    if report["labels"]["kind"] == "plain":
        return "\n".join([*lines, "labels: plain, every option is called by its name"])
    drawn = (
        f", drawn per {report['labels']['per']}"
        if report["labels"]["kind"] in ("masked", "partly")
        else ""
    )
    lines.append(f"labels: {report['labels']['kind']}{drawn} (not sent)")
    pairs = Table(text_columns("", ""), [(label, name) for name, label in names.items()])
    return "\n".join([*lines, rendered(table_lines(pairs, indent=2))])


def tokenizer_of(name: str) -> HFTokenizer:
    """The tokenizer of a model. ModelError passes through."""
    from gamedsl.policies.chat import HFTokenizer
    from gamedsl.policies.models import load

    return HFTokenizer(load(name, notify=lambda line: print(line, file=sys.stderr)).tokenizer)


def _no_role(ir: GameIR, wanted: str) -> str:
    from gamedsl.diagnostics.suggest import did_you_mean

    known = list(dict.fromkeys((*(role.name for role in (*ir.roles, *ir.referees)), *ir.everyone)))
    guess = did_you_mean(wanted, known)
    fix = f"did you mean `{guess}`?" if guess else f"known: {', '.join(known)}"
    return f"`{ir.name}` has no role `{wanted}`; {fix}"


def _usage(message: str) -> int:
    print(f"gamedsl prompts: {message}", file=sys.stderr)
    return USAGE
