"""A judge behind a server is known by what the server says of its model, too; its address alone says little."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from edit_eval import evaluate
from edit_eval.errors import ConfigurationError
from edit_eval.plugins.audit.trial import audit
from edit_eval.run import Run
from judge_server import JudgeServer
from late_imports import needs

needs("aiohttp")


def section(server: JudgeServer) -> dict[str, Any]:
    reached = {"device_ids": "cpu:2", "model": "judge", "base_url": server.base_url, "max_tokens": 32}
    return {
        "edit_models": {"mine": {"type": "copy_source", "params": {"device_ids": "cpu:1"}}},
        "judges": {"judge": {"type": "chat_endpoint", "params": reached}},
        "evaluation": {"controls": 0},
        "execution": {"progress": "none"},
    }


def passport_of(run: Run) -> Any:
    """What is known of the judge, of which the core knows an examiner alone."""
    examination: Any = run.judge_examinations["judge"]
    return examination.passport


def run_of(server: JudgeServer, folder: Path, name: str) -> Run:
    drawn = {"type": "scenes", "count": 2, "size": 128, "cache_dir": str(folder / "cache"), "language": "en"}
    asked = {"benchmark": drawn, **section(server)}
    return evaluate(asked, run_dir=folder / name, examinations=folder / "passports", report=False)


@pytest.mark.check
def test_another_model_behind_the_same_address_is_another_judge(tmp_path: Path) -> None:
    with JudgeServer("Score: 7.000") as server:
        server.facts = {"root": "/models/a", "max_model_len": 4096, "owned_by": "vllm"}
        asked = {"benchmark": {"type": "five_dimensions", "data_path": "/nowhere.json"}, **section(server)}
        folder = tmp_path / "passports"
        made = audit(asked, folder=folder, run_dir=tmp_path / "audit", scenes=1, size=128)
        assert made.passport.subject.judge["model"] == "root /models/a"

        server.facts = {"root": "/models/a", "max_model_len": 8192, "owned_by": "sglang"}
        same = run_of(server, tmp_path, "same")
        assert passport_of(same) == made.passport, "flags and the time of the request are no model"

        server.facts = {"root": "/models/b"}
        other = run_of(server, tmp_path, "other")
        assert passport_of(other) is None
        assert other.judge_examinations["judge"].document.line == "not audited"
        assert passport_of(Run(same.path)) == made.passport, "by what was served then"

        judgements = same.results.judgements
        rows = [f"{judgement.sample_id},mine,{rater},{rater}" for judgement in judgements for rater in (3, 5)]
        (people := tmp_path / "people.csv").write_text("\n".join(["sample_id,edit_model,rater,score", *rows]))
        small: dict[str, Any] = {"folder": folder, "run_dir": tmp_path / "again", "scenes": 1, "size": 128}
        with pytest.raises(ConfigurationError, match=r"a different model then \(root /models/a; now root /models/b\)"):
            audit(asked, people=people, judged=same.path, **small)
        assert len(list(folder.glob("*.json"))) == 1

        again = audit(asked, **small)
        assert len(again.passport.tries) == 1, "those of the other model are not its own"
        assert again.passport.tries[0].seed != made.passport.tries[0].seed
        assert len(list(folder.glob("*.json"))) == 2

        server.models = ()
        assert passport_of(run_of(server, tmp_path, "silent")) is None


def test_of_a_server_s_entry_only_what_lasts_is_taken() -> None:
    with JudgeServer("ok") as server:

        def said(**facts: Any) -> str:
            server.facts = facts
            return served(server)

        assert said() == ""
        assert said(root="/m/a", parent="base", revision="3", permission=[{"id": "x"}]) == (
            "root /m/a, parent base, revision 3"
        )
        assert said(meta={"n_params": 7, "size": 9, "n_ctx": 5}, root=None) == "n_params 7, size 9"
        server.models = ("another",)
        assert said(root="/m/a") == ""


def served(server: JudgeServer) -> str:
    from edit_eval.plugins.endpoints.in_worker.chat_endpoint import ChatEndpoint

    judge = ChatEndpoint(ChatEndpoint.Parameters(model="judge", base_url=server.base_url))
    judge.load(["cpu"])
    try:
        return judge.about().get("serves", "")
    finally:
        judge.close()
