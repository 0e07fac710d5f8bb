"""Trainers' own clients, unchanged, beside a service: what they get, and what they hear when there is nothing to get.

`trainers_files.py` says where they come from. Of each trainer's file only what its documentation, or ours, says is
changed: an address. Packages of theirs that no reward passes through are replaced by empty ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from PIL import Image

from documented_blocks import DOCS
from edit_eval.serving import application
from edit_eval.serving.doors import DOORS
from edit_eval.serving.pictures import sent
from edit_eval.serving.submissions import Submission
from late_imports import Late, needs
from service_at_work import Serve, Served, configured, encoded
from service_process import end, ready, start, until
from trainers_files import brought

needs("requests", "aiohttp", "torch")
torch = Late("torch")

WORDS = "make it red"
TOKEN = "open-sesame"
SIZE = 32
Ask = Callable[[str, Sequence[int], Sequence[str]], list[float]]
"""Rewards of edits that are so red, of one source, by a trainer's client at `HOST:PORT/TOKEN`."""


def plain(red: int) -> Image.Image:
    return Image.new("RGB", (SIZE, SIZE), (red, 0, 0))


def tensor(reds: Sequence[int]) -> Any:
    """Pictures as a pipeline hands them over: N x 3 x H x W, 0 to 1."""
    rows = torch.zeros(len(reds), 3, SIZE, SIZE)
    rows[:, 0] = torch.tensor(list(reds), dtype=torch.float32)[:, None, None] / 255
    return rows


def documented(language: str, containing: str) -> str:
    """The block of the guide that has this in it."""
    text = (DOCS / "serving.md").read_text("utf-8")
    (block,) = (one for one in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if containing in one)
    return str(block)


def module_of(name: str, source: str) -> Any:
    made = ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), made.__dict__)
    return made


