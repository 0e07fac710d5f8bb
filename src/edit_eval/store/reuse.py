"""Taking over what another run has done: edits and answers with equal keys."""

from __future__ import annotations

import os
from dataclasses import replace

import msgspec

from edit_eval.records import Edit, Status, counted
from edit_eval.store.journal import Record
from edit_eval.store.matrix import AnswerLine, Matrix, answer_of, edit_record, is_there
from edit_eval.store.run_directory import RunDirectory


def reuse(source: RunDirectory, directory: RunDirectory, matrix: Matrix) -> str:
    """Copies pictures and answers with equal keys from `source` into this run; only what ended well is taken.

    Returns one line that says how much. Pictures are linked where the file system can, and copied where it cannot.
    """
    edits = {edit.key: edit for edit in source.read("edits").of(Edit)}
    taken = 0
    for number, mine in enumerate(matrix.edits):
        found = edits.get(mine.key)
        if mine.status is not Status.PENDING or found is None or found.status is not Status.OK:
            continue
        if not is_there(found, source.path):
            continue
        path = directory.image_path(mine.edit_model, mine.sample_id, mine.key)
        directory.take_picture(source.path / found.image, path)
        image = os.path.relpath(path, directory.path)
        edit = replace(
            found, sample_id=mine.sample_id, edit_model=mine.edit_model, edit_seed=mine.edit_seed, image=image
        )
        directory.append("edits", {**edit_record(edit), "reused_from": str(source.path)})
        matrix.set_edit(number, edit)
        taken += 1
    judged = _reuse_answers(source, directory, matrix)
    directory.sync()
    return f"{source.path}: {counted(taken, 'edit')} and {counted(judged, 'judgement')} are reused"


def _reuse_answers(source: RunDirectory, directory: RunDirectory, matrix: Matrix) -> int:
    answers: dict[str, dict[tuple[object, ...], list[Record]]] = {}
    for record in source.read("judgements"):
        try:
            line = msgspec.convert(record, AnswerLine)
        except msgspec.ValidationError:  # somebody else's line
            continue
        place = (line.sample, line.edit_model, line.edit_seed, line.judge, line.repeat)
        given = answers.setdefault(line.key, {}).setdefault(place, [])
        if line.ask == 0:  # asked anew
            given.clear()
        given.append(record)
    taken = 0
    for number in range(len(matrix.answers)):
        if matrix.answers[number] or matrix.edits[matrix.place(number).edit].status is not Status.OK:
            continue
        groups = answers.get(matrix.judgement_key(number))
        if not groups:
            continue
        address = matrix.address(number)
        records = groups.get(address) or next(iter(groups.values()))
        outcome = matrix.protocol.judgement([answer_of(r) for r in records])
        if outcome.status is not Status.OK:
            continue
        sample, edit_model, edit_seed, judge, repeat = address
        where = {
            "sample": sample,
            "edit_model": edit_model,
            "edit_seed": edit_seed,
            "judge": judge,
            "repeat": repeat,
        }
        for record in records:
            directory.append("judgements", {**record, **where, "reused_from": str(source.path)})
            matrix.add_answer(number, answer_of(record))
        taken += 1
    return taken
