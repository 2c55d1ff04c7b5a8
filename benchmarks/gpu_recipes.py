"""The recipes of `benchmarks/gpu_recipes.yaml`: the command of each, and the memory of one GPU.

    python benchmarks/gpu_recipes.py                                # prints them
    python benchmarks/gpu_recipes.py --page docs/training/gpu.md    # writes them into the page

Memory is computed, not measured: from the shapes of the models, without their weights, by the
formulas of `--dry-run`, for a GPU and a pass of the most tokens. Keys and values are not in it.
"""

from __future__ import annotations

import re
import shlex
import textwrap
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
import yaml
from shared import command
from torch import nn
from train_queue import assignments

import gamedsl
from gamedsl.diagnostics import Problems
from gamedsl.policies.activations import Activations
from gamedsl.policies.cost import SCORED_COPIES, WRITTEN_COPIES, Memory, ModelSize, memory_of
from gamedsl.policies.hf import PASS_TOKENS
from gamedsl.policies.network import MANY_LOGITS
from gamedsl.policies.trunk import trunk_room
from gamedsl.recipe.resolve import flat_settings, override, resolve
from gamedsl.recipe.table import Recipe
from gamedsl.runtime import Game

LIST = Path(__file__).with_suffix(".yaml")
LINE = 118
BF16 = 2
MARKED = re.compile(r"(<!-- recipes: .+? -->\n).*?(?=<!-- end -->)", re.DOTALL)
SHAPES: dict[str, dict[str, Any]] = {
    "Qwen/Qwen3-0.6B": {"hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28,
                        "num_attention_heads": 16, "tie_word_embeddings": True},
    "Qwen/Qwen3-1.7B": {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28,
                        "num_attention_heads": 16, "tie_word_embeddings": True},
    "Qwen/Qwen3-4B": {"hidden_size": 2560, "intermediate_size": 9728, "num_hidden_layers": 36,
                      "num_attention_heads": 32, "tie_word_embeddings": True},
    "Qwen/Qwen3-8B": {"hidden_size": 4096, "intermediate_size": 12288, "num_hidden_layers": 36,
                      "num_attention_heads": 32, "tie_word_embeddings": False},
}  # fmt: skip
"""What their `config.json` says, beside what they share."""
SHARED = {"vocab_size": 151936, "num_key_value_heads": 8, "head_dim": 128}
NF4_BYTES = 1 / 2 + 1 / 64 + 4 / (64 * 256)
"""Of a weight: four bits, and its share of the scale of its block and of the scale of scales."""


@dataclass(frozen=True)
class GpuRecipe:
    """One entry of the list; the keys are explained there."""

    name: str
    game: str
    model: str
    why: str
    learns: str
    limit: str
    gpus: int = 1
    params: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """By dotted names."""

    def load(self) -> Game:
        """The game, with its params."""
        return gamedsl.load(self.game, params=self.params)

    def resolved(self, game: Game, problems: Problems) -> Recipe:
        """The recipe that training would read."""
        given = {**self.settings, "model": self.model}
        return resolve(game.ir, [override(*one) for one in given.items()], problems)

    def arguments(self) -> list[str]:
        """Returns what comes after `gamedsl` in the command."""
        given = [f"--param={text}" for text in assignments(self.params)]
        given += [f"--set={text}" for text in assignments(self.settings)]
        return ["train", self.game, f"--model={self.model}", *given]

    def command(self) -> str:
        """Returns the command, in lines of a page."""
        parallel = f"torchrun --standalone --nproc-per-node={self.gpus} -m "
        lines = [f"{parallel if self.gpus > 1 else ''}gamedsl train {self.game}"]
        for word in self.arguments()[2:]:
            option = shlex.join(word.split("=", 1))
            if len(lines[-1]) + len(option) > LINE - 3:
                lines[-1] += " \\"
                lines.append(" ")
            lines[-1] += f" {option}"
        return "\n".join(lines)


def recipes() -> list[GpuRecipe]:
    """The entries of the list."""
    listed = yaml.safe_load(LIST.read_text(encoding="utf-8"))
    return [GpuRecipe(settings=dict(flat_settings(row.pop("set", {}))), **row) for row in listed]


