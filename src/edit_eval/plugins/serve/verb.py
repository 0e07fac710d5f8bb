"""The verbs that use a judge without a configured run: `score` and `serve`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from edit_eval.errors import ConfigurationError
from edit_eval.text import Text
from edit_eval.verbs.command_line import JUDGE, RunDir, answer, collect_arguments, end_if_short, say, words
from edit_eval.verbs.contract import Verb

if TYPE_CHECKING:
    from edit_eval.plugins.serve.scoring import Scored

Only = Annotated[str, typer.Option(metavar="NAME", help="Use only this judge of the configuration.")]
Readings = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Ask each judge N times: shows how sure a score is.")
]
Language = Annotated[str, typer.Option(metavar="en|zh", help="Language of the instructions.")]
Devices = Annotated[str | None, typer.Option(metavar="LIST|cpu:N|auto", help="Where judges run.")]


class ScoreVerb(Verb):
    """Score an edit, or a table of edits, with a judge.

    Exit with 3 unless all have a score.
    """

    about: ClassVar = {"group": "To judge, and to examine judges"}

    @staticmethod
    def call(
        what: Annotated[
            list[str],
            typer.Argument(
                metavar="SOURCE INSTRUCTION EDIT", help="One edit; or a TABLE with a column of edits, or a RUN."
            ),
        ],
        *,
        judge: Annotated[
            str | None, typer.Option(metavar="JUDGE", help=f"The judge: a configuration's YAML, or {JUDGE}.")
        ] = None,
        only: Only = "",
        edits: Annotated[str, typer.Option(metavar="COLUMN", help="With a table: the column of the edits.")] = "",
        category: Annotated[
            str, typer.Option(metavar="NAME", help="With one edit: its category, where the judge has a rubric for it.")
        ] = "",
        readings: Readings = None,
        language: Language = "",
        devices: Devices = None,
        run_dir: RunDir = None,
        progress: Annotated[str, typer.Option(metavar="auto|plain|lines|none", help="Progress display.")] = "auto",
    ) -> None:
        """Scores, and prints a line per edit."""
        if judge is None:
            raise ConfigurationError(Text("--judge is missing: give a configuration's YAML, or {}", Text(JUDGE)))
        if len(what) not in (1, 3):
            raise ConfigurationError(
                Text("give SOURCE INSTRUCTION EDIT, or one TABLE; there are {} arguments", len(what))
            )
        if edits if len(what) == 3 else category:
            flag, about = ("--edits", "a table") if edits else ("--category", "one edit")
            raise ConfigurationError(Text("{} is about {}; leave it out", flag, Text(about)))
        from edit_eval.plugins.serve.scoring import score_pair, score_table

        how: dict[str, Any] = {
            "judge": judge,
            "only": only,
            "readings": readings,
            "devices": devices,
            "run_dir": run_dir,
            "progress": progress,
            "command": ("edit-eval", *sys.argv[1:]),
            **({"language": language} if language else {}),
            **collect_arguments("score"),
        }
        if len(what) == 3:
            scores = score_pair(*what, category=category, **how)
        else:
            scores = score_table(what[0], edits=edits, **how)
        answer(lambda: [scored.as_plain() for scored in scores], lambda: _show(scores))
        end_if_short(any(scored.score is None for scored in scores))


class ServeVerb(Verb):
    """Serve a judge over HTTP: scores for training with rewards.

    It takes edits until interrupted, and answers with scores or statuses. Every answer is kept in a ledger.
    """

    about: ClassVar = {"group": "To judge, and to examine judges"}

    @staticmethod
    def call(
        judge: Annotated[str, typer.Argument(metavar="JUDGE", help=f"A configuration's YAML, or {JUDGE}.")],
        *,
        host: Annotated[
            str, typer.Option(metavar="ADDRESS", help="Listen on this address; default: this machine only.")
        ] = "127.0.0.1",
        port: Annotated[int, typer.Option(metavar="N", help="Listen on this port; 0 takes a free one.")] = 7861,
        token: Annotated[
            str, typer.Option(metavar="TOKEN|auto", help="Answer only with this token; required beyond this machine.")
        ] = "",
        door: Annotated[
            str | None, typer.Option(metavar="NAME,...", help="Open doors for the clients of these trainers.")
        ] = None,
        on_unscored: Annotated[
            str, typer.Option(metavar="error|hold|group_mean", help="What a door answers for an edit without a score.")
        ] = "error",
        only: Only = "",
        readings: Readings = None,
        language: Language = "",
        devices: Devices = None,
        ledger: Annotated[
            Path | None,
            typer.Option(metavar="DIR", help="Keep every request and reply in this folder. Default: in runs/."),
        ] = None,
        ledger_size: Annotated[
            float, typer.Option(metavar="GIB", min=0.1, help="Delete its oldest entries above this size.")
        ] = 50.0,
        root: Annotated[
            Path | None,
            typer.Option(metavar="DIR", help="Read pictures that requests name by path, below this folder."),
        ] = None,
        queue: Annotated[
            int, typer.Option(metavar="N", min=1, help="Admit N pairs at once; more requests wait.")
        ] = 8192,
        grace: Annotated[
            float, typer.Option(metavar="SECONDS", min=0, help="Time to answer what was admitted after SIGTERM.")
        ] = 30.0,
        window: Annotated[
            int, typer.Option(metavar="N", min=0, help="Look at N pairs at a time for a policy that cheats; 0: never.")
        ] = 1024,
        second: Annotated[
            str, typer.Option(metavar="NAME", help="Watch the policy with this other judge of the configuration.")
        ] = "",
        share: Annotated[
            float,
            typer.Option(
                metavar="SHARE", min=0.001, max=1.0, help="With --second: ask it about this share of the edits."
            ),
        ] = 0.02,
    ) -> None:
        """Serves until interrupted."""
        from edit_eval.plugins.serve.server import configuration_for
        from edit_eval.plugins.serve.server import serve as serve_judges

        if on_unscored not in ("error", "hold", "group_mean"):
            raise ConfigurationError(Text("--on-unscored {}: give error, hold or group_mean", on_unscored))
        serve_judges(
            configuration_for(judge, only=only, devices=devices, readings=readings, language=language),
            host=host,
            port=port,
            token=token,
            doors=words(door) or (),
            on_unscored=on_unscored,  # type: ignore[arg-type]
            ledger=ledger,
            ledger_bytes=int(ledger_size * 2**30),
            root=root,
            most_pairs=queue,
            grace=grace,
            window=window,
            second=second,
            share=share,
            tell=say,
            command=("edit-eval", *sys.argv[1:]),
            **collect_arguments("serve"),
        )


def _show(scores: list[Scored]) -> None:
    """Prints a line per edit, then each judge's passport line."""
    from edit_eval.reporting.terminal_text import one_line

    for scored in scores:
        if scored.score is None:
            line = Text("{}: {} gives no score: {} ({})", scored.id, scored.judge, scored.status.words, scored.reason)
        elif scored.error is None:
            line = Text("{}: {:.3f} ({})", scored.id, scored.score, scored.judge)
        else:
            line = Text(
                "{}: {:.3f} ± {:.3f} ({}, {} readings)",
                scored.id,
                scored.score,
                scored.error,
                scored.judge,
                scored.readings,
            )
        print(one_line(line))
    for scored in {scored.judge: scored for scored in scores}.values():
        passport = scored.passport or Text("measures, and is not examined")
        scale, line = scored.scale, Text("judge {}: {}", scored.judge, passport)
        if scale.lowest is not None and scale.highest is not None:
            line = Text("{}; from {:g} to {:g}", line, scale.lowest, scale.highest)
        print(one_line(line))
