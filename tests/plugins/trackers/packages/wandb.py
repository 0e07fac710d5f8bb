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


class _Run:
    def __init__(self, id):
        self.id = id

    def log(self, values):
        if MISBEHAVES == "slow":
            time.sleep(0.35)
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
