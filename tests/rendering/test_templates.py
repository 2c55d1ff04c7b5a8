"""The template language: what is read of a text, where, and what the sandbox refuses."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gamedsl.prompting.template_evaluation import TemplateFault, compiled
from gamedsl.prompting.template_syntax import MAX_CHARACTERS, Broken, Parsed, parse
from gamedsl.prompting.templates import FILTERS, NODES, TESTS, as_prompt_text, environment


def mentioned(text):
    found = parse(text)
    assert isinstance(found, Parsed), found
    for mention in found.mentions:
        assert text[mention.start :].startswith(mention.name)
        if mention.attribute is not None:
            assert text[mention.at :].startswith(mention.attribute)
    for start, literal in found.texts:
        assert text[start : start + len(literal)] == literal
    return [m.name if m.attribute is None else f"{m.name}.{m.attribute}" for m in found.mentions]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("plain", []),
        ("{{ a }}\n\n {{ b.c }} {{ d['e'] }}", ["a", "b.c", "d.e"]),
        ("{# {{ no }} #}{% raw %}{{ no }}{% endraw %}{{ yes }}", ["yes"]),
        ("x {%- if a -%} y {%- elif b > c %}{% else %}{{ d }}{% endif %}", ["a", "b", "c", "d"]),
        ("{% for x in xs if x != y %}{{ x.z }}{{ loop.index }}{% else %}{{ x }}{% endfor %}",
         ["xs", "y", "x"]),
        ("{% set x = a %}{{ x }}{% set p, q = b %}{{ p ~ q }}", ["a", "b"]),
        ("{{ a | join(b) | upper }}{{ c is divisibleby d }}", ["a", "b", "c", "d"]),
        ("{{ a[b] }}{{ a[0] }}", ["a", "b", "a"]),
        ("{{ 'a' ~ \"b\" if c else 3 }}", ["c"]),
        ("{{ [a, (b, c)] }}{{ a in d and not b or -c }}", ["a", "b", "c", "a", "d", "b", "c"]),
    ],
)  # fmt: skip
def test_free_names_are_found_where_they_stand(text, names):
    assert mentioned(text) == names


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a {{ f(x) }}", "("),
        ("{{ x.y() }}", "("),
        ("{{ 2 ** 9 }}", "2"),
        ("{{ x | map('f') }}", "map"),
        ("{{ x | tojson }}", "tojson"),
        ("{{ x is callable }}", "callable"),
        ("{{ x[1:2] }}", "1"),
        ("{{ {'a': 1} }}", "{"),
        ("{% macro m() %}{% endmacro %}", "macro"),
        ("{% include 'x' %}", "include"),
        ("{% import 'x' as y %}", "import"),
        ("{% extends 'x' %}", "extends"),
        ("{% block b %}{% endblock %}", "block"),
        ("{% filter upper %}x{% endfilter %}", "filter"),
        ("{% set x %}y{% endset %}", "set"),
        ("{% for x in y %}{% for z in x %}{% endfor %}{% endfor %}", "for"),
        ("{% for x in y %}{{ loop.cycle }}{% endfor %}", "cycle"),
        ("{% set x = y %}{% set z = x ~ x %}", "x"),
    ],
)
def test_what_is_refused_is_placed(text, word):
    found = parse(text)
    assert isinstance(found, Parsed)
    assert found.refused
    assert any(text[r.start : r.start + r.length].startswith(word) for r in found.refused)


def test_a_long_text_is_refused():
    assert not parse("x" * MAX_CHARACTERS).refused
    assert parse("x" * (MAX_CHARACTERS + 1)).refused


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("one\ntwo {{ a b }}", "b }}"),
        ("one\ntwo {{ 'a }}", "'a }}"),
        ("{% iff a %}", "iff a %}"),
        ("{{ a }", "}"),
        ("{% if a %}", "%}"),
        ("one\n{{ (a }}\n", "}}\n"),
    ],
)
def test_broken_templates_are_placed(text, rest):
    found = parse(text)
    assert isinstance(found, Broken)
    assert text[found.start :] == rest


PIECES = ["{{", "}}", "{%", "%}", "{#", "#}", "-", "if", "endif", "for", "in", "set", "x", " ", "'",
          '"', "|", "(", ")", "[", "]", ".", "\n", "=", "1", "~", "**", "é", "\U0001f600", "raw",
          "endraw", "endfor", "join", "is", "not"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=30))
def test_no_text_breaks_the_reader(text):
    found = parse(text)
    if isinstance(found, Broken):
        assert 0 <= found.start <= len(text)
        assert found.reason
    else:
        for mention in found.mentions:
            assert text[mention.start :].startswith(mention.name)


def render(text, **names):
    return compiled(text).render(names)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (Fraction(5, 2), "2.5"),
        (Fraction(-1, 8), "-0.125"),
        (Fraction(6, 2), "3"),
        (Fraction(1, 3), "1/3"),
        (Fraction(-7, 20), "-0.35"),
        (True, "true"),
        ((1, Fraction(1, 2), "x"), "1, 0.5, x"),
        ("text", "text"),
    ],
)
def test_values_are_shown_exactly(value, text):
    assert str(as_prompt_text(value)) == text
    assert render("{{ x }}", x=value) == text


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("{{ n / 4 }}", "2.5"),
        ("{{ n // 4 }} {{ n % 4 }} {{ n - 1 }} {{ n * 2 + 1 }}", "2 2 9 21"),
        ("{{ n | string ~ '!' }}", "10!"),
        ("{% for x in xs %}{{ loop.index }}{{ x }}{% if not loop.last %};{% endif %}{% endfor %}",
         "1a;2b"),
        ("{{ xs | join('-') }} {{ xs | first | upper }} {{ xs | length }}", "a-b A 2"),
        ("{{ m.pop }} {{ m['items'] }}", "p i"),
    ],
)  # fmt: skip
def test_what_templates_can_compute(text, result):
    assert render(text, n=10, xs=("a", "b"), m={"pop": "p", "items": "i"}) == result


@pytest.mark.parametrize(
    "text",
    [
        "{{ missing }}", "{{ m }}", "{{ m.keys }}", "{{ s.upper }}", "{{ s[0] }}", "{{ xs.count }}",
        "{{ s * 3 }}", "{{ s + s }}", "{{ s % 3 }}", "{{ s | join('x') }}", "{{ xs[7] }}",
        "{{ n.__class__ }}", "{{ true * 3 }}", "{{ 1 / 0 }}",
    ],
)  # fmt: skip
def test_what_templates_cannot_reach_or_build(text):
    with pytest.raises(TemplateFault):
        render(text, m={"a": 1}, s="abc", xs=("a",), n=3)


def test_the_language_is_a_part_of_jinja():
    from jinja2 import nodes

    assert all(hasattr(nodes, name) for name in NODES)
    assert set(environment().filters) == set(FILTERS)
    assert set(environment().tests) == set(TESTS)
    assert not environment().globals
