"""Columns whose edit models are told a judge's words: which there are, and which judges have words to tell."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from edit_eval.config.components import import_registered, names
from edit_eval.config.identity import Identity, digest
from edit_eval.errors import ConfigurationError
from edit_eval.protocols.asked import AskedJudge, SampleQuestion
from edit_eval.records import Refinement
from edit_eval.text import Text

if TYPE_CHECKING:  # a dozen classes of pydantic's, for which readers do not wait
    from edit_eval.config.schema import ColumnsSection

NO_WORDS = ("score", "probabilities", "measured")
"""Forms of answers without words."""


def columns_of(
    models: Iterable[Identity], sections: Iterable[ColumnsSection]
) -> tuple[tuple[Identity, ...], dict[str, Refinement]]:
    """Returns each edit model with its further columns behind it, and for these how they are told what to do.

    A section's columns come behind each one that the sections before it have.
    """
    columns: list[Identity] = []
    refinements: dict[str, Refinement] = {}
    sections = list(sections)
    for model in models:
        column_names = [model.name]
        for section in sections:
            more = {name: dict(section.columns(name, model.name)) for name in column_names}
            column_names = [column for name, of in more.items() for column in (name, *of)]
            refinements |= {column: how for of in more.values() for column, how in of.items()}
        columns += [replace(model, name=name) for name in column_names]
    names_of_all = [column.name for column in columns]
    if twice := next((name for name in names_of_all if names_of_all.count(name) > 1), None):
        raise ConfigurationError(
            Text("two columns of edits would be called {}; rename an edit model or a judge", twice)
        )
    return tuple(columns), {column.name: refinements[column.name] for column in columns if column.name in refinements}


def makers(
    columns: Sequence[Identity], refinements: Mapping[str, Refinement], judges: Sequence[AskedJudge]
) -> dict[str, str]:
    """Returns for each column, by its name, a digest of what makes its edits: the edit model and its seed, and of one
    that is told a judge's words also the judge, its questions, and what is done with them."""
    by_name, digests = {judge.name: judge for judge in judges}, dict[str, str]()
    for column in columns:
        more: list[object] = []
        if how := refinements.get(column.name):
            before = digests[how.before] if how.before else ""
            more = [before, how.source, how.template, how.stop, who_is_asked(by_name[how.judge])]
        digests[column.name] = digest([column.digest, column.seed, *more])
    return digests


def refuse_unfit_critics(refinements: Mapping[str, Refinement], judges: Sequence[AskedJudge]) -> None:
    """Raises `ConfigurationError` for a critic without words, a judge that is asked before there is an edit and should
    not be, or the other way round, and if no judge is left to score the edits."""
    critics = dict.fromkeys(how.judge for how in refinements.values() if how.before)
    early = dict.fromkeys(how.judge for how in refinements.values() if not how.before)
    for judge in judges:
        if judge.name in critics and (not judge.of_one or judge.measures):
            raise ConfigurationError(
                Text("{} is not asked about one edit, so it has no critique; name another judge", judge.name)
            )
        if judge.before_edits != (judge.name in early):
            with_judges = {key: import_registered("columns", key).protocol for key in names("columns")}
            keys = [f"`{key}` (`type: {protocol}`)" for key, protocol in with_judges.items() if protocol]
            raise ConfigurationError(
                Text(
                    "{}: a judge that is asked before there is an edit is written under {: or }, and no other judge is",
                    judge.name,
                    keys,
                )
                if keys
                else Text("{}: nothing is installed that asks a judge before there is an edit", judge.name)
            )
    by_name = {judge.name: judge for judge in judges}
    for judge in judges:
        for critic in critics:
            if judge.name != critic and who_is_asked(judge) == who_is_asked(by_name[critic]):
                raise ConfigurationError(
                    Text(
                        "{} is {} under another name, so it cannot say what its critiques are worth", judge.name, critic
                    )
                )
    if refinements and all(judge.name in {*critics, *early} for judge in judges):
        raise ConfigurationError(
            Text(
                "{} tells the edit models what to do, and would be the only judge of the result: they do what it "
                "says, so it would overrate the gain; add another judge",
                sorted({*critics, *early}),
            )
        )


def who_is_asked(judge: AskedJudge) -> tuple[object, ...]:
    """Returns a judge and its protocol, except for its name."""
    path = judge.section.class_path
    elsewhere = "" if path.startswith("edit_eval.") else path  # one of ours is its name: its module may move
    return judge.model.digest, judge.protocol_name, elsewhere, judge.question_parameters(), judge.texts


def refuse_wordless(
    refinements: Mapping[str, Refinement], asked: Mapping[str, Sequence[Sequence[SampleQuestion]]]
) -> None:
    """Raises `ConfigurationError` for a judge that answers in bare numbers only; `asked` has each one's questions about
    each sample."""
    for how in refinements.values():
        forms = {sample_question.question.form for of_sample in asked[how.judge] for sample_question in of_sample}
        if forms and forms <= {*NO_WORDS}:
            raise ConfigurationError(
                Text(
                    "{} gives bare numbers, which tell an edit model nothing; give it a protocol with words "
                    "(`answer: reason_then_score`)",
                    how.judge,
                )
            )
