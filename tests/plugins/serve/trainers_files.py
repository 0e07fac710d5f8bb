"""Trainers' own files, at one commit each: the clients that a service's doors are for. None is part of this project.

    python tests/plugins/serve/trainers_files.py [FOLDER]

puts them into the user's cache, from GitHub or from the git repositories in FOLDER (each as OWNER+NAME, its git
directory in it or itself). `EDIT_EVAL_AUTHORS=FOLDER` does so while tests run. A file is taken by its digest only.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from edit_eval.benchmarks.authors_files import AuthorsFile
from edit_eval.errors import EditEvalError
from edit_eval.files.durable import write_durably

VARIABLE = "EDIT_EVAL_AUTHORS"


def _files(repository: str, commit: str, licence: str, **digests: str) -> list[AuthorsFile]:
    return [
        AuthorsFile(repository, commit, _path(name), licence, digest, key="tests") for name, digest in digests.items()
    ]


def _path(name: str) -> str:
    """A Python file unless the name says otherwise."""
    path = name.replace("__", "/")
    return path if Path(path).suffix else f"{path}.py"


FILES: dict[str, list[AuthorsFile]] = {
    "flow_grpo": _files(
        "yifan123/flow_grpo",
        "ac4c86e8cae021841f1fde853d340e0db67690dd",
        "MIT",
        flow_grpo__rewards="18f284f454424e6bc22352e8ac4b51df4246b0169d35ab2f94140621e1608832",
    ),
    "edit_r1": _files(
        "PKU-YuanGroup/Edit-R1",
        "4217f251a5abd3ca9ef2f9b4eee851a14f744f84",
        "Apache-2.0",
        flow_grpo__rewards="c87a56f1a2f99a70f3fd3560e3737156ac8c44d01b7226bb83249f95fcca7ac4",
    ),
    "editscore": _files(
        "VectorSpaceLab/EditScore",
        "6e0f1b9a73b40f227d82d9cb32bd9cfb7189739b",
        "Apache-2.0",
        **{
            "examples/OmniGen2-RL/omnigen2/grpo/reward_client_edit": (
                "da4856bb297759ff4ed3dd7c69725545f461c376083cb7e3ea17d24f61a53c74"
            ),
            "examples/OmniGen2-RL/reward_server/server_configs/editscore_7B.yml": (
                "55bbade8ce03cf6945c5420644189f1b22801cd5ede7915b5b90ddbe68a7c6ec"
            ),
        },
    ),
    "verl_omni": _files(
        "verl-project/verl-omni",
        "a1139bafffb5b9711f0a6b6edff8ecaa60bfff30",
        "Apache-2.0",
        **{
            "verl_omni/utils/reward_score/http_scorer_client": (
                "5fdb9ca2d93ed6631b79746b4270b85231676839c690c94e098a2cd859a9b0f8"
            ),
            "verl_omni/reward_loop/reward_manager/multi": (
                "765c685e4b40403c0108efdd89154d81f63c17fa87eba01432f9374aa3dbca68"
            ),
            "verl_omni/reward_loop/reward_manager/visual": (
                "521783da7042b8790059027cb9b3ff8b16dee8bc6fa6837a57b9abcfb04dd8dd"
            ),
            "examples/flowgrpo_trainer/qwen_image_edit/prepare_data": (
                "6c93601165bb4de648be60442f1e6ea89748002832040e08d76e08acba8f3ee5"
            ),
        },
    ),
    "unirl": _files(
        "Tencent-Hunyuan/UniRL",
        "1a7b501e8fe8517b432a130220d2ff462f9b5afa",
        "UniRL's own",
        unirl__reward__remote="1908b88c4175b7c830e8248519dd4abe9d6b3c1ed712ebc20766d0c59f80cc19",
        unirl__reward__base="0d75bbe262eadf46317b10ef63dc6f5460177469254ef7a1af734975a559de45",
        unirl__config__require="a437f943172d7c4c25c6fa418e166c61addd6cac86f6079597c891f3d91b46f8",
        unirl__types__reward="67e4c911c7be81e5c9f04aa2137f73d3fd313affaae09b79c8c11d2ce36f4bb5",
        unirl__types__primitives="94c262258ec020c7b13ad7f8275396b81f3556ec810c783f11c5af855a801792",
        unirl__utils__media="35ba509dfb5eacaed4234e416ff7d97cfb778012db3994b8ddcdbce37dcff8ab",
        unirl__distributed__tensor__batch="613dcfaa9bb3a63e9413a502bbd7a232188ee5a40915f1bc3556457fb08c4b57",
        **{
            "examples/diffusion/flux2_klein/flux2_klein_4b_editreward.yaml": (
                "56a72190a68bb2a243d28d88c794e70366606b1b982efe767bc344a6acaed004"
            )
        },
    ),
    "flow_factory": _files(
        "X-GenGroup/Flow-Factory",
        "a0b2bc5a2b4fbf9125429b3fb70c0c5d7631047c",
        "Apache-2.0",
        src__flow_factory__rewards__my_reward_remote="bc6794025b504f21dc1ca9b74408adb8eb99f4419d009c9ffec9ee1adcacab1e",
        src__flow_factory__rewards__abc="48077c2eb82ee068b99eab1d9969187db04769c42215a8b865d02308b692d3c8",
        src__flow_factory__rewards__registry="1dbd65c39699aeb384a333c205865a96185ae6b3870a23e7567acad388405e54",
        src__flow_factory__hparams__reward_args="7a32b38c35ed044d516fc83bfbe181e5df22dd0eda59f067e67aa8e4bb767732",
        src__flow_factory__hparams__abc="b4a7dc7135f109d7adac99ddb061dd528c31139bec5bdd7392d6f0879579e40a",
    ),
}
"""By the door that its client is for."""


def brought(door: str) -> Path:
    """Returns the folder of a trainer's files. Skips the test where they are not."""
    for file in FILES[door]:
        try:
            file.path_in_cache()
        except EditEvalError:
            if not _from_clone(file, os.environ.get(VARIABLE, "")):
                pytest.skip(f"{file} is not here: `python {Path(__file__).name}` brings it, see there")
    return FILES[door][0].place.parents[FILES[door][0].path.count("/")]


def _from_clone(file: AuthorsFile, folder: str) -> bool:
    clone = Path(folder) / file.repository.replace("/", "+")
    for place in (clone, clone / "repo") if folder else ():
        told = ["git", "-C", str(place), "show", f"{file.commit}:{file.path}"]
        data = subprocess.run(told, capture_output=True, check=False).stdout
        if hashlib.sha256(data).hexdigest() == file.digest:
            write_durably(data, file.place)
            return True
    return False


def main() -> None:
    for file in [file for files in FILES.values() for file in files]:
        print(file.place if _from_clone(file, "".join(sys.argv[1:])) else file.fetch())


if __name__ == "__main__":
    main()
