"""The face of `wandb` that we use: it writes down what it is told, or misbehaves as `PLAYED_WANDB` says."""

import json
import os
import time

MISBEHAVES = os.environ.get("PLAYED_WANDB", "")


def _write(**told):
    with open(os.environ["PLAYED_FILE"], "a") as file:
        file.write(json.dumps(told) + "\n")


class Settings:
    def __init__(self, **given):
        pass


class Artifact:
    def __init__(self, name, type):
        self.name, self.files = name, {}

    def add_file(self, path, name):
        self.files[name] = os.path.getsize(path)


class Image:
    def __init__(self, path):
        self.bytes = os.path.getsize(path)


class Table:
    def __init__(self, columns, data):
        if MISBEHAVES == "no table":
            raise MemoryError("too large a table")
        self.columns = columns
        self.rows = [[f"{cell.bytes} bytes" if isinstance(cell, Image) else cell for cell in row] for row in data]


class _Run:
    def __init__(self, id):
        self.id = id

    def log(self, values):
        if MISBEHAVES == "slow":
            time.sleep(0.35)
        tables = {name: value for name, value in values.items() if isinstance(value, Table)}
        for name, table in tables.items():
            _write(table=name, columns=table.columns, rows=table.rows)
        if len(tables) < len(values):
            _write(log=values)

    def log_artifact(self, artifact):
        _write(artifact=artifact.name, files=artifact.files)

    def finish(self, exit_code):
        _write(finish=exit_code)


def init(*, id, resume, dir, config, project, name, settings, **more):
    if MISBEHAVES == "hang":
        time.sleep(3600)
    _write(init=id, resume=resume, project=project, name=name, config=config, more=more)
    return _Run(id)
