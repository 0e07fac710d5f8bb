"""What the gate found as JUnit XML, which GitLab shows beside a merge request and GitHub by one of its actions.

A column and a judge are one test; it has failed if the column does not pass by that judge. So does what other options
say against the comparison: one test each. The form is the one that GitLab reads
(https://docs.gitlab.com/ci/testing/unit_test_reports/, read on 30 November 2026): `testsuites`, `testsuite` with its
counts, `testcase` with `classname`, `name`, `failure`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edit_eval.verbs.contract import VerbOption

if TYPE_CHECKING:
    from edit_eval.statistics.comparison import Comparison


class JUnitReport(VerbOption):
    """Write the answer as JUnit XML, too."""

    @dataclass(frozen=True)
    class Parameters:
        """Where it goes."""

        junit: Path | None = None
        """Also write here, as JUnit XML, whether each is no worse than the first: a test for each judge."""

    def write_files(self, parameters: Parameters, **given: Any) -> Sequence[Path]:
        """Writes the file, if it is asked for; `given` is a `comparison`, what else is `wrong` with it, and the
        `answers` of `gate --same-seed`."""
        if parameters.junit is None:
            return ()
        from edit_eval.files.new import write_atomically

        with write_atomically(parameters.junit) as temporary:
            temporary.write_bytes(write_junit(given["comparison"], given["wrong"], given.get("answers", ())))
        return [parameters.junit]


def write_junit(
    comparison: Comparison | None, wrong: Sequence[str] = (), answers: Sequence[tuple[str, str, Sequence[str]]] = ()
) -> bytes:
    """Returns the JUnit XML of a comparison's gate and of what else is wrong with it, as UTF-8.

    `answers` are those of no judge alone: name, the kind of failure, empty if there is none, and lines.
    """
    from xml.etree import ElementTree

    from edit_eval.reporting.comparison import gate_lines
    from edit_eval.reporting.terminal_text import one_line

    cases: list[tuple[str, str, str, Sequence[str]]] = []
    """Judge, name, the kind of reason that it failed for, empty if it passed, and what is said of it."""
    cases += [("edit-eval", *answer) for answer in answers]
    for candidate in comparison.gate.candidates if comparison else ():
        lines = gate_lines(replace(comparison.gate, candidates=[candidate], guidance={}))  # type: ignore[union-attr]
        name = f"{candidate.name} is no worse than {candidate.first}"
        kind = "" if candidate.passed else candidate.reasons[0].kind
        cases.append((candidate.judge, name, kind, lines))
    cases += [("edit-eval", str(reason), "other", [reason]) for reason in wrong]
    failed = sum(bool(kind) for _, _, kind, _ in cases)
    counts = {"tests": str(len(cases)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ElementTree.Element("testsuites", {"name": "edit-eval", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "edit-eval", **counts})
    for judge, name, kind, words in cases:
        case = ElementTree.SubElement(suite, "testcase", {"classname": one_line(judge), "name": one_line(name)})
        if kind:
            failure = ElementTree.SubElement(case, "failure", {"message": one_line(words[0]), "type": kind})
            failure.text = "\n".join(map(one_line, words))
        elif words:
            ElementTree.SubElement(case, "system-out").text = "\n".join(map(one_line, words))
    ElementTree.indent(root)
    content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return content
