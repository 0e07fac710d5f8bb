"""A `trackio` that dies, and takes its process with it."""

import os


def init(project, **given):
    os._exit(9)