@cache
def shape_of(name: str) -> Any:
    """A model of this size without weights."""
    config: Any = transformers.Qwen3Config
    with torch.device("meta"):
        return transformers.Qwen3ForCausalLM(config(**SHAPES[name], **SHARED))


def linear_layers(module: nn.Module) -> list[nn.Linear]:
    """The linear layers inside a module."""
    return [layer for layer in module.modules() if isinstance(layer, nn.Linear)]


def weight_bytes(one: GpuRecipe, recipe: Recipe) -> int:
    """Bytes of the trainer's frozen weights on one GPU."""
    model = shape_of(one.model)
    inside = [layer.weight.numel() for layer in linear_layers(model.model)]
    layers = sum(inside)
    outside: int = sum(weight.numel() for weight in model.parameters()) - layers
    if recipe.quantize == "nf4":
        return int(NF4_BYTES * layers) + BF16 * (outside + max(inside))
    if recipe.shard:  # a share of all layers, and two layers whole: one runs, the next is gathered
        layers = layers // one.gpus + 2 * layers // len(model.model.layers)
    return BF16 * (layers + outside)


def memory(one: GpuRecipe) -> Memory:
    """The memory of one GPU in a pass of the most tokens, without keys and values."""
    game, model = one.load(), shape_of(one.model)
    recipe, config = one.resolved(game, Problems()), model.config
    layers = model.model.layers
    adapted = layers[-(recipe.lora.layers or len(layers)) :]
    widths = sum(x.in_features + x.out_features for layer in adapted for x in linear_layers(layer))
    numbers = {name: shape.rank * widths for name, shape in recipe.shapes(game.ir).items()}
    learning = {recipe.part(role).adapter for role in recipe.learners(game.ir)}
    passes = Activations(
        config, len(adapted), torch.bfloat16, torch.device("cpu"),
        pass_tokens=recipe.pass_tokens, least=PASS_TOKENS, recompute=recipe.recompute,
    )  # fmt: skip
    in_words, cut = recipe.in_words(game.ir), len(adapted) < len(layers)
    size = ModelSize(
        weight_bytes(one, recipe), sum(numbers.values()), 0, 0, 0,
        config.hidden_size, config.vocab_size, torch.bfloat16, torch.device("cpu"),
    )  # fmt: skip
    again = recipe.recompute == "on"
    found = memory_of(
        size,
        trained=sum(count for name, count in numbers.items() if name in learning),
        activations=passes.peak_bytes(passes.pass_tokens, again=again),
        logits=(WRITTEN_COPIES if in_words else SCORED_COPIES) * MANY_LOGITS,
        kept=trunk_room(size.hidden, torch.float32) * size.hidden * 4 * cut,
    )
    return replace(found, vllm=size.weights) if recipe.engine == "vllm" else found


def page_part() -> str:
    """Returns what the page has between its marks."""
    head = ["recipe", "game", "model", "GPUs", "memory of one", "what it should learn"]
    lines = [f"| {' | '.join(head)} |", "| --- | --- | --- | ---: | ---: | --- |"]
    for one in recipes():
        gb = f"{memory(one).total / 1e9:.1f} GB"
        name, game = f"[{one.name}](#{one.name})", f"`{one.game}`"
        model = f"`{one.model}`"
        lines.append(f"| {name} | {game} | {model} | {one.gpus} | {gb} | {one.learns} |")
    for one in recipes():
        lines += ["", f"### {one.name}", "", "```", one.command(), "```", ""]
        about = f"{one.why} **Limit:** {one.limit} **Memory:** {memory(one).describe()}."
        lines += textwrap.wrap(about, LINE, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines) + "\n"


def rewritten(page: str) -> str:
    """A page with the recipes written anew."""
    return MARKED.sub(lambda mark: mark[1] + page_part(), page)


def main() -> None:
    parser = command(__doc__, out=False)
    parser.add_argument("--page", type=Path, metavar="FILE.md", help="write them into a page")
    args = parser.parse_args()
    if args.page is None:
        print(page_part(), end="")
    else:
        args.page.write_text(rewritten(args.page.read_text("utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