@pytest.fixture(scope="module")
def packages() -> Iterator[pytest.MonkeyPatch]:
    """Their packages, gone again afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch
        for name in [name for name in sys.modules if name.partition(".")[0] in ("unirl", "flow_factory")]:
            del sys.modules[name]


def flow_grpo(packages: pytest.MonkeyPatch) -> Ask:
    file = brought("flow_grpo") / "flow_grpo/rewards.py"

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        theirs, changed = file.read_text("utf-8"), f"http://{address}/"
        assert theirs.count("http://127.0.0.1:18085") == 1
        rewards = module_of("flow_grpo_rewards", theirs.replace("http://127.0.0.1:18085", changed))
        lines = [{"prompt": one, "source": {"path": "0.png"}} for one in words]
        details, _ = rewards.multi_score("cpu", {"geneval": 1.0})(tensor(reds), list(words), lines)
        return list(details["avg"])

    return ask


def edit_r1(packages: pytest.MonkeyPatch) -> Ask:
    theirs = (brought("edit_r1") / "flow_grpo/rewards.py").read_text("utf-8")

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        rewards = module_of("edit_r1_rewards", theirs)
        rewards.os = SimpleNamespace(getenv=lambda name, other: address if name == "REWARD_SERVER" else other)
        metas = [{"requirement": "keep the rest"}] * len(reds)
        scores, _ = rewards.mllm_score_continue("cpu")([plain(0)] * len(reds), tensor(reds), list(words), metas)
        return list(scores)

    return ask


def editscore(packages: pytest.MonkeyPatch, patience: float | None = None) -> Ask:
    file = brought("editscore") / "examples/OmniGen2-RL/omnigen2/grpo/reward_client_edit.py"
    client = module_of("reward_client_edit", file.read_text("utf-8"))

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        host, _, port = address.partition(":")
        sources, edits = [[plain(0)] for _ in reds], [plain(red) for red in reds]
        given = [json.dumps({"instruction": one, "id": str(place)}) for place, one in enumerate(words)]
        if patience is None:
            answer = client.evaluate_images(sources, edits, given, proxy_host=host, proxy_port=port)
        else:
            answer = client.RewardClient(host, port, timeout=patience, max_retries=1).evaluate(sources, edits, given)
        _, rewards, _, metas = answer
        assert [json.loads(one)["id"] for one in metas] == [str(place) for place in range(len(reds))]
        return list(rewards)

    return ask


def verl_omni(packages: pytest.MonkeyPatch) -> Ask:
    file = brought("verl_omni") / "verl_omni/utils/reward_score/http_scorer_client.py"
    theirs = file.read_text("utf-8")
    line = documented("python", "ground_truth")

    def marked(instruction: str) -> str:
        row = eval(f"{{{line}}}", {"json": json, "instruction": instruction, "image_name": "0.png"})
        return str(row["ground_truth"])

    async def every(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        scorer = module_of("http_scorer_client", theirs)  # a reward worker's: it keeps a session for its loop
        pictures = (tensor(reds) * 255).round().to(torch.uint8)
        of = zip(pictures, words, strict=True)
        try:  # as its reward loop does
            asked = [scorer.compute_score(one, marked(text), f"http://{address}") for one, text in of]
            answers = await asyncio.gather(*asked, return_exceptions=True)
            if failed := [one for one in answers if isinstance(one, BaseException)]:
                raise failed[0]
            return [one["score"] for one in answers]
        finally:
            await scorer.compute_score._session.close()

    return lambda address, reds, words: asyncio.run(every(address, reds, words))


def unirl(packages: pytest.MonkeyPatch, *names: str, patience: float | None = None) -> Ask:
    folder = brought("unirl")
    if "unirl" not in sys.modules:
        for name in ("", ".config", ".reward", ".types", ".utils", ".distributed", ".distributed.tensor"):
            made = ModuleType(f"unirl{name}")
            made.__path__ = [str(folder / f"unirl{name}".replace(".", "/"))]
            packages.setitem(sys.modules, made.__name__, made)
    remote, rewards, primitives = (
        importlib.import_module(f"unirl.{name}") for name in ("reward.remote", "types.reward", "types.primitives")
    )

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        options = {} if patience is None else {"timeout": patience, "max_retries": 1}
        wanted = names or ("edit_eval",)
        spec = remote.RemoteRewardSpec(base_url=f"http://{address}", required_rewards=wanted, **options)
        backend = remote.RemoteRewardBackend(config=spec, base_device="cpu")
        assert backend.is_available()
        shown = {
            "text": primitives.Texts(texts=list(words)),
            "image": primitives.Images(pixels=tensor([0] * len(reds))),
        }
        request = rewards.RewardRequest(primitives=shown, generated={"image": primitives.Images(pixels=tensor(reds))})
        answer = backend.compute_rewards(request)
        if not all(answer.successes):  # as `RewardService.score_and_attach` does
            raise RuntimeError([one for one in answer.errors if one])
        return list(answer.rewards)

    return ask


def flow_factory(packages: pytest.MonkeyPatch, *, own: bool = True, patience: float | None = None) -> Ask:
    folder = brought("flow_factory")
    if "flow_factory" not in sys.modules:
        empty: dict[str, dict[str, Any]] = {
            "accelerate": {"Accelerator": object},
            "diffusers": {},
            "diffusers.utils": {},
            "diffusers.utils.outputs": {"BaseOutput": object},
            "flow_factory": {"__path__": [str(folder / "src/flow_factory")]},
            "flow_factory.rewards": {"__path__": [str(folder / "src/flow_factory/rewards")]},
            "flow_factory.hparams": {"RewardArguments": object},
            "flow_factory.utils": {"__path__": []},
            "flow_factory.utils.logger_utils": {"setup_logger": logging.getLogger},
        }
        for name, members in empty.items():
            made = ModuleType(name)
            made.__dict__.update(members)
            packages.setitem(sys.modules, name, made)
        importlib.import_module("flow_factory.rewards.my_reward_remote")
        mine = module_of("edit_reward", documented("python", "RemotePointwiseRewardModel"))
        packages.setitem(sys.modules, "edit_reward", mine)
    found = importlib.import_module("flow_factory.rewards.registry").get_reward_model_class(
        "edit_reward.EditReward" if own else "flow_factory.rewards.my_reward_remote.RemotePointwiseRewardModel"
    )

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        device = torch.device("cpu")
        options = {} if patience is None else {"timeout": patience, "retry_attempts": 1}
        model = found(SimpleNamespace(server_url=f"http://{address}", device=device, dtype=None, **options), None)
        every = {
            "prompt": list(words),
            "image": [plain(red) for red in reds],
            "condition_images": [[plain(0)] for _ in reds],
        }
        answer = model(**{name: every[name] for name in model.required_fields})
        return [float(one) for one in answer.rewards]

    return ask


TRAINERS = {one.__name__: one for one in (flow_grpo, edit_r1, editscore, verl_omni, unirl, flow_factory)}


@pytest.fixture(scope="module", params=TRAINERS)
def door(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def ask(door: str, packages: pytest.MonkeyPatch) -> Ask:
    return TRAINERS[door](packages)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`edit-eval serve` with two judges, all doors and a token."""
    folder = tmp_path_factory.mktemp("service")
    configured(folder, devices=2, second=True)
    (folder / "root").mkdir()
    plain(0).save(folder / "root" / "0.png")
    flags = ("--door", ",".join(TRAINERS), "--token", TOKEN, "--root", str(folder / "root"))
    process = start(folder, 0, *flags)
    yield ready(process, TOKEN).served
    end(process)


