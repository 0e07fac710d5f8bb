"""What a bridge between two judges adds to a verb of the core: `report --as JUDGE` goes over one."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.errors import ConfigurationError
from edit_eval.reporting.language import current_language
from edit_eval.text import Text
from edit_eval.verbs.command_line import answer_with_sheet
from edit_eval.verbs.contract import VerbOption


class BridgeOfReport(VerbOption):
    """Report a run's means on the scale of a judge that is gone."""

    @dataclass(frozen=True)
    class Parameters:
        """On whose scale, and over what."""

        as_: str | None = field(default=None, metadata={"metavar": "JUDGE"})
        """Only print the means on this judge's scale, by --bridge."""
        bridge: Path | None = field(default=None, metadata={"metavar": "FILE"})
        """With --as: what `agreement RUN --old JUDGE --new JUDGE --to FILE.json` wrote."""

    def answer_instead(self, parameters: Parameters, **given: Any) -> bool:
        """Translates the run in place of its report, if that is asked for."""
        run, wanted, bridge = given["run"], parameters.as_, parameters.bridge
        if (wanted is None) != (bridge is None):
            raise ConfigurationError(
                Text("--as JUDGE needs --bridge FILE, and --bridge needs --as: give both or neither")
            )
        if wanted is None or bridge is None:
            return False
        from edit_eval.plugins.agreement.bridge import read_bridge, translate_run
        from edit_eval.plugins.agreement.bridge_sheet import translation_sheet

        translated = translate_run(run, read_bridge(bridge), wanted)
        answer_with_sheet(lambda: translated, translation_sheet(translated), current_language(run.language))
        return True
