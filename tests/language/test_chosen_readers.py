"""Readers that depend on what is chosen: the interpreter and generated code agree on what each seat
sees."""

from __future__ import annotations

from pathlib import Path

from gamedsl.compiler import compile_file
from gamedsl.engine.generated import Generated
from gamedsl.engine.interpreter import Interpreter
from gamedsl.engine.kernel import Kernel
from gamedsl.engine.walk import EndNode, walk

GAME = """\
game: case
roles: [ann, bob, cat]
types: {Note: {to: role, mark: [x, y]}}
turns:
  - {role: ann, choose: target, from: [bob, cat], seen_by: target}
  - {role: [ann, bob], choose: note, from: Note, seen_by: {mark: "note[actor].to"}}
  - {role: all, choose: move, from: [a, b], seen_by: "[r for r in roles if r != actor]"}
payoffs: 0
"""


def told(kernel: Kernel) -> list[tuple[str, ...]]:
    """What the seats have seen at the end of each play, in order."""
    ends = [node.point for node in walk(kernel.start(), 20_000) if isinstance(node, EndNode)]
    return [tuple(end.known(seat) for seat in ("ann", "bob", "cat")) for end in ends]


def test_backends_tell_chosen_readers_the_same(tmp_path: Path) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(GAME, encoding="utf-8")
    ir = compile_file(path).ir
    assert ir is not None
    generated = Generated(ir)
    assert generated.written
    found = told(Interpreter(ir))
    assert found == told(generated)
    assert len(found) == 2 * 6 * 6 * 8
    assert any("ann.note=mark=x" in cat and "ann.note" not in bob for _, bob, cat in found)
