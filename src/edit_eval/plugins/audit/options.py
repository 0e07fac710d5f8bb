"""What audits add to verbs of the core: where passports are, and what is to be done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from edit_eval.verbs.contract import VerbOption

_FOLDER: Any = {"metavar": "DIR"}


class PassportsOfScore(VerbOption):
    """Name the judge's passport beside its scores."""

    @dataclass(frozen=True)
    class Parameters:
        """Where it is."""

        passports: Path | None = field(default=None, metadata=_FOLDER)
        """Folder of judges' passports. Default: your cache."""

    def extra_arguments(self, parameters: Parameters) -> Mapping[str, Any]:
        """Adds the folder."""
        return {"examinations": parameters.passports}


class PassportsOfRun(VerbOption):
    """Name the judges' passports in the report, and say whether they have drifted since."""

    @dataclass(frozen=True)
    class Parameters:
        """Where they are, and whether to ask again."""

        passports: Path | None = field(default=None, metadata=_FOLDER)
        """Folder of judges' passports. Default: your cache."""
        anchors: bool = False
        """Judge the passport's anchor edits again, to see any drift."""

    def extra_arguments(self, parameters: Parameters) -> Mapping[str, Any]:
        """Adds the folder."""
        return {"examinations": parameters.passports}

    def write_files(self, parameters: Parameters, **given: Any) -> Sequence[Path]:
        """Judges the anchors of the run's judges again, and draws its report with what they show."""
        if not parameters.anchors:
            return ()
        from edit_eval.plugins.audit.anchors import judge_anchors

        return judge_anchors(given["configuration"], given["run"])


class PassportsOfServe(VerbOption):
    """Name the judges' passports to clients, or refuse judges without one."""

    @dataclass(frozen=True)
    class Parameters:
        """Where they are, and whether they are needed."""

        examined: bool = False
        """Refuse a judge that has not passed an audit."""
        passports: Path | None = field(default=None, metadata=_FOLDER)
        """Folder of judges' passports. Default: your cache."""

    def extra_arguments(self, parameters: Parameters) -> Mapping[str, Any]:
        """Adds both."""
        return {"examinations": parameters.passports, "examined": parameters.examined}


class PassportsOfCompare(VerbOption):
    """Name the judges' passports, and end with 3 when a judge has drifted between the runs."""

    @dataclass(frozen=True)
    class Parameters:
        """Where they are, and whether a judge may have drifted."""

        passports: Path | None = field(default=None, metadata=_FOLDER)
        """Folder of judges' passports. Default: your cache."""
        allow_drift: bool = False
        """Do not exit with 3 when a judge has drifted between the runs."""

    def extra_arguments(self, parameters: Parameters) -> Mapping[str, Any]:
        """Adds the folder, which is looked at for runs without copies, too."""
        from edit_eval.store.examined import usual_folder  # which `--help` has no need of

        return {"examinations": parameters.passports or usual_folder()}

    def reasons(self, parameters: Parameters, **given: Any) -> Sequence[str]:
        """Returns a line for each judge that has drifted between the runs of the comparison."""
        from edit_eval.plugins.audit.words import drift_lines

        return [] if parameters.allow_drift else drift_lines(given["comparison"])


class AuditOfReport(VerbOption):
    """Draw the page of an audit again."""

    def answer_instead(self, parameters: Any, **given: Any) -> bool:
        """Draws the page, and prints the findings, if the run is an audit's."""
        from edit_eval.plugins.audit.trial import redraw_audit
        from edit_eval.plugins.audit.verb import answer_audited

        if made := redraw_audit(given["run"]):
            answer_audited(made, full=given["full"])
        return made is not None
