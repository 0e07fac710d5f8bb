"""What a server says of its models: its `/models`, as the OpenAI protocol has it."""

from __future__ import annotations

from typing import Any

LASTING, OF_ITS_FILE = ("root", "parent", "revision"), ("n_params", "n_vocab", "n_embd", "size")
"""What of a server's entry for a model stays while the model does. `created` does not: vLLM, SGLang and llama.cpp put
the time of the request there. Nor do `permission` (drawn anew), `max_model_len` and `owned_by`: flags and engine."""

LONGEST = 300
"""Characters of each."""


async def described_model(openai: Any, name: str) -> str:
    """What the server's list of models says of one: where it was loaded from (`root`), what it was made of (`parent`),
    its `revision`, and of llama.cpp's `meta` the model's size; as `root /models/a, revision b`. Empty where the list
    has no such model, or nothing of these."""
    listed = await openai.models.list()
    for one in getattr(listed, "data", None) or ():
        if one.id == name:
            plain = one.model_dump()
            meta = plain.get("meta")
            said = {key: plain.get(key) for key in LASTING}
            said |= {key: meta.get(key) for key in OF_ITS_FILE} if isinstance(meta, dict) else {}
            named = {key: str(value)[:LONGEST] for key, value in said.items() if isinstance(value, str | int) and value}
            return ", ".join(f"{key} {value}" for key, value in named.items())
    return ""


async def listed_models(openai: Any) -> list[str]:
    """An `Ask` for the names of the server's models; none where the server has no such list."""
    from openai import APIStatusError

    try:
        listed = await openai.models.list()
    except APIStatusError as error:
        if error.status_code in (404, 405, 501):
            return []
        raise
    return [str(model.id) for model in getattr(listed, "data", None) or ()]
