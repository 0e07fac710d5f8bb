"""An edit model behind a server: what is sent, what an answer is, and that nobody ever sees the key."""

from __future__ import annotations

import base64
import dataclasses
import io
import itertools
import threading
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image

from edit_eval.edit_models.contract import EditRequest
from edit_eval.errors import LoadError, ModelError, Refused, RequestError
from edit_eval.pictures import SEVERAL, UNREPEATABLE, check_edit
from edit_eval.plugins.endpoints.in_worker import client
from edit_eval.plugins.endpoints.in_worker.image_endpoint import ImageEndpoint
from edit_eval.workers.model_class import key_parameters
from image_server import AskedEdit, ImageServer, Reply, at, black, drawn, encoded, finished, picture, refused
from late_imports import needs

needs("aiohttp")

KEY = "sk-CANARY-4f1b09d2"
MADE: list[ImageEndpoint] = []  # in the test that is running


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(client, "FIRST_PAUSE", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    yield
    while MADE:
        MADE.pop().close()


@pytest.fixture
def server() -> Iterator[ImageServer]:
    with ImageServer() as running:
        yield running


def endpoint(server: ImageServer, **parameters: Any) -> ImageEndpoint:
    """A loaded edit model with more patience than a machine that is busy asks for; closed after the test."""
    settings = {
        "model": "editor",
        "deadline": 90.0,
        "attempt_timeout": 30.0,
        "retries": 2,
        "probe": False,
        **parameters,
    }
    made = ImageEndpoint(ImageEndpoint.Parameters(base_url=server.base_url, **settings))
    made.load(["cpu"])
    MADE.append(made)
    return made


def request(size: tuple[int, int] = (48, 32), seed: int = 7, **more: Image.Image) -> EditRequest:
    pictures = {"source": Image.new("RGB", size, (1, 2, 3)), **more}
    return EditRequest(pictures=pictures, instruction="make it night", seed=seed, sample_id="s")


def edit(model: ImageEndpoint, asked: EditRequest | None = None) -> Image.Image:
    return model.edit(asked or request(), lambda step, steps: None)


# -- what is sent --


def test_the_form_says_all_that_decides_the_pixels(server: ImageServer) -> None:
    steps: list[tuple[int, int]] = []
    call = {"num_inference_steps": 20, "true_cfg_scale": 4.0, "negative_prompt": " ", "lora": {"name": "fast"}}
    made = endpoint(server, call=call).edit(request(), lambda *at: steps.append(at))
    (asked,) = server.edited
    assert asked.fields == {
        "model": "editor",
        "prompt": "make it night",
        "seed": "7",
        "size": "48x32",
        "generator_device": "cpu",
        "response_format": "b64_json",
        "output_format": "png",
        "num_inference_steps": "20",
        "true_cfg_scale": "4.0",
        "negative_prompt": " ",
        "lora": '{"name": "fast"}',
    }
    ((name, file),) = asked.files
    with Image.open(io.BytesIO(file)) as sent:
        assert (name, sent.format, sent.size, sent.getpixel((0, 0))) == ("image", "PNG", (48, 32), (1, 2, 3))
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert made.tobytes() == drawn((48, 32), 7).tobytes()
    assert steps == [(1, 1)]


@pytest.mark.parametrize(
    ("dialect", "mode", "inside", "outside"),
    [("openai", "RGBA", 0, 255), ("openai_fixed", "RGBA", 0, 255), ("xinference", "L", 255, 0), ("open", "", 0, 0)],
)
def test_a_mask_takes_the_form_and_the_size_that_the_server_documents(
    dialect: str, mode: str, inside: int, outside: int, server: ImageServer
) -> None:
    """OpenAI: transparent where the picture may change, a PNG of the picture's size; xinference: white there."""
    mask = Image.new("L", (48, 32))
    mask.paste(255, (12, 8, 36, 24))
    model = endpoint(server, dialect=dialect, max_pixels=24 * 16)
    edit(model, dataclasses.replace(request(), mask=mask))
    assert ImageEndpoint.takes_mask(model.parameters) is bool(mode)
    files = dict(server.edited[-1].files)
    assert files.keys() == ({"image", "mask"} if mode else {"image"})
    if mode:
        with Image.open(io.BytesIO(files["mask"])) as sent:
            values = sent.getchannel(sent.mode[-1])
            assert (sent.format, sent.mode, sent.size) == ("PNG", mode, (24, 16))
            assert (values.getpixel((12, 8)), values.getpixel((2, 2))) == (inside, outside)
    edit(model)
    assert "mask" not in dict(server.edited[-1].files), "a sample without one"


def test_several_sources_are_sent_in_their_order(server: ImageServer) -> None:
    colours = {f"source_{n}": Image.new("RGB", (4, 4), (n, n, n)) for n in (2, 3)}
    edit(endpoint(server), request(**colours))
    files = server.edited[0].files
    assert [name for name, _ in files] == ["image[]"] * 3
    assert [Image.open(io.BytesIO(file)).getpixel((0, 0)) for _, file in files] == [(1, 2, 3), (2, 2, 2), (3, 3, 3)]


@pytest.mark.parametrize(
    ("parameters", "sent"),
    [
        ({"size": "auto"}, {"size": "auto"}),
        ({"size": None}, {"size": None}),
        ({"size": "640x480"}, {"size": "640x480"}),
        ({"max_pixels": 400}, {"size": "32x16"}),
        (
            {"call": {"generator_device": None, "output_format": "webp"}},
            {"generator_device": None, "output_format": "webp"},
        ),
        ({"dialect": "xinference"}, {"size": "48*32", "generator_device": None, "output_format": None, "seed": "7"}),
        ({"dialect": "openai"}, {"seed": None, "response_format": None, "size": "992x672", "output_format": "png"}),
        ({"dialect": "litellm_gemini"}, {"seed": None, "response_format": None, "size": "1280x896"}),
        ({"dialect": "litellm_openrouter"}, {"seed": None, "output_format": None, "size": "1536x1024"}),
        ({"model": "gpt-image-1.5"}, {"seed": None, "generator_device": None, "size": "1536x1024"}),
    ],
)
def test_size_and_dialect(server: ImageServer, parameters: dict[str, Any], sent: dict[str, str | None]) -> None:
    edit(endpoint(server, **parameters))
    (asked,) = server.edited
    assert {name: asked.fields.get(name) for name in sent} == sent


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"call": {"seed": 1}}, "call: seed cannot be set"),
        ({"call": {"image[]": "x", "prompt": "y"}}, r"call: image\[\], prompt"),
        ({"size": "big"}, "size: 'big' is none of"),
        ({"size": "640*480"}, "size"),
        ({"max_pixels": 0}, "max_pixels"),
        ({"base_url": "localhost:8000"}, "base_url"),
        ({"api_key_env": "sk-123456"}, "api_key_env: it takes the NAME"),
    ],
)
def test_parameters_that_cannot_be_meant_are_refused(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ImageEndpoint.Parameters(model="editor", **parameters)


def test_what_decides_the_pixels_is_in_the_key() -> None:
    parameters = ImageEndpoint.Parameters(
        model="gpt-image-2", base_url="http://h/v1", probe=False, allowed_hosts=["cdn"]
    )
    assert set(key_parameters(ImageEndpoint, vars(parameters))) == {
        *("model", "revision", "dialect", "size", "max_pixels", "call")
    }
    revision = ImageEndpoint.revision
    assert revision(parameters).split()[0] == "openai"
    assert revision(parameters) == revision(ImageEndpoint.Parameters(model="other", dialect="openai"))
    assert revision(parameters) != revision(ImageEndpoint.Parameters(model="other"))


# -- what comes back --


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "JPEG"])
@pytest.mark.parametrize("size", [(48, 32), (30, 50)])
def test_a_picture_is_taken_as_it_is(server: ImageServer, kind: str, size: tuple[int, int]) -> None:
    server.answer = picture(drawn(size, 3), kind)
    made = edit(endpoint(server))
    assert (made.mode, made.size) == ("RGB", size)


