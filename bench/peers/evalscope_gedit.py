"""Judges finished edits with evalscope's own GEdit-Bench adapter; `behind_a_server.py` starts it.

PYTHON evalscope_gedit.py FOLDER ADDRESS CONCURRENCY
"""

import sys
from pathlib import Path

import evalscope.benchmarks  # noqa: F401
from evalscope import TaskConfig, run_task
from evalscope.api.registry import BENCHMARK_REGISTRY

folder, address, concurrency = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
# Its adapter reads edits from a file by these, but its list of parameters does not have them.

for name in ("local_file", "id_key", "image_key"):
    BENCHMARK_REGISTRY["gedit"].extra_params[name] = {"type": "str", "description": name, "value": None}
given = {"local_file": str(folder / "edits.jsonl"), "id_key": "id", "image_key": "image_path"}
run_task(
    TaskConfig(
        model="mine",
        model_task="image_editing",
        eval_type="mock_llm",  # the edits are there: no edit model is asked
        datasets=["gedit"],
        dataset_args={"gedit": {"dataset_id": str(folder / "gedit.parquet"), "extra_params": given}},
        eval_batch_size=concurrency,
        judge={
            "strategy": "llm",
            "models": [
                {
                    "model_id": "judge",
                    "api_url": address,
                    "api_key": "key",
                    "generation_config": {"temperature": 0.0, "max_tokens": 512},
                }
            ],
        },
        work_dir=str(folder / "evalscope"),
    )
)