def address_of(served: Served) -> str:
    return f"127.0.0.1:{served.port}/{TOKEN}"


def near(reds: Sequence[int]) -> Any:
    """A JPEG moves a plain picture's red by a level or two."""
    return pytest.approx([red / 255 for red in reds], abs=0.012)


def counted(served: Served, *parts: str) -> float:
    """The sum of a service's figures whose lines have these parts."""
    lines = served.get(f"/{TOKEN}/metrics").body.decode().splitlines()
    figures = [line for line in lines if not line.startswith("#")]
    return sum(float(line.split()[-1]) for line in figures if all(part in line for part in parts))


def test_rewards_are_right_and_in_order(served: Served, ask: Ask) -> None:
    reds = [255, 0, 128, 51, 204, 102, 230, 25, 76, 179]
    assert ask(address_of(served), reds, [WORDS] * len(reds)) == near(reds)


def test_several_at_once_get_their_own(served: Served, ask: Ask) -> None:
    groups = [[n * 7, 255 - n * 11, 100 + n] for n in range(6)]
    with ThreadPoolExecutor(len(groups)) as pool:
        told = [pool.submit(ask, address_of(served), reds, [WORDS] * 3) for reds in groups]
        for reds, one in zip(groups, told, strict=True):
            assert one.result() == near(reds)


def test_more_than_a_batch(served: Served, packages: pytest.MonkeyPatch) -> None:
    """Pictures come in batches of 64 at most. Edit-R1's client sends all instructions with each: that is refused."""
    reds = [n * 3 for n in range(70)]
    assert flow_grpo(packages)(address_of(served), reds, [WORDS] * 70) == near(reds)
    before = counted(served, "judgements_total", "redness")
    with pytest.raises(KeyError, match="scores"):
        edit_r1(packages)(address_of(served), reds, [WORDS] * 70)
    assert counted(served, "judgements_total", "redness") == before


HEARD = {
    "flow_grpo": (KeyError, "scores"),
    "edit_r1": (KeyError, "scores"),
    "editscore": (TypeError, "NoneType"),
    "verl_omni": (RuntimeError, "no score: unparseable"),
    "unirl": (RuntimeError, "edit_eval: unparseable"),
    "flow_factory": (RuntimeError, "Server error: 1 of 2 edits have no score: unparseable"),
}
"""What a client raises of an edit without a score: all stop, and three say why."""


def test_an_edit_without_a_score_stops_the_training_and_is_never_0(served: Served, door: str, ask: Ask) -> None:
    error, said = HEARD[door]
    before = counted(served, "judgements_total", "redness", "unparseable")
    with pytest.raises(error, match=said):
        ask(address_of(served), [255, 255], [WORDS, "mumble"])
    after = counted(served, "judgements_total", "redness", "unparseable")
    assert after - before == 1, "a client that asked again would pay for the same answer"
    assert ask(address_of(served), [51], [WORDS]) == near([51])