def test_what_passes_is_asked_again(server: ImageServer) -> None:
    model = endpoint(server, retries=6)
    server.script += [
        Reply.error(500),
        Reply.error(429, retry_after=0.05),
        Reply(manner="half"),
        Reply(manner="nothing"),
        Reply.html(502),
        Reply.html(),
        Reply(body=b""),
    ]
    assert edit(model).size == (48, 32)
    assert len(server.edited) == 8


TRUNCATED = picture(encoded(drawn((64, 64), 1))[:-20])
NO_PICTURE = Reply.json({"created": 0, "data": []})


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (TRUNCATED, "sent an unreadable picture: the picture: truncated"),
        (picture(b"<html>"), "not a picture in a known format"),
        (Reply.json({"data": [{"b64_json": "!!"}]}), "sent an unreadable picture"),
        (NO_PICTURE, r"answered without a picture \(2 attempts"),
        (finished("NO_IMAGE"), r"answered without a picture \(NO_IMAGE\)"),
    ],
)
def test_work_for_nothing_is_asked_for_once_more(server: ImageServer, reply: Reply, said: str) -> None:
    model = endpoint(server, retries=5)
    server.script.append(reply)
    assert edit(model).size == (48, 32)
    server.answer = reply
    with pytest.raises(ModelError, match=said) as failed:
        edit(model)
    assert not isinstance(failed.value, Refused | LoadError)
    assert len(server.edited) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_an_error_of_the_request_is_final_and_is_that_edits_alone(server: ImageServer, status: int) -> None:
    model = endpoint(server, probe=True)
    server.script.append(Reply.error(status, "no such size"))
    with pytest.raises(ModelError, match=f"answered {status} .*no such size"):
        edit(model)
    assert edit(model).size == (48, 32)
    assert len(server.edited) == 2


