"""Trainers' own clients, unchanged, beside a service: what they get, and what they hear when there is nothing to get.

`trainers_files.py` says where they come from. Of each trainer's files only what our guide says is changed: its blocks
are read here, and go into the trainer's own configuration, or through its own reader of one. Packages of theirs that no
reward passes through are replaced by empty ones.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import re
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import yaml
from PIL import Image

from documented_blocks import DOCS
from edit_eval.plugins.serve import application
from edit_eval.plugins.serve.doors import DOORS
from edit_eval.plugins.serve.pictures import check_picture
from edit_eval.plugins.serve.submissions import Submission
from late_imports import Late, needs
from plugins.serve.service_at_work import Serve, Served, configured, encoded
from plugins.serve.service_process import end, ready, start, until
from plugins.serve.trainers_files import brought

needs("requests", "aiohttp", "torch", "omegaconf", "pandas")
torch, omegaconf = Late("torch"), Late("omegaconf")

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


def documented(language: str, containing: str, address: str = "") -> str:
    """The block of the guide that has this in it, for a service at an address (`HOST:PORT/TOKEN`)."""
    text = (DOCS / "serving.md").read_text("utf-8")
    (block,) = (block for block in re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL) if containing in block)
    host, _, port = address.partition(":")
    return re.sub(r"\bHOST\b", host, re.sub(r"\bPORT\b", port, str(block)))


def module_of(name: str, source: str) -> Any:
    made = ModuleType(name)
    exec(compile(source, f"{name}.py", "exec"), made.__dict__)
    return made


@pytest.fixture(scope="module")
def packages() -> Iterator[pytest.MonkeyPatch]:
    """Their packages, gone again afterwards."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch
        for name in [name for name in sys.modules if name.partition(".")[0] in ("unirl", "flow_factory", "verl_omni")]:
            del sys.modules[name]


def flow_grpo(packages: pytest.MonkeyPatch) -> Ask:
    theirs = (brought("flow_grpo") / "flow_grpo/rewards.py").read_text("utf-8")
    config, line = SimpleNamespace(), json.loads(documented("json", '"prompt"'))
    exec(documented("python", "config.reward_fn"), {"config": config})
    line["source"]["path"] = "0.png"

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        changed = f"http://{address}/"
        assert theirs.count("http://127.0.0.1:18085") == 1
        rewards = module_of("flow_grpo_rewards", theirs.replace("http://127.0.0.1:18085", changed))
        lines = [{**line, "prompt": instruction} for instruction in words]
        details, _ = rewards.multi_score("cpu", config.reward_fn)(tensor(reds), list(words), lines)
        return list(details["avg"])

    return ask


def edit_r1(packages: pytest.MonkeyPatch) -> Ask:
    theirs = (brought("edit_r1") / "flow_grpo/rewards.py").read_text("utf-8")

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        name, _, value = documented("sh", "REWARD_SERVER", address).strip().removeprefix("export ").partition("=")
        rewards = module_of("edit_r1_rewards", theirs)
        rewards.os = SimpleNamespace(getenv={name: value}.get)  # of this client alone
        metas = [{"requirement": "keep the rest"}] * len(reds)
        scores, _ = rewards.mllm_score_continue("cpu")([plain(0)] * len(reds), tensor(reds), list(words), metas)
        return list(scores)

    return ask


def editscore(packages: pytest.MonkeyPatch, patience: float | None = None) -> Ask:
    examples = brought("editscore") / "examples/OmniGen2-RL"
    client = module_of("reward_client_edit", (examples / "omnigen2/grpo/reward_client_edit.py").read_text("utf-8"))
    theirs = yaml.safe_load((examples / "reward_server/server_configs/editscore_7B.yml").read_text("utf-8"))

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        server = theirs["server"] | yaml.safe_load(documented("yaml", "proxy_port", address))["server"]
        host, port = server["hosts"][0], server["proxy_port"]  # as its `train.py` reads them
        sources, edits = [[plain(0)] for _ in reds], [plain(red) for red in reds]
        given = [json.dumps({"instruction": instruction, "id": str(place)}) for place, instruction in enumerate(words)]
        if patience is None:
            answer = client.evaluate_images(sources, edits, given, proxy_host=host, proxy_port=port)
        else:
            answer = client.RewardClient(host, port, timeout=patience, max_retries=1).evaluate(sources, edits, given)
        _, rewards, _, metas = answer
        assert [json.loads(meta)["id"] for meta in metas] == [str(place) for place in range(len(reds))]
        return list(rewards)

    return ask


SCORERS = threading.local()
"""verl-omni's client as each reward worker has it: it keeps a session for its loop."""


