"""Templates take bounded work, mean what they mean to Jinja, and are not evaluated if refused."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import Environment, StrictUndefined, TemplateError

from gamedsl.compiler import compile_file
from gamedsl.ir.builtins_base import MAX_BITS
from gamedsl.prompting.template_evaluation import (
    MAX_STEPS,
    MAX_TEXT,
    RenderingBudget,
    TemplateFault,
    compiled,
)
from gamedsl.prompting.template_syntax import MAX_NESTING, Parsed, parse
from tests.shipped import CLOSED, GAMES, OPEN

HEAD = """game: g
roles: [left, right]
actions: [up, down]
protocol: simultaneous
payoffs: 1 if move.left == move.right else 0
"""

CHECK = """
import pathlib, re, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
from gamedsl.compiler import compile_file
found = compile_file(sys.argv[1]).diagnostics
status = pathlib.Path("/proc/self/status").read_text()  # getrusage counts who started this, too
megabytes = int(re.search("VmHWM:\\s*(\\d+)", status)[1]) // 1024
print(*sorted({d.code for d in found if d.severity == "error"}), megabytes)
"""


def checked(folder: Path, text: str) -> list[str]:
    """Returns the codes that a game gets, in 20 seconds and 500 megabytes."""
    path = folder / "g.yaml"
    path.write_text(HEAD + text)
    run = [sys.executable, "-c", CHECK, str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    *codes, megabytes = done.stdout.split()
    assert int(megabytes) < 500
    return codes


def fault(text: str, **names: object) -> TemplateFault:
    with pytest.raises(TemplateFault) as found:
        compiled(text).render(names)
    return found.value


DOUBLED = "{% set a0 = 'xxxxxxxx' %}" + "".join(
    f"{{% set a{n + 1} = a{n} ~ a{n} %}}" for n in range(32)
)
LOOPS = "".join(f"{{% for a{n} in xs %}}" for n in range(9)) + "x" + "{% endfor %}" * 9

REFUSED = {
    "doublings": ("rules: \"" + DOUBLED + "{{ a32 | length }}\"\n", ["GD0517"]),
    "loops in loops": (
        "params: {xs: '[i for i in 1..100]'}\nrules: \"" + LOOPS + "\"\n", ["GD0517"]
    ),
    "minus signs": ("rules: '{{ " + "-" * 3000 + "1 }}'\n", ["GD0517"]),
    "negations": ("rules: '{{ " + "not " * 2000 + "1 }}'\n", ["GD0517"]),
    "brackets": ("rules: '{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}'\n", ["GD0517"]),
    "sums": ("rules: '{{ " + "1 + " * 2000 + "1 }}'\n", ["GD0517"]),
    "conditions": ("rules: \"" + "{% if 1 %}" * 400 + "{% endif %}" * 400 + "\"\n", ["GD0517"]),
    "5,000 digits": ("rules: '{{ " + "9" * 5000 + " }}'\n", ["GD0517"]),
    "hexadecimal digits": ("rules: '{{ 0x" + "f" * 5000 + " }}'\n", ["GD0517"]),
    "infinity": ("rules: '{{ 1e999 }}'\n", ["GD0517"]),
}  # fmt: skip

LIST = "params: {xs: '[i for i in 1..90000]', ys: '[i for i in 1..90000]'}\n"

TOO_MUCH = {
    "loop of joins": "{% for x in xs %}{{ xs | join(', ') }}{% endfor %}",
    "join by a join": "{{ xs | join(xs | join) }}",
    "joins in joins": "{{ [xs | join, xs | join] | join(xs | join(xs | join)) }}",
    "loop of searches": "{% for x in xs %}{% if 0 in xs %}{% endif %}{% endfor %}",
    "loop of comparisons": "{% for x in xs %}{% if xs == ys %}{% endif %}{% endfor %}",
    "loop of texts": "{% for x in xs %}{{ '" + "x" * 5000 + "' }}{% endfor %}",
    "loop of plain text": "{% for x in xs %}" + "x" * 5000 + "{% endfor %}",
    "list of lists": "{% for x in xs %}{{ [" + "xs, " * 500 + "1] | length }}{% endfor %}",
    "loop of maxima": "{% for x in xs %}{{ xs | max }}{% endfor %}",
    "rounded to many places": "{{ 1 | round(999999999) }}",
    "rounded up to many places": "{{ 1 | round(999999999, 'ceil') }}",
    "trimmed": "{% set t = xs | join %}{{ t | trim(xs | join) | length }}",
    "hexadecimal text": "{{ '" + "f" * 5000 + "' | int(0, 16) }}",
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused_template_is_not_evaluated(name: str, tmp_path: Path) -> None:
    text, codes = REFUSED[name]
    assert checked(tmp_path, text) == codes


@pytest.mark.parametrize("name", TOO_MUCH)
def test_legal_template_is_bounded(name: str, tmp_path: Path) -> None:
    assert checked(tmp_path, f'{LIST}rules: "{TOO_MUCH[name]}"\n') == ["GD0509"]


def test_templates_are_bounded_together(tmp_path: Path) -> None:
    """Each of 300 templates is within the bounds of one."""
    loop = "{% for x in xs %}{{ x }}{% endfor %}{{ options }}"
    steps = "".join(
        f"  - {{role: {'left' if n % 2 else 'right'}, choose: c{n}, from: [l, r]}}\n"
        for n in range(300)
    )
    asked = "".join(f'    c{n}: "{n}{loop}"\n' for n in range(300))
    text = (
        HEAD.replace("actions: [up, down]\nprotocol: simultaneous\n", f"turns:\n{steps}")
        .replace("1 if move.left == move.right else 0", "1 if c0 == c1 else 0")
        + LIST + f"prompts:\n  ask:\n{asked}"
    )  # fmt: skip
    path = tmp_path / "g.yaml"
    path.write_text(text)
    run = [sys.executable, "-c", CHECK.replace("20, 20", "60, 60"), str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert "GD0509" in done.stdout.split(), done.stderr[-2000:]


def test_texts_are_not_formatted_by_tests() -> None:
    """`%` of a text is formatting, which can make a gigabyte of one `%999999999d`."""
    for text in ("even", "odd", "divisibleby 3"):
        assert "is for numbers" in fault("{% if '%99d' is " + text + " %}{% endif %}").reason


def test_faults_say_what_to_do() -> None:
    found = fault("ab {{ xs | join(t) }}", xs=["x"] * 1000, t="-" * 20_000)
    assert (found.start, found.bound) == (11, True)
    assert found.reason == f"it makes a text of more than {MAX_TEXT:,} characters"
    assert found.help
    steps = fault("{% for x in xs %}{{ x }}{% endfor %}", xs=["x"] * MAX_STEPS)
    assert steps.reason == f"it takes more than {MAX_STEPS:,} steps"


def test_refused_templates_remember_why() -> None:
    template = compiled("{{ f() }}")
    assert template is compiled("{{ f() }}")
    for _ in range(2):
        with pytest.raises(TemplateFault) as found:
            template.render({})
        assert found.value.refused
        assert found.value.reason == "a call is not allowed in a template"


def test_bound_is_reached_once_in_a_check() -> None:
    budget, text = RenderingBudget(), "{% for x in xs %}{{ x }}{% endfor %}"
    for _ in range(3):
        with pytest.raises(TemplateFault):
            compiled(text).render({"xs": ["x"] * MAX_STEPS}, budget)
        assert budget.limits[0] - budget.steps <= MAX_STEPS + 1
    assert compiled("{{ 1 }}").render({}, budget) == "1"


def test_spent_budget_renders_nothing() -> None:
    budget = RenderingBudget(steps=10)
    assert compiled("{{ 1 }}{{ 2 }}{{ 3 }}").render({}, budget) == "123"
    assert compiled("{{ 1 }}{{ 2 }}{{ 3 }}").render({}, budget) == "123"
    with pytest.raises(TemplateFault, match="more than 10 steps together") as found:
        compiled("{{ 1 }}").render({}, budget)
    assert found.value.bound


def test_numbers_are_bounded() -> None:
    large = 2 ** (MAX_BITS // 2 + 1)
    assert "digits" in fault("{{ n * n }}", n=large).reason
    assert "digits" in fault("{{ 1 / n / n }}", n=large).reason
    assert "finite" in fault("{{ x * x }}", x=1e300).reason
    assert compiled("{{ n * 2 }}").render({"n": 2 ** (MAX_BITS - 2)}) == str(2 ** (MAX_BITS - 1))


def test_nesting_is_counted_and_not_overflowed() -> None:
    text = "{{ " + "(1 + " * MAX_NESTING + "1" + ")" * MAX_NESTING + " }}"
    found = parse(text)
    assert isinstance(found, Parsed)
    assert f"nested more than {MAX_NESTING} deep" in found.refused[0].what
    inner = MAX_NESTING - 5
    assert compiled("{{ " + "(1 + " * inner + "1" + ")" * inner + " }}").render({}) == str(
        inner + 1
    )


@pytest.mark.parametrize("name", [*CLOSED, *OPEN])
def test_shipped_prompts_are_far_below_bounds(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rendering of a shipped game takes less than a hundredth of what it may."""
    spent: list[tuple[int, int]] = []
    spend = RenderingBudget.spend

    def noted(self: RenderingBudget, steps: int, text: int) -> None:
        spent.append((steps, text))
        spend(self, steps, text)

    monkeypatch.setattr(RenderingBudget, "spend", noted)
    assert compile_file(GAMES / f"{name}.yaml", histories=300).ok
    assert all(steps < MAX_STEPS // 100 and text < MAX_TEXT // 100 for steps, text in spent)


# what templates mean

NAMES = {
    "n": 7, "half": Fraction(1, 2), "t": "abc", "yes": True, "xs": ["a", "b", "c"],
    "pairs": [("a", 1), ("b", 2)], "m": {"a": 1, "b": "x"}, "none_at_all": (), "big": [3, 1, 2],
}  # fmt: skip

leaf = st.sampled_from(
    ["n", "half", "t", "yes", "xs", "m", "m.a", "m['b']", "xs[0]", "xs[n]", "big", "none_at_all",
     "1", "2.5", "'x'", "true", "none", "[1, t]", "(n, 'q')", "missing", "x", "y", "loop.index",
     "loop.last", "loop.length", "loop.revindex", "loop.first", "loop.index0"]
)  # fmt: skip


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(inner, inner)
    filters = st.sampled_from(
        ["upper", "title", "join", "join('-')", "first", "last", "length", "count", "max", "min",
         "string", "trim", "trim('a')", "int", "abs", "round", "round(1)", "capitalize", "lower",
         "round(0, 'ceil')"]
    )  # fmt: skip
    tests = st.sampled_from(
        ["defined", "undefined", "none", "odd", "even", "divisibleby 2", "string", "number",
         "in xs", "not defined"]
    )  # fmt: skip
    operators = st.sampled_from(
        ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", "in", "not in", "and",
         "or", "< 5 <="]
    )  # fmt: skip
    return st.one_of(
        st.builds("({0[0]} {1} {0[1]})".format, two, operators),
        st.builds("({0} | {1})".format, inner, filters),
        st.builds("({0} is {1})".format, inner, tests),
        st.builds("(not {0})".format, inner),
        st.builds("(-{0})".format, inner),
        st.builds("({0[0]} if {1} else {0[1]})".format, two, inner),
        st.builds("({0[0]} if {0[1]})".format, two),
    )


