"""What bridges add to verbs: `agreement --bridge OLD NEW --to FILE` writes one, `report --as JUDGE` goes over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.command_line import answer_with
from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import spoken
from edit_eval.text import Text
from edit_eval.verbs.contract import VerbOption


class WriteBridge(VerbOption):
    """Keep a bridge between two judges as a file."""

    @dataclass(frozen=True)
    class Parameters:
        """Where to."""

        to: Path | None = field(default=None, metadata={"metavar": "FILE.json"})
        """With --bridge: write it, for `report --as`."""
        force: bool = False
        """Replace FILE if it exists."""

    def before(self, parameters: Parameters, **given: Any) -> bool:
        """Writes it, if it is asked for; the verb goes on."""
        if parameters.to is None:
            return False
        if given["bridge"] is None:
            raise ConfigurationError(Text("--to {}: it writes a bridge; give `--bridge OLD NEW`", parameters.to))
        from edit_eval.guests.bridge.bridge import write_bridge

        old, new = given["bridge"]
        write_bridge(given["runs"], old, new, parameters.to, score=given["score"], force=parameters.force)
        return False


class TellAs(VerbOption):
    """Tell a run's means on the scale of a judge that is gone."""

    @dataclass(frozen=True)
    class Parameters:
        """On whose scale, and over what."""

        as_: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """Only tell the means on this judge's scale, by --bridge."""
        bridge: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """With --as: what `agreement --bridge OLD NEW --to FILE` wrote."""
        markdown: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """With --as: also write it as Markdown."""

    def before(self, parameters: Parameters, **given: Any) -> bool:
        """Translates the run in place of its report, if that is asked for."""
        run, wanted, bridge, markdown = given["run"], parameters.as_, parameters.bridge, parameters.markdown
        if (wanted is None) != (bridge is None):
            raise ConfigurationError(
                Text("--as JUDGE needs --bridge FILE, and --bridge needs --as: give both or neither")
            )
        if wanted is None or bridge is None:
            if markdown is not None:
                raise ConfigurationError(
                    Text("--markdown needs --as JUDGE; the report has its own Markdown, report.md")
                )
            return False
        from edit_eval.guests.bridge.bridge import read_bridge, translate
        from edit_eval.guests.bridge.sheet import translated_sheet

        translated = translate(run, read_bridge(bridge), wanted)
        answer_with(lambda: translated, translated_sheet(translated), spoken(run.language), markdown)
        return True