def verl_omni(packages: pytest.MonkeyPatch, **more: Any) -> Ask:
    """Through its reward manager, which reads the options of the command line; `more` are further ones."""
    folder = brought("verl_omni")
    theirs = (folder / "verl_omni/utils/reward_score/http_scorer_client.py").read_text("utf-8")
    preparing, line = (
        folder / "examples/flowgrpo_trainer/qwen_image_edit/prepare_data.py",
        '"ground_truth": instruction}',
    )
    changed = documented("python", "ground_truth").strip().rstrip(",")
    prepared = preparing.read_text("utf-8")
    assert prepared.count(line) == 1
    preparation = module_of("prepare_data", prepared.replace(line, f"{changed}}}"))

    class Base:
        def __init__(self, config: Any, *rest: Any) -> None:
            self.config = config

    if "verl_omni" not in sys.modules:
        reward_loop = "verl_omni.reward_loop.reward_manager"
        empty: dict[str, dict[str, Any]] = {
            "verl": {"DataProto": list},
            "verl.utils": {},
            "verl.utils.import_utils": {"load_extern_object": lambda path, name: getattr(SCORERS.own, name)},
            "verl.utils.reward_score": {"default_compute_score": None},
            "verl.experimental": {},
            "verl.experimental.reward_loop": {},
            "verl.experimental.reward_loop.reward_manager": {},
            "verl.experimental.reward_loop.reward_manager.base": {"RewardManagerBase": Base},
            "verl_omni": {},
            "verl_omni.utils": {},
            "verl_omni.utils.reward_score": {"default_compute_score_image": None},
            "verl_omni.reward_loop": {},
            reward_loop: {"__path__": [str(folder / reward_loop.replace(".", "/"))]},
        }
        put_in(packages, empty)
    multi = importlib.import_module("verl_omni.reward_loop.reward_manager.multi")

    def marked(instructions: Sequence[str]) -> list[str]:
        """What its preparation of a data set makes of them."""
        with tempfile.TemporaryDirectory() as given:
            (Path(given) / "images").mkdir()
            plain(0).save(Path(given) / "images/0.png")
            lines = [json.dumps({"prompt": instruction, "image": "0.png"}) for instruction in instructions]
            (Path(given) / "train.jsonl").write_text("\n".join(lines))
            rows = preparation._convert_split(Path(given), "train", -1, SIZE)
        return [reward_model["ground_truth"] for reward_model in rows["reward_model"]]

    async def every(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        options: dict[str, Any] = {"reward": {}, "actor_rollout_ref": {"rollout": {"pipeline": {}}}}
        for option in documented("sh", "reward_functions", address).replace("\\\n", " ").split():
            key, _, value = option.removeprefix("+").partition("=")
            *path, last = key.split(".")
            here = options
            for part in path:
                here = here.setdefault(part, {})
            here[last] = yaml.safe_load(value)  # as Hydra does
        options["reward"]["reward_functions"]["edit"].update(more)
        SCORERS.own = module_of("http_scorer_client", theirs)
        assert options["reward"]["reward_manager"]["name"] == "MultiVisualRewardManager"
        manager = multi.MultiVisualRewardManager(omegaconf.OmegaConf.create(options), None, None)
        pictures = (tensor(reds) * 255).round().to(torch.uint8)
        of = zip(pictures, marked(words), strict=True)
        rows = [
            SimpleNamespace(
                batch={"responses": picture},
                meta_info={},
                non_tensor_batch={"data_source": "image_edit", "reward_model": {"ground_truth": text}},
            )
            for picture, text in of
        ]
        try:  # as its reward loop does
            answers = await asyncio.gather(*[manager.run_single([row]) for row in rows], return_exceptions=True)
            if failed := [answer for answer in answers if isinstance(answer, BaseException)]:
                raise failed[0]
            return [answer.reward_score for answer in answers]
        finally:
            await SCORERS.own.compute_score._session.close()

    return lambda address, reds, words: asyncio.run(every(address, reds, words))


def put_in(packages: pytest.MonkeyPatch, modules: dict[str, dict[str, Any]]) -> None:
    """Puts modules of these members in the place of a trainer's."""
    for name, members in modules.items():
        made = ModuleType(name)
        made.__dict__.update({"__path__": []} | members)
        packages.setitem(sys.modules, name, made)


def unirl(packages: pytest.MonkeyPatch, *names: str, patience: float | None = None) -> Ask:
    folder = brought("unirl")
    recipe = folder / "examples/diffusion/flux2_klein/flux2_klein_4b_editreward.yaml"
    if "unirl" not in sys.modules:
        every = ("", ".config", ".reward", ".types", ".utils", ".distributed", ".distributed.tensor")
        put_in(
            packages,
            {f"unirl{suffix}": {"__path__": [str(folder / f"unirl{suffix}".replace(".", "/"))]} for suffix in every},
        )
    remote, rewards, primitives = (
        importlib.import_module(f"unirl.{name}") for name in ("reward.remote", "types.reward", "types.primitives")
    )

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        theirs = yaml.safe_load(recipe.read_text("utf-8"))["reward"]["backend"]["config"]
        assert theirs.pop("_target_") == "unirl.reward.remote.RemoteRewardSpec"
        options = theirs | yaml.safe_load(documented("yaml", "required_rewards", address))
        if names:
            options |= {"required_rewards": names, "reward_weights": dict.fromkeys(names, 1.0)}
        options |= {} if patience is None else {"timeout": patience, "max_retries": 1}
        backend = remote.RemoteRewardBackend(config=remote.RemoteRewardSpec(**options), base_device="cpu")
        assert backend.is_available()
        shown = {
            "text": primitives.Texts(texts=list(words)),
            "image": primitives.Images(pixels=tensor([0] * len(reds))),
        }
        request = rewards.RewardRequest(primitives=shown, generated={"image": primitives.Images(pixels=tensor(reds))})
        answer = backend.compute_rewards(request)
        if not all(answer.successes):  # as `RewardService.score_and_attach` does
            raise RuntimeError([error for error in answer.errors if error])
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
            "flow_factory.hparams": {"__path__": [str(folder / "src/flow_factory/hparams")]},
            "flow_factory.utils": {},
            "flow_factory.utils.logger_utils": {"setup_logger": lambda name, **how: logging.getLogger(name)},
        }
        put_in(packages, empty)
        arguments = importlib.import_module("flow_factory.hparams.reward_args")
        sys.modules["flow_factory.hparams"].__dict__["RewardArguments"] = arguments.RewardArguments
        importlib.import_module("flow_factory.rewards.my_reward_remote")
        mine = module_of("edit_reward", documented("python", "RemotePointwiseRewardModel"))
        packages.setitem(sys.modules, "edit_reward", mine)

    def ask(address: str, reds: Sequence[int], words: Sequence[str]) -> list[float]:
        (section,) = yaml.safe_load(documented("yaml", "reward_model", address))["rewards"]
        section |= {"device": "cpu", **({} if patience is None else {"timeout": patience, "retry_attempts": 1})}
        if not own:
            section["reward_model"] = "flow_factory.rewards.my_reward_remote.RemotePointwiseRewardModel"
        arguments = importlib.import_module("flow_factory.hparams.reward_args")
        (reward,) = arguments.MultiRewardArguments.from_dict([section])
        registry = importlib.import_module("flow_factory.rewards.registry")
        model = registry.get_reward_model_class(reward.reward_model)(reward, None)
        every = {
            "prompt": list(words),
            "image": [plain(red) for red in reds],
            "condition_images": [[plain(0)] for _ in reds],
        }
        answer = model(**{name: every[name] for name in model.required_fields})
        return [float(value) for value in answer.rewards]

    return ask