def test_what_is_wrong_is_said_before_anything_is_judged(served: Served, packages: pytest.MonkeyPatch) -> None:
    """Their own class hands over no source."""
    theirs = flow_factory(packages, own=False)
    with pytest.raises(RuntimeError, match=r"Server error: no source pictures: put `condition_images` into"):
        theirs(address_of(served), [255], [WORDS])


def test_each_judge_s_own_reward_and_none_by_another_name(served: Served, packages: pytest.MonkeyPatch) -> None:
    reds = [51, 102, 204]
    assert unirl(packages, "redness")(address_of(served), reds, [WORDS] * 3) == near(reds)
    assert unirl(packages, "even")(address_of(served), reds, [WORDS] * 3) == [0.5] * 3
    both = unirl(packages, "redness", "even")(address_of(served), reds, [WORDS] * 3)
    assert both == pytest.approx([(red / 255 + 0.5) / 2 for red in reds], abs=0.012)
    with pytest.raises(ValueError, match="not served by"):
        unirl(packages, "editreward")(address_of(served), reds, [WORDS] * 3)


def test_a_client_that_gives_up_leaves_the_service_as_it_was(
    served: Served, packages: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for number, impatient in enumerate((unirl, editscore, flow_factory)):
        gone, held = counted(served, "edit_eval_cancelled_total"), f"wait {tmp_path / str(number)}"
        with pytest.raises((RuntimeError, TypeError)):
            impatient(packages, patience=0.5)(address_of(served), [255, 0], [held] * 2)
        until(lambda gone=gone: counted(served, "edit_eval_cancelled_total") == gone + 2)
        (tmp_path / str(number)).touch()
        assert impatient(packages)(address_of(served), [51], [WORDS]) == near([51])


@pytest.fixture(scope="module")
def small(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> Served:
    """A service that takes one pair at a time."""
    folder = tmp_path_factory.mktemp("root")
    plain(0).save(folder / "0.png")
    return serve(doors=tuple(TRAINERS), most_pairs=1, batch_size=1, token=TOKEN, root=folder)


@contextlib.contextmanager
def full(small: Served, folder: Path) -> Iterator[Callable[[], None]]:
    """The service is full until the function is called, or the block ends."""
    words = f"wait {folder / 'enough'}"
    (first,) = small.service.submit([Submission({"source": sent(encoded(0), "x")}, words, sent(encoded(1), "x"))])
    try:
        yield (folder / "enough").touch
    finally:
        (folder / "enough").touch()
        first.answer.result(120)


def test_a_full_service_lets_them_wait(small: Served, tmp_path: Path, ask: Ask) -> None:
    busy = counted(small, "busy")
    with full(small, tmp_path) as release, ThreadPoolExecutor(1) as pool:
        told = pool.submit(ask, address_of(small), [255], [WORDS])
        time.sleep(0.5)
        release()
        assert told.result() == near([255])
    assert counted(small, "busy") == busy


COMES_AGAIN = ("flow_grpo", "edit_r1", "verl_omni", "unirl")


def test_what_they_do_when_there_is_no_room(
    small: Served, door: str, ask: Ask, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """503, a second before their patience ends. Four come again; two stop the training, and one of them says why."""
    monkeypatch.setattr(application, "SHARE", 1.0 / DOORS[door].seconds)
    busy = counted(small, "busy")
    with full(small, tmp_path) as release, ThreadPoolExecutor(1) as pool:
        told = pool.submit(ask, address_of(small), [255], [WORDS])
        if door in COMES_AGAIN:
            until(lambda: counted(small, "busy") > busy)
            release()
            assert told.result() == near([255])
        else:
            with pytest.raises((RuntimeError, TypeError)):
                told.result()
            assert counted(small, "busy") - busy == (3 if door == "flow_factory" else 1)
