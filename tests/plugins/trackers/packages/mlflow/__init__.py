"""An `mlflow` whose server refuses, and repeats the key."""

import os


class MlflowClient:
    def __init__(self, tracking_uri=None):
        raise RuntimeError(f"401 Unauthorized: {os.environ['MLFLOW_TRACKING_TOKEN']} is not known")