@pytest.mark.parametrize("price", [None, 0.05])
def test_what_a_proxy_says_that_an_edit_costs_counts(server: ImageServer, price: float | None) -> None:
    """And the price that was given, where it does not say, or does not know."""
    model = endpoint(server, edit_price=price)
    told = [{"x-litellm-response-cost": said} for said in ("0.039", "0.0", "None")]
    for headers in (*told, {}):
        server.script.append(replace(picture(Image.new("RGB", (48, 32))), headers=headers))
        edit(model)
    charged = model.collect_costs()
    assert charged == {"usd": pytest.approx(0.039 + 3 * (price or 0.0)), "told": False, "attempts": 4}
    server.script.append(replace(picture(Image.new("RGB", (48, 32))), headers=told[0]))
    edit(model)
    assert model.collect_costs() == {"usd": pytest.approx(0.039), "told": True, "attempts": 1}
    assert model.collect_costs() == {"usd": 0.0, "told": False, "attempts": 0}


REFUSALS = {
    "an error": (refused(["violence", "self-harm"]), r"refused \(moderation_blocked\): .* violence, self-harm\)$"),
    "a proxy's error": (
        Reply.error(400, "litellm.BadRequestError: litellm.ContentPolicyViolationError: no"),
        r"refused \(ContentPolicyViolationError\)",
    ),
    "its id": (refused([], "rejected, request ID req_0a1b2c"), r"rejected, request ID req_\.\.\.$"),
    "a finish reason": (finished("IMAGE_SAFETY"), r"refused \(IMAGE_SAFETY\)$"),
    "a blocked prompt": (Reply.json({"data": [], "promptFeedback": {"blockReason": "SAFETY"}}), r"refused \(SAFETY\)$"),
    "a black picture": (black(), r"refused \(flagged\)"),
    "nothing, by a proxy": (
        replace(NO_PICTURE, headers={"x-litellm-version": "1.106.2"}),
        r"refused \(no picture\): litellm's proxy passes on none and no reason$",
    ),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_is_final_and_has_its_words(server: ImageServer, name: str) -> None:
    reply, said = REFUSALS[name]
    model = endpoint(server, probe=True)
    server.answer = reply
    canaries = len(server.asked)
    with pytest.raises(Refused, match=said):
        edit(model)
    assert len(server.edited) == 1
    assert len(server.asked) == canaries + 1, "nobody wonders whether the server is well"


def test_a_draft_is_never_the_edit(server: ImageServer) -> None:
    """One picture was asked for: what comes before it is how a model thought."""
    draft, made = ({"b64_json": base64.b64encode(encoded(drawn(size, 1))).decode()} for size in ((16, 16), (48, 32)))
    server.script += [Reply.json({"created": 0, "data": data}) for data in ([draft, made], [made, draft])]
    for _ in range(2):
        picture = edit(endpoint(server))
        assert picture.tobytes() == drawn((48, 32), 1).tobytes()
        assert SEVERAL not in picture.info


def test_of_two_pictures_the_last_is_taken_and_said_to_be_one_of_several(server: ImageServer) -> None:
    data = [{"b64_json": base64.b64encode(encoded(drawn((48, 32), seed))).decode()} for seed in (1, 2)]
    server.script.append(Reply.json({"data": data}))
    made = edit(endpoint(server))
    assert made.tobytes() == drawn((48, 32), 2).tobytes()
    assert check_edit(made, request().source) == (SEVERAL,)


def test_base64_may_be_a_data_url_and_a_dot_is_no_edit(server: ImageServer) -> None:
    packed = "data:image/png;base64," + base64.b64encode(encoded(drawn((48, 32), 3))).decode()
    server.script.append(Reply.json({"data": [{"b64_json": packed}]}))
    assert edit(endpoint(server)).tobytes() == drawn((48, 32), 3).tobytes()
    server.answer = picture(drawn((1, 1), 1))
    with pytest.raises(RequestError, match="1 x 1 pixels, of a source of 48 x 32: a draft"):
        edit(endpoint(server))


def test_a_black_picture_that_nobody_flagged_is_a_picture_and_a_flag_alone_is_nothing(server: ImageServer) -> None:
    model = endpoint(server)
    server.script += [black(flagged=False), picture(drawn((8, 8), 1), has_nsfw_concepts=[True])]
    assert edit(model).getbbox() is None
    assert edit(model).size == (8, 8)


# -- addresses --


def test_a_picture_is_fetched_from_the_servers_own_host_with_the_key(server: ImageServer) -> None:
    server.files["/files/1.webp"] = encoded(drawn((9, 9), 1), "WEBP")
    server.script += [at(f"http://127.0.0.1:{server.port}/files/1.webp"), at("/files/1.webp")]
    model = endpoint(server)
    assert [edit(model).size for _ in range(2)] == [(9, 9)] * 2
    assert {headers["authorization"] for _, headers in server.fetched} == {f"Bearer {KEY}"}
    server.answer = Reply.json({"data": [{"url": "data:image/png;base64,iVBORw0KGgo="}]})
    with pytest.raises(ModelError, match="sent an unreadable picture"):
        edit(model)


def test_from_another_host_only_where_it_is_allowed_and_without_the_key(server: ImageServer) -> None:
    with ImageServer() as other:
        other.files["/a.png"] = encoded(drawn((9, 9), 1))
        server.answer = at(f"http://127.0.0.1:{other.port}/a.png")
        with pytest.raises(
            ModelError, match=rf"at 127\.0\.0\.1:{other.port}, which is not an allowed host.*allowed_hosts"
        ):
            edit(endpoint(server))
        assert not other.fetched
        assert len(server.edited) == 1, "it would not get better"
        for allowed in ("127.0.0.1", f"127.0.0.1:{other.port}"):
            assert edit(endpoint(server, allowed_hosts=[allowed])).size == (9, 9)
        assert [headers.get("authorization") for _, headers in other.fetched] == [None, None]


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/a.png", "http://[::1", "http://h:x/", "//:0"])
def test_what_is_no_address_is_not_fetched(server: ImageServer, url: str) -> None:
    server.answer = at(url)
    with pytest.raises(ModelError, match=r"invalid address|Invalid IPv6|not an allowed host"):
        edit(endpoint(server))


def test_no_redirect_is_followed_neither_of_the_request_nor_of_the_picture(server: ImageServer) -> None:
    with ImageServer() as other:
        other.files["/a.png"] = encoded(drawn((9, 9), 1))
        there = {"Location": f"http://127.0.0.1:{other.port}/a.png"}
        server.script.append(Reply(status=307, headers=there, body=b""))
        with pytest.raises(ModelError, match="redirects are not followed"):
            edit(endpoint(server))
        assert not other.asked
        assert not other.fetched


# -- the start --


def test_the_probe_is_three_tiny_edits_that_tell_what_becomes_of_a_seed(server: ImageServer) -> None:
    model = endpoint(server, probe=True, call={"num_inference_steps": 50})
    assert [asked.fields["seed"] for asked in server.asked] == ["0", "0", "1"]
    assert {(asked.fields["size"], asked.fields["num_inference_steps"]) for asked in server.asked} == {("256x256", "4")}
    about = model.about()
    assert about == {
        "server": server.base_url,
        "dialect": "open",
        "model_is_listed": "yes",
        "size": "asked for 256x256, got 256x256",
        "same_seed": "the same picture",
        "other_seed": "another picture",
    }


def test_a_seed_that_is_ignored_is_found_out(server: ImageServer) -> None:
    server.draw = lambda asked: drawn((128, 96), 1)
    about = endpoint(server, probe=True).about()
    assert about["other_seed"] == "the same picture"
    assert about["size"] == "asked for 256x256, got 128x96"
    assert "another seed gives the same picture" in about["note"]


def test_a_seed_that_is_ignored_now_and_then_is_noticed_in_the_run(server: ImageServer) -> None:
    """The probe sees nothing of it; of a hundred edits one is asked for twice."""
    model = endpoint(server, probe=True)
    assert model.about()["same_seed"] == "the same picture"
    before = len(server.asked)
    plain = [edit(model, request(seed=seed)) for seed in range(9)]
    assert (len(server.asked) - before, [image.info.get(UNREPEATABLE) for image in plain]) == (9, [None] * 9)
    assert not check_edit(edit(model, request(seed=9)), request().source), "repeated, and the same"
    assert len(server.asked) - before == 11
    model._edits = itertools.count(109)
    server.script += [picture(drawn((48, 32), 1)), picture(drawn((48, 32), 2))]
    assert check_edit(edit(model, request()), request().source) == (UNREPEATABLE,)
    model._edits = itertools.count(209)
    server.script += [picture(drawn((48, 32), 1)), refused()]
    assert not check_edit(edit(model, request()), request().source), "a repetition without a picture says nothing"


@pytest.mark.parametrize("parameters", [{"probe": False}, {"dialect": "openai"}])
def test_nothing_is_asked_twice_without_a_probe_or_a_seed(server: ImageServer, parameters: dict[str, Any]) -> None:
    model = endpoint(server, **{"probe": True, "size": None, **parameters})
    model._edits = itertools.count(9)
    before = len(server.asked)
    edit(model, request())
    assert len(server.asked) - before == 1


@pytest.mark.parametrize(
    ("model", "edits", "said"), [("editor", 3, "picture there$"), ("gpt-image-2", 2, "takes none")]
)
def test_a_seed_that_gives_another_picture_each_time_is_said(
    server: ImageServer, model: str, edits: int, said: str
) -> None:
    server.draw = lambda asked: drawn(asked.size, len(server.asked))
    about = endpoint(server, probe=True, model=model).about()
    assert about["same_seed"] == "another picture"
    assert about["note"].startswith(f"{model}: the same seed does not give the same picture")
    assert len(server.asked) == edits


def test_without_a_probe_no_edit_is_asked_for(server: ImageServer) -> None:
    model = endpoint(server)
    assert not server.asked
    assert model.about()["probe"] == "none"
    server.script.append(Reply.error(400))
    with pytest.raises(ModelError):
        edit(model)
    assert len(server.asked) == 1, "nor as a sign of life"


@pytest.mark.parametrize("probe", [True, False])
def test_another_model_is_not_taken_for_this_one(server: ImageServer, probe: bool) -> None:
    server.models = ("Qwen-Image-Edit", "FLUX")
    with pytest.raises(LoadError, match=r"another model is served: .* has Qwen-Image-Edit, FLUX, not editor"):
        endpoint(server, probe=probe)
    assert endpoint(server, probe=probe, dialect="openai").about()["model_is_listed"] == "no"


@pytest.mark.parametrize(
    ("canary", "said"),
    [
        (Reply.error(401, f"no such key: {KEY}"), "401 Unauthorized: no such key: <OPENAI_API_KEY>"),
        (Reply.error(503, "loading"), r"503 Service Unavailable: loading \("),
        (Reply(manner="hang"), "did not finish its answer in time"),
    ],
)
def test_a_server_whose_engine_does_not_work_is_found_out_when_loading(
    server: ImageServer, canary: Reply, said: str
) -> None:
    server.canary = canary
    wait = 0.5 if canary.manner == "hang" else 30.0
    with pytest.raises(LoadError, match=said):
        endpoint(server, probe=True, attempt_timeout=wait, deadline=2.0)


def test_nobody_listens() -> None:
    with ImageServer() as gone:
        pass
    for probe in (True, False):
        with pytest.raises(LoadError, match="cannot be reached"):
            endpoint(gone, probe=probe, retries=0)


def test_a_server_that_is_gone_is_not_the_edits_fault(server: ImageServer) -> None:
    model = endpoint(server, probe=True, retries=0)
    server.answer = server.canary = Reply.error(500, "the engine has died")
    with pytest.raises(RequestError, match="the engine has died") as failed:
        edit(model)
    assert failed.value.canary == "failed"


# -- doctor --


def test_doctor_has_one_edit_made_and_without_a_probe_none(server: ImageServer) -> None:
    def examined(**parameters: Any) -> Image.Image | None:
        settings = {"model": "editor", "base_url": server.base_url, **parameters}
        return ImageEndpoint(ImageEndpoint.Parameters(**settings)).examine(request())

    made = examined()
    assert made is not None
    assert made.size == (48, 32)
    assert len(server.asked) == 1
    assert examined(probe=False) is None
    assert len(server.asked) == 1
    server.answer = Reply.error(404, "no model `editor`")
    with pytest.raises(LoadError, match=r"answered 404 .*is `model` its name.*\(it has editor\)"):
        examined()


# -- how many at once, and the key --


def test_as_many_at_once_as_allowed_and_each_gets_its_own(server: ImageServer) -> None:
    meeting = threading.Barrier(3)

    def together(asked: AskedEdit) -> Reply:
        meeting.wait(60)
        return Reply()

    server.answer = together
    model = endpoint(server, concurrency=3)
    assert model.capacity == 3
    with ThreadPoolExecutor(9) as threads:
        made = list(threads.map(lambda seed: edit(model, request(seed=seed)), range(9)))
    assert [image.tobytes() for image in made] == [drawn((48, 32), seed).tobytes() for seed in range(9)]
    assert server.most_at_once == 3


def test_the_key_is_in_no_error(server: ImageServer) -> None:
    model = endpoint(server, retries=0)
    leaks = [
        Reply.error(400, KEY),
        Reply.error(500, KEY),
        Reply.html(200, KEY),
        refused([KEY], f"your key {KEY}"),
        at(f"http://{KEY}/a.png"),
        Reply.json({"data": [], "finish_reason": KEY}),
    ]
    for reply in leaks:
        server.answer = reply
        with pytest.raises(ModelError) as failed:
            edit(model)
        assert KEY not in "".join(traceback.format_exception(failed.value))
        assert "CANARY" not in str(failed.value)
    assert KEY not in repr(vars(model.parameters)) + repr(model.about())
