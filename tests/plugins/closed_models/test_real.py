"""The providers themselves, where their keys are in the environment: `make apis`, at most a dollar in all."""

from __future__ import annotations

import os

import pytest
from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import LoadError, Refused
from edit_eval.judges.contract import JudgeRequest
from edit_eval.plugins.closed_models.in_worker.editing import Api
from edit_eval.plugins.closed_models.in_worker.providers import PROVIDERS
from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint
from edit_eval.plugins.endpoints.in_worker.closed_judges import MAKERS
from late_imports import needs

needs("aiohttp")

CHEAPEST = {
    "openai/gpt-image-2": {"call": {"quality": "low"}, "edit_price": 0.03},
    "gemini/gemini-3.1-flash-lite-image": {},
    "openrouter/google/gemini-2.5-flash-image": {"edit_price": 0.05},
    "fal/fal-ai/nano-banana-2/edit": {},
    "bfl/flux-2-pro": {},
    "ark/seedream-5-0-flash-260915": {},
    "dashscope/qwen-image-edit-plus": {},
    "xai/grok-imagine-image": {},
    "replicate/black-forest-labs/flux-2-pro": {"edit_price": 0.05},
}
JUDGES = {"openai": "gpt-5.4-mini", "gemini": "gemini-3.8-flash", "anthropic": "claude-opus-5-5"}
LEFT = {"usd": 1.0}


def picture() -> Image.Image:
    made = Image.new("RGB", (600, 400), (120, 170, 90))
    made.paste((200, 60, 40), (200, 120, 400, 280))
    return made


@pytest.mark.apis
@pytest.mark.parametrize("model", CHEAPEST)
def test_an_edit_comes_back_and_is_billed(model: str) -> None:
    provider = PROVIDERS[model.partition("/")[0]]
    if not os.environ.get(provider.key):
        pytest.skip(f"{provider.key} is not set")
    parameters = Api.Parameters(model=model, **CHEAPEST[model])
    most = Api.prices(parameters)["most"]
    if most > LEFT["usd"]:
        pytest.skip("a dollar is reserved already")
    LEFT["usd"] -= most
    editor = Api(parameters)
    editor.load(["cpu"])
    try:
        asked = EditRequest(pictures={"source": picture()}, instruction="Make the red square blue.", seed=7)
        edit = editor.edit(asked, lambda step, steps: None)
    except Refused as refusal:
        pytest.fail(f"refused: {refusal}")
    finally:
        editor.close()
    bill = editor.collect_costs()
    assert edit.size[0] * edit.size[1] == pytest.approx(600 * 400, rel=0.02)
    assert 0 < bill["usd"] <= most


@pytest.mark.apis
@pytest.mark.parametrize("api", JUDGES)
def test_a_judge_answers(api: str) -> None:
    if not os.environ.get(MAKERS[api].key):
        pytest.skip(f"{MAKERS[api].key} is not set")
    judge = ChatEndpoint(ChatEndpoint.Parameters(api=api, model=JUDGES[api]))
    try:
        judge.load(["cpu"])
        pictures = {"source": picture(), "edit": picture()}
        words = "Are the two pictures equal? Answer with 1 for yes and 0 for no, and nothing else."
        (reply,) = judge.judge([JudgeRequest(system="", user=words, pictures=pictures, form="score", seed=1)])
    except LoadError as error:
        pytest.fail(str(error))
    finally:
        judge.close()
    assert "1" in (reply if isinstance(reply, str) else reply.text)