expressions = st.recursive(leaf, grown, max_leaves=5)


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("{0}\n {1}".format, inner, inner),
        st.builds(
            "{{% if {0} %}}{1}{{% else %}}{2}{{% endif %}}".format, expressions, inner, inner
        ),
        st.builds("{{% if {0} %}}{1}{{% elif yes %}}x{{% endif %}}".format, expressions, inner),
        st.builds(
            "{{% for x in {0} %}}{1}{{{{ loop.index }}}}{{% else %}}{2}{{% endfor %}}".format,
            st.sampled_from(["xs", "big", "none_at_all", "t", "m", "xs if x != 'b'", "n"]),
            inner,
            inner,
        ),
        st.builds("{{% for x, y in pairs if y > n - 6 %}}{0}{{% endfor %}}".format, inner),
    )


statements = st.one_of(
    st.sampled_from(["plain ", "{# no #}", "{%- set y = n -%}", "{% set x = t %}", "\n"]),
    st.builds("{{{{ {0} }}}}".format, expressions),
)
templates = st.recursive(statements, blocks, max_leaves=5)


def jinja() -> Environment:
    """Returns Jinja itself, with the meaning of operators, parts and texts that templates have."""
    from jinja2.runtime import LoopContext
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    from gamedsl.prompting.template_evaluation import arithmetic
    from gamedsl.prompting.templates import LOOP, as_prompt_text

    names = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div", "//": "FloorDiv", "%": "Mod"}

    class Reference(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset(names)

        def call_binop(self, context: object, operator: str, left: object, right: object) -> object:
            return arithmetic(names[operator], left, right)

        def getattr(self, obj: object, attribute: str) -> object:
            if isinstance(obj, LoopContext) and attribute in LOOP:
                return super().getattr(obj, attribute)
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            try:
                if isinstance(obj, dict | tuple | list):
                    return obj[argument]
            except (LookupError, TypeError):
                pass
            return self.undefined(obj=obj, name=argument)

    def joined(items: object, between: str = "") -> str:
        if not isinstance(items, list | tuple):
            raise TypeError("`join` is for lists")
        return between.join(str(as_prompt_text(item)) for item in items)

    made = Reference(
        undefined=StrictUndefined, finalize=as_prompt_text, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"string": as_prompt_text, "join": joined}
    return made


@settings(max_examples=400)
@given(templates)
def test_templates_mean_what_jinja_means(text: str) -> None:
    parsed = parse(text)
    if not isinstance(parsed, Parsed) or parsed.refused:
        return
    try:
        wanted: str | None = jinja().from_string(text).render(NAMES)
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError):
        wanted = None
    try:
        found: str | None = compiled(text).render(NAMES)
    except TemplateFault:
        found = None
    formats = any(f" is {test}" in text for test in ("odd", "even", "divisibleby"))
    assert found == wanted or (found is None and formats)  # texts are not formatted by `%`
