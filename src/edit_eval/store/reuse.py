"""Taking over what another run has done: edits and answers with equal keys."""

from __future__ import annotations

import os
from dataclasses import replace

import msgspec

from edit_eval.records import Edit, Status
from edit_eval.store.journal import Record
from edit_eval.store.matrix import Matrix
from edit_eval.store.recall import ReplyLine, edit_record, is_there, where_of
from edit_eval.store.run_directory import RunDirectory
from edit_eval.text import Text, counted


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
    judged = _reuse_replies(source, directory, matrix)
    matrix.tell_all()
    directory.sync()
    return Text("{}: {} and {} are reused", source.path, counted(taken, "edit"), counted(judged, "judgement"))


def _reuse_replies(source: RunDirectory, directory: RunDirectory, matrix: Matrix) -> int:
    given: dict[str, dict[tuple[object, ...], list[Record]]] = {}
    for record in source.read("replies"):
        try:
            line = msgspec.convert(record, ReplyLine)
        except msgspec.ValidationError:  # somebody else's line
            continue
        records = given.setdefault(line.key, {}).setdefault(line.to, [])
        if line.ask == 0:  # asked anew
            records.clear()
        records.append(record)
    before = matrix.pending
    for cell in range(len(matrix.cells)):
        if matrix.replies[cell] or not matrix.can_be_asked(cell) or not (groups := given.get(matrix.key(cell))):
            continue
        address = matrix.address(cell)
        records = groups.get(address) or next(iter(groups.values()))
        replies = [msgspec.convert(record, ReplyLine).reply for record in records]
        if matrix.read(cell, replies).status is not Status.OK:
            continue
        for record, reply in zip(records, replies, strict=True):
            directory.append("replies", {**record, **where_of(address), "reused_from": str(source.path)})
            matrix.add_reply(cell, reply)
    taken = before - matrix.pending
    matrix.look()
    return taken
