"""Every provider in every case, against stubs of the documented answers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from closed_providers import COSTS, SPENT, Providers
from edit_eval.edit_models.contract import EditRequest, Submitted
from edit_eval.errors import LoadError, ModelError, Refused, RequestError
from edit_eval.pictures import OWN_SIZE
from edit_eval.plugins.closed_models.in_worker import editing
from edit_eval.plugins.closed_models.in_worker.editing import Api
from edit_eval.plugins.closed_models.in_worker.providers import PROVIDERS, list_closed_editors
from edit_eval.plugins.endpoints.in_worker import client
from edit_eval.plugins.init.models import parse_model
from edit_eval.plugins.init.pictures import Pictures
from late_imports import needs

needs("aiohttp")

MODELS = {
    "openai": "openai/gpt-image-2",
    "gemini": "gemini/gemini-3-pro-image",
    "openrouter": "openrouter/google/gemini-3-pro-image",
    "fal": "fal/fal-ai/nano-banana-2/edit",
    "bfl": "bfl/flux-2-pro",
    "ark": "ark/seedream-4-5-251128",
    "dashscope": "dashscope/qwen-image-edit-plus",
    "xai": "xai/grok-imagine-image",
    "replicate": "replicate/black-forest-labs/flux-2-pro",
}
ALL = tuple(MODELS)
ADDRESSED = ("fal", "bfl", "ark", "dashscope", "xai", "replicate")
"""Those that may put a picture at an address."""
POLLED = ("bfl", "replicate")
TOLD = tuple(COSTS)


@pytest.fixture(scope="module")
def providers() -> Iterator[Providers]:
    with Providers() as running:
        yield running


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, providers: Providers) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(editing, "FIRST_LOOK", 0.01)
    for name, provider in PROVIDERS.items():
        monkeypatch.setenv(provider.key, f"key-of-{name}")
    for kept in (providers.asked, providers.bill, providers.fetched):
        kept.clear()
    providers.times.clear()


def made(providers: Providers, name: str, word: str = "", **more: Any) -> tuple[Any, dict[str, Any]]:
    """The edit, or the exception in its place, and its bill."""
    size = more.pop("source", (600, 400))
    pictures = more.pop("pictures", {"source": Image.new("RGB", size, (200, 90, 0))})
    settings = {"deadline": 90.0, "attempt_timeout": 60.0, "edit_price": 0.04 if name == "replicate" else None, **more}
    model = Api(Api.Parameters(model=MODELS[name], base_url=providers.address(name), **settings))
    model.load(["cpu"])
    try:
        asked = EditRequest(pictures=pictures, instruction=f"paint it blue {word}", seed=7)
        try:
            edit: Any = model.edit(asked, lambda step, steps: None)
        except ModelError as error:
            edit = error
        return edit, model.collect_costs()
    finally:
        model.close()


@pytest.mark.parametrize("name", ALL)
def test_a_picture_comes_in_the_sources_size_and_is_billed(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name)
    assert isinstance(edit, Image.Image), edit
    assert edit.size == (600, 400)
    assert max(edit.info[OWN_SIZE]) > 900
    assert bill["attempts"] == 1
    assert bill["told"] is (name in TOLD)
    assert bill["usd"] == pytest.approx(providers.spent(name), rel=0.01)
    (asked,) = providers.edits(name)
    header, form = PROVIDERS[name].header
    assert asked.headers[header.lower()] == form.format(f"key-of-{name}")
    for path, headers in providers.fetched:
        assert "key-of" not in str(headers), path


@pytest.mark.parametrize("word", ["REFUSE", "BLOCK"])
@pytest.mark.parametrize("name", ALL)
def test_a_refusal_is_final_and_paid_once(name: str, word: str, providers: Providers) -> None:
    edit, bill = made(providers, name, word)
    assert isinstance(edit, Refused), edit
    assert "key-of" not in str(edit)
    assert len(providers.edits(name)) == 1
    assert bill["attempts"] == 1
    assert bill["usd"] >= providers.spent(name) - 1e-9


@pytest.mark.parametrize("name", ALL)
def test_words_alone_are_asked_for_once_more_and_both_are_billed(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name, "ALONE")
    assert isinstance(edit, ModelError)
    assert not isinstance(edit, Refused | LoadError), edit
    assert len(providers.edits(name)) == 2
    assert bill["attempts"] == 2
    assert bill["usd"] >= providers.spent(name) - 1e-9


@pytest.mark.parametrize("name", [name for name in ALL if name not in ("bfl", "replicate", "dashscope")])
def test_a_draft_is_never_the_edit(name: str, providers: Providers) -> None:
    edit, _ = made(providers, name, "DRAFT")
    assert isinstance(edit, Image.Image)
    assert min(edit.info[OWN_SIZE]) > 64
    assert edit.getpixel((599, 399)) == (10, 120, 200)


@pytest.mark.parametrize("word", ["WAIT", "BODY"])
@pytest.mark.parametrize("name", ALL)
def test_a_429_waits_as_it_is_told_and_costs_nothing(
    name: str, word: str, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "FIRST_PAUSE", 60.0)  # only what the 429 says can be so short
    edit, bill = made(providers, name, word, deadline=40.0)
    assert isinstance(edit, Image.Image), edit
    assert len(providers.edits(name)) == 2
    assert bill["attempts"] == 1


@pytest.mark.parametrize("name", ADDRESSED)
def test_an_address_that_has_expired_is_ordered_once_more(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name, "GONE")
    assert isinstance(edit, Image.Image), edit
    assert len(providers.edits(name)) == bill["attempts"] == 2
    assert bill["usd"] == pytest.approx(providers.spent(name), rel=0.01)


@pytest.mark.parametrize("name", POLLED)
def test_a_task_that_cannot_be_found_once_is_asked_for_again_not_bought_again(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name, "LOST")
    assert isinstance(edit, Image.Image), edit
    assert len(providers.edits(name)) == bill["attempts"] == 1


@pytest.mark.parametrize("name", ALL)
def test_half_an_answer_counts_and_is_asked_for_once_more(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name, "HALF")
    assert isinstance(edit, Image.Image), edit
    assert bill["attempts"] == 2
    assert bill["usd"] >= providers.spent(name) - 1e-9


@pytest.mark.parametrize("name", ALL)
def test_a_provider_that_is_too_busy_has_charged_nothing(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name, "BUSY")
    assert isinstance(edit, Image.Image), edit
    assert bill["attempts"] == 1


@pytest.mark.parametrize("name", ALL)
def test_an_account_without_credit_is_no_edits_fault(name: str, providers: Providers) -> None:
    edit, bill = made(providers, name, "BROKE")
    assert isinstance(edit, RequestError), edit
    assert edit.says in ("account", "day")
    assert len(providers.edits(name)) == 1
    assert bill["usd"] == 0


@pytest.mark.parametrize("name", [name for name in ALL if PROVIDERS[name].account])
def test_a_wrong_key_is_told_at_the_start_and_never_repeated(
    name: str, providers: Providers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PROVIDERS[name].key, "sk-wrong-7701")
    with pytest.raises(LoadError) as told:
        made(providers, name)
    assert told.value.final
    assert "sk-wrong-7701" not in str(told.value)
    assert not providers.edits(name)


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(LoadError, match="GEMINI_API_KEY is not set"):
        Api(Api.Parameters(model="gemini/gemini-3-pro-image")).load(["cpu"])


def test_another_shape_than_the_sources_is_kept() -> None:
    came = editing.fit_picture(Image.new("RGB", (1024, 1024), (1, 2, 3)), (600, 400))
    assert came.size[0] == came.size[1]
    assert abs(came.size[0] * came.size[1] - 600 * 400) < 1000
    assert came.info[OWN_SIZE] == (1024, 1024)


@pytest.mark.parametrize(
    ("source", "shape"), [((600, 400), "3:2"), ((400, 600), "2:3"), ((1000, 990), "1:1"), ((2100, 900), "21:9")]
)
def test_the_nearest_ratio_is_asked_for(source: tuple[int, int], shape: str, providers: Providers) -> None:
    made(providers, "gemini", source=source)
    assert providers.edits("gemini")[0].body["generationConfig"]["imageConfig"] == {
        "aspectRatio": shape,
        "imageSize": "1K",
    }


def test_pictures_are_sent_in_their_order_and_before_the_instruction(providers: Providers) -> None:
    two = {"source": Image.new("RGB", (64, 64), (255, 0, 0)), "source_2": Image.new("RGB", (64, 64), (0, 255, 0))}
    made(providers, "openai", pictures=two)
    files = providers.edits("openai")[0].body["files"]
    assert [name for name, _ in files] == ["image[]", "image[]"]
    colours = [Image.open(io.BytesIO(data)).getpixel((0, 0)) for _, data in files]
    assert colours == [(255, 0, 0), (0, 255, 0)]
    made(providers, "gemini", pictures=two)
    parts = providers.edits("gemini")[0].body["contents"][0]["parts"]
    assert [next(iter(part)) for part in parts] == ["inlineData", "inlineData", "text"]


def test_rewriting_and_watermarks_are_off_where_they_can_be(providers: Providers) -> None:
    made(providers, "dashscope")
    settings = providers.edits("dashscope")[0].body["parameters"]
    assert settings["prompt_extend"] is settings["watermark"] is False
    assert settings["seed"] == 7
    made(providers, "ark")
    assert providers.edits("ark")[0].body["watermark"] is False
    assert "SynthID" in Api.card(Api.Parameters(model="gemini/gemini-3-pro-image"))["leaves"]


def test_call_goes_where_the_provider_has_its_settings(providers: Providers) -> None:
    made(providers, "gemini", call={"temperature": 0.5, "seed": None})
    settings = providers.edits("gemini")[0].body["generationConfig"]
    assert settings["temperature"] == 0.5
    assert "seed" not in settings
    made(providers, "openai", call={"quality": "low"})
    assert providers.edits("openai")[0].body["quality"] == "low"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"model": "midjourney/7"}, "is not PROVIDER/MODEL"),
        ({"model": "gemini/gemini-3-pro-image", "size": "3K"}, "is none of 1K, 2K, 4K"),
        ({"model": "gemini/gemini-3-pro-image", "size": "640x480"}, "takes a shape"),
        ({"model": "gemini/gemini-3-pro-image", "edit_price": -1.0}, "edit_price"),
    ],
)
def test_what_cannot_be_is_refused(parameters: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Api.Parameters(**parameters)


def test_every_row_says_where_its_facts_are_from() -> None:
    assert all(row.source and row.date for row in PROVIDERS.values())
    assert all(row.source and row.seen for row in list_closed_editors())
    assert set(COSTS) | set(SPENT) == set(PROVIDERS)


def test_init_knows_them_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    draft = parse_model("edit_model", "nano=gemini/gemini-3-pro-image", Pictures({}, ""))
    assert draft.name == "nano"
    assert draft.section == {"type": "api", "params": {"model": "gemini/gemini-3-pro-image", "device_ids": "cpu:1"}}
    assert "GEMINI_API_KEY" in draft.words
    assert "0.134 USD" in draft.words
    assert parse_model("edit_model", "fal/not-an-endpoint", Pictures({}, "")).section["type"] == "diffusers"


@pytest.mark.parametrize("name", POLLED)
def test_what_an_earlier_start_has_bought_is_fetched_not_bought_again(name: str, providers: Providers) -> None:
    model = Api(Api.Parameters(model=MODELS[name], base_url=providers.address(name), edit_price=0.04))
    noted: list[Submitted] = []
    model.load(["cpu"])
    try:
        asked = EditRequest(
            pictures={"source": Image.new("RGB", (600, 400))}, instruction="paint it", seed=7, on_submitted=noted.append
        )
        model.edit(asked, lambda step, steps: None)
        assert [bool(of["id"]) for of in noted] == [False, True], "before it is bought, and with its id once it is"
        bought = len(providers.edits(name))
        model.collect_costs()
        again = model.edit(replace(asked, submitted=noted[-1]), lambda step, steps: None)
        assert again.size == (600, 400)
        assert len(providers.edits(name)) == bought
        assert model.collect_costs()["usd"] == 0
        assert len(noted) == 2
    finally:
        model.close()
