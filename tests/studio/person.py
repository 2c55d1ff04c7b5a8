"""A person who sees nothing but the HTML of a seat's page, and fills its forms in."""

from __future__ import annotations

import json
import re
from random import Random

from tests.studio.client import Client, Form, Page


def reply_to(page: Page, dice: Random) -> tuple[Form, dict[str, str]]:
    """A form of a seat's page with fields that the page offers."""
    forms = [form for form in page.forms if form.action.endswith("/answer")]
    buttons = [(f, name, value) for f in forms for name, value, _ in f.buttons if name == "option"]
    if buttons:
        form, name, value = dice.choice(buttons)
        return form, {"mark": form.fields["mark"], name: value}
    form = next(form for form in forms if form.fields.keys() > {"mark"} or form.choices)
    found = {"mark": form.fields["mark"]}
    if "text" in form.fields:
        return form, found | {"text": _text(page, dice)}
    found |= {name: dice.choice(choices) for name, choices in form.choices.items()}
    for name in form.fields.keys() - found.keys():
        found[name] = _value(form.hints[name], dice)
    return form, found


def _text(page: Page, dice: Random) -> str:
    if "JSON object" in page.text:
        return _object(page.text.rpartition("JSON object")[2], dice)
    if "Your code" in page.text:
        return "print(1)"
    return dice.choice(["tea", "no", "I see 3"])


def _value(hint: str, dice: Random) -> str:
    if "text" in hint:
        return "tea"
    if bounds := re.search(r"(-?\d+) ?(?:\.\.|to) ?(-?\d+)", hint):
        return str(dice.randint(int(bounds[1]), int(bounds[2])))
    return re.findall(r"-?\d+", hint)[-1]


def _object(described: str, dice: Random) -> str:
    """An object of the form that is described."""
    if "null" in described and dice.random() < 0.3:
        return "null"
    body = described[described.index("{") :]
    for pattern, value in (
        (r"text( of at most \d+ characters)?(?=[,}])", '"tea"'),
        (r"a whole number from (-?\d+) to -?\d+", r"\1"),
        (r'("[^"]+")( or "[^"]+")+', r"\1"),
        (r"(, or null|true or )", ""),
    ):
        body = re.sub(pattern, value, body)
    found, _ = json.JSONDecoder().raw_decode(body)
    return json.dumps(found)


def play_to_the_end(client: Client, page: Page, seed: int) -> Page:
    """Plays on from a seat's page, and returns its page at the end of the game."""
    dice, replies = Random(seed), 0
    while "The game is over" not in page.text:
        form, fields = reply_to(page, dice)
        page = client.post(form.action, fields)
        assert page.status == 200, page.text
        assert "That is no move" not in page.text, (fields, page.text)
        replies += 1
        assert replies < 3000, "the game does not end"
    return page