TRAINERS = {trainer.__name__: trainer for trainer in (flow_grpo, edit_r1, editscore, verl_omni, unirl, flow_factory)}


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
        for reds, future in zip(groups, told, strict=True):
            assert future.result() == near(reds)


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
    "verl_omni": (RuntimeError, "'edit' failed: .*no score: unparseable"),
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


def be_impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three of them write their patience into their files: that number is another here, where HTTP is done."""
    import aiohttp
    import requests

    post, timeout = requests.Session.post, aiohttp.ClientTimeout

    def soon(session: Any, url: str, **how: Any) -> Any:
        return post(session, url, **{**how, "timeout": 2})

    monkeypatch.setattr(requests.Session, "post", soon)
    monkeypatch.setattr(aiohttp, "ClientTimeout", lambda total: timeout(total=2))


def test_a_client_whose_time_is_over_asks_again(
    served: Served, packages: pytest.MonkeyPatch, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What it no longer waits for is not judged, and the answer to its next try is right."""
    patient = verl_omni(packages, max_retries=50, retry_backoff=0.0)
    clients = {"flow_grpo": flow_grpo(packages), "edit_r1": edit_r1(packages), "verl_omni": patient}
    be_impatient(monkeypatch)
    for name, client in clients.items():
        gone, held = counted(served, "edit_eval_cancelled_total"), f"wait {tmp_path / name}"
        with ThreadPoolExecutor(1) as pool:
            told = pool.submit(client, address_of(served), [51], [held])
            until(lambda gone=gone: counted(served, "edit_eval_cancelled_total") > gone)
            (tmp_path / name).touch()
            assert told.result() == near([51])


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
    (first,) = small.service.submit(
        [Submission({"source": check_picture(encoded(0), "x")}, words, check_picture(encoded(1), "x"))]
    )
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
