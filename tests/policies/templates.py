"""Small chat templates that behave as those of well-known model families do, over `tiny`'s bytes.

`CHATML` writes a system text of its own where there is none (SmolLM2), `THINKING` strips the
thoughts of turns before the last question and opens an empty thought where none is wanted (Qwen3),
`OPENED` strips them too and ends each prompt in an opened thought (DeepSeek-R1), `BRACKETS` does so
with other tags (Magistral's), `SEED` has tags of its own too and opens no thought (Seed-OSS),
`CHANNELS` has replies in a channel (gpt-oss), `HEADERS` begins with a token of its own and trims
texts (Llama 3), `TURNS` ends a turn with a token that is not `eos` and has no system text (Gemma).
`CALLING` lists tools and has calls in tags (Qwen), `BARE_CALLS` has calls with `parameters` and
without tags (Llama 3.1).
"""

from __future__ import annotations

from gamedsl.policies import random_models
from gamedsl.policies.chat import HFTokenizer

CHATML = (
    "{% for m in messages %}"
    "{% if loop.first and m['role'] != 'system' %}"
    "<|im_start|>system\nBe kind.<|im_end|>\n{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
THINKING = (
    "{% set last = namespace(at=0) %}"
    "{% for m in messages %}{% if m['role'] == 'user' %}{% set last.at = loop.index0 %}{% endif %}"
    "{% endfor %}"
    "{% for m in messages %}{% set text = m['content'] %}"
    "{% if m['role'] == 'assistant' and loop.index0 < last.at and '</think>' in text %}"
    "{% set text = text.split('</think>')[-1].lstrip('\\n') %}{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ text }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if thoughts is defined and enable_thinking is false %}<think>\n\n</think>\n\n{% endif %}"
    "{% endif %}"
)
EMPTY_THOUGHT = "{% set thoughts = true %}" + THINKING
OPENED = (
    "{% for m in messages %}{% set text = m['content'] %}"
    "{% if m['role'] == 'assistant' %}{% set text = text.split('</think>')[-1] %}{% endif %}"
    "<|im_start|>{{ m['role'] }}\n{{ text }}<|im_end|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
)
BRACKETS = OPENED.replace("</think>", "[/THINK]").replace("<think>\n", "[THINK]")
SEED = "{% set begin, end = '<seed:think>', '</seed:think>' %}" + (
    OPENED.replace("<think>\n", "").replace("'</think>'", "end")
)
CHANNELS = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}"
    "{% if m['role'] == 'assistant' %}<|channel|>final{% endif %}"
    "<|message|>{{ m['content'] }}<|im_end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant{% endif %}"
)
HEADERS = (
    "<|begin|>{% for m in messages %}"
    "<|head|>{{ m['role'] }}<|body|>\n\n{{ m['content'] | trim }}<|im_end|>"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|head|>assistant<|body|>\n\n{% endif %}"
)
TURNS = (
    "{% for m in messages %}"
    "{% if m['role'] == 'system' %}{{ raise_exception('no system text') }}{% endif %}"
    "<|turn|>{{ 'model' if m['role'] == 'assistant' else m['role'] }}\n"
    "{{ m['content'] | trim }}<|done|>\n"
    "{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>model\n{% endif %}"
)
_ASKED = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
CALLING = (
    "<|im_start|>system\n{% if messages[0].role == 'system' %}{{ messages[0].content }}{% endif %}"
    "{% if tools %}<tools>{% for tool in tools %}{{ tool | tojson }}{% endfor %}</tools>"
    "{% endif %}<|im_end|>\n"
    "{% for m in messages %}{% if m.role == 'tool' %}"
    "<|im_start|>user\n<tool_response>\n{{ m.content }}\n</tool_response><|im_end|>\n"
    "{% elif m.role != 'system' %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}<tool_call>\n"
    '{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
) + _ASKED
BARE_CALLS = (
    "{% for m in messages %}<|im_start|>{{ 'ipython' if m.role == 'tool' else m.role }}\n"
    "{% if loop.first and tools %}{{ tools | tojson }}\n{% endif %}"
    "{% if m.tool_calls %}{% set f = m.tool_calls[0].function %}"
    '{"name": "{{ f.name }}", "parameters": {{ f.arguments | tojson }}}'
    "{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
) + _ASKED


def tokenizer(template: str) -> HFTokenizer:
    """`tiny`'s tokenizer with another template and the special tokens that it needs."""
    _, wrapped = random_models.build_tiny()
    if template == HEADERS:
        wrapped.add_tokens(["<|begin|>", "<|head|>", "<|body|>"], special_tokens=True)
    if template == TURNS:
        wrapped.add_tokens(["<|turn|>", "<|done|>"], special_tokens=True)
    wrapped.chat_template = template
    return HFTokenizer(wrapped)
