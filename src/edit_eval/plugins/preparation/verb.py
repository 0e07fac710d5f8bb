"""The verbs `doctor`, `plan` and `fetch`: what comes before a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edit_eval.verbs.command_line import Config, Options, answer, end_if_short, wants_json
from edit_eval.verbs.contract import Verb


class DoctorVerb(Verb):
    """Check whether a configuration would run here.

    Check this machine, and whether a configuration would run on it. Exit with 3 if it would not.
    """

    about: ClassVar = {"group": "To begin", "before": "env"}

    @staticmethod
    def call(
        config: Annotated[str | None, typer.Argument(metavar="CONFIG", help="The YAML file.")] = None,
        *,
        options: Options,
    ) -> None:
        """Prints all findings."""
        from edit_eval.plugins.preparation.plans import print_findings
        from edit_eval.plugins.preparation.requests import examine

        findings = examine(config, **options)
        answer(lambda: [finding.as_plain() for finding in findings], lambda: print_findings(findings))
        end_if_short(any(finding.stops for finding in findings))


class PlanVerb(Verb):
    """Predict how long a run takes, and what it costs, by simulating it."""

    about: ClassVar = {"group": "To begin", "before": "fetch"}

    @staticmethod
    def call(
        config: Config,
        *,
        gpus: Annotated[int | None, typer.Option(metavar="N", help="Simulate N GPUs; with --nodes, N on each.")] = None,
        nodes: Annotated[
            int | None, typer.Option(metavar="N", help="Simulate N machines, and compare with fewer.")
        ] = None,
        price: Annotated[
            float | None, typer.Option(metavar="P", help="With --nodes: price of a GPU-hour, to show the cost.")
        ] = None,
        gpu_memory: Annotated[
            float | None, typer.Option(metavar="GIB", help="With --gpus: free memory on each GPU, in GiB.")
        ] = None,
        samples: Annotated[int | None, typer.Option(metavar="M", help="Simulate M samples.")] = None,
        from_: Annotated[Path | None, typer.Option("--from", metavar="RUN", help="Use timings from RUN.")] = None,
        margin: Annotated[
            float | None, typer.Option(metavar="D", help="Also say how many images a gate with this margin takes.")
        ] = None,
        every: Annotated[bool, typer.Option("--all", help="Show every schedule.")] = False,
        options: Options,
    ) -> None:
        """Prints the plan."""
        from edit_eval.plugins.preparation.plans import print_plan
        from edit_eval.plugins.preparation.requests import plan
        from edit_eval.reporting.terminal_text import stdout_console

        made = plan(
            config,
            gpus=gpus,
            gpu_memory=gpu_memory,
            samples=samples,
            from_run=from_,
            nodes=nodes,
            price=price,
            margin=margin,
            **options,
        )
        answer(made.as_plain, lambda: print_plan(made, stdout_console(), every=every))


class FetchVerb(Verb):
    """Download what a configuration needs, for machines without a network.

    Download the benchmark, weights and prompts of a configuration into their caches (HF_HOME, XDG_CACHE_HOME).

    A machine without a network that has the same caches can run it with HF_HUB_OFFLINE=1.
    """

    about: ClassVar = {"group": "To begin", "before": "env"}

    @staticmethod
    def call(config: Config, *, options: Options) -> None:
        """Downloads, and prints each part as soon as it is here."""
        from edit_eval.config.loading import load_configuration
        from edit_eval.plugins.preparation.cards import fetch
        from edit_eval.reporting.formats import memory
        from edit_eval.reporting.language import code_to_text, translate
        from edit_eval.text import Text

        downloads = []
        for each in fetch(load_configuration(config, **options)):
            downloads.append(each)
            if not wants_json():
                print(
                    translate(
                        Text("{}: {}: {}, in {}", code_to_text(each.what), each.name, memory(each.bytes), each.path)
                    )
                )
        answer(lambda: [each.as_plain() for each in downloads], lambda: None)
