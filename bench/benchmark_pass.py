"""Measures the first and later readings of a full-size benchmark: seconds and peak memory.

Generates a file like the base system's largest known ones (270 items, 1472 x 1104, 540 MB) in a temporary folder, and
reads it in a fresh process three times: with an empty cache, with the pass remembered, and after touching the file (all
sources are known, the file is not). With `--parquet`, the file is like those on the Hub (row groups of 100), and read
as `table`: `--items 3000 --megabytes 3000 --parquet` is a benchmark of 3 GB.
`--json` prints `{"figures": {...}}` and nothing else.
"""

from __future__ import annotations

import argparse
import base64
import io
import json
import struct
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from PIL import Image

WIDTH, HEIGHT = 1472, 1104
SUBSETS = ("物理", "环境", "社会", "因果", "指代")

READ = """
import json, sys, time
begin = time.perf_counter()
from edit_eval.plugins.five_dimensions.benchmark import FiveDimensions
from edit_eval.benchmarks.table import TableBenchmark
imported = time.perf_counter()
kind = TableBenchmark if sys.argv[1].endswith(".parquet") else FiveDimensions
samples = list(kind(kind.Parameters(sys.argv[1], cache_dir=sys.argv[2])).samples())
end = time.perf_counter()
assert len(samples) == int(sys.argv[3]) and not any(sample.fault for sample in samples), samples[0]
with open("/proc/self/status") as status:  # ru_maxrss would count the parent's memory before exec, too
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
print(json.dumps({"seconds": end - imported, "import_seconds": imported - begin, "peak_mb": peak / 1e6}))
"""


def picture(target_bytes: int) -> bytes:
    """Returns a full-size PNG of about `target_bytes`: a smooth picture with enough noise."""
    smooth = Image.radial_gradient("L").resize((WIDTH, HEIGHT))
    noises = [Image.effect_noise((WIDTH, HEIGHT), 60) for _ in range(3)]
    low, high = 0.0, 1.0
    data = b""
    for _ in range(10):
        share = (low + high) / 2
        buffer = io.BytesIO()
        bands = [Image.blend(smooth, noise, share) for noise in noises]
        Image.merge("RGB", bands).save(buffer, "PNG", compress_level=1, compress_type=3)
        data = buffer.getvalue()
        if abs(len(data) - target_bytes) < target_bytes * 0.01:
            break
        low, high = (share, high) if len(data) < target_bytes else (low, share)
    return data


def numbered(png: bytes, number: int) -> bytes:
    """Returns the same picture with a text entry, which gives the file its own digest."""
    text = b"tEXt" + b"number\0%d" % number
    entry = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))
    return png[:33] + entry + png[33:]  # after the signature and the header


def write_benchmark(path: Path, items: int, megabytes: float) -> None:
    """Writes the file item by item."""
    png = picture(int(megabytes * 1e6 / items * 3 / 4))
    with open(path, "w", encoding="utf-8") as file:
        for number in range(items):
            subset = SUBSETS[number % len(SUBSETS)]
            item = {
                "subset": subset,
                "original_description": "一张照片。",
                "edit_instruction": "把它变成红色。",
                "original_description_en": "A photograph.",
                "edit_instruction_en": "Make it red.",
                "src_img_b64": base64.b64encode(numbered(png, number)).decode(),
                "rationale_short": "颜色。",
                "rationale_short_en": "Colour.",
                "tags": ["outdoor"],
                "difficulty": "hard",
                "original_image_path": f"generated/{number:05d}_{subset}_hard.png",
                "seed": number,
            }
            file.write(("[" if number == 0 else ",\n") + json.dumps(item, ensure_ascii=False))
        file.write("]")


def write_parquet(path: Path, items: int, megabytes: float) -> None:
    """Writes the file one row group at a time, with pictures as the Hub's structs of bytes and path."""
    import pyarrow
    from pyarrow.parquet import ParquetWriter

    png = picture(int(megabytes * 1e6 / items))
    held = pyarrow.struct([("bytes", pyarrow.binary()), ("path", pyarrow.string())])
    schema = pyarrow.schema([("prompt", pyarrow.string()), ("image", held)])
    with ParquetWriter(path, schema) as writer:
        for begin in range(0, items, 100):
            numbers = range(begin, min(begin + 100, items))
            rows = [{"prompt": "Make it red.", "image": {"bytes": numbered(png, n), "path": "a.png"}} for n in numbers]
            writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))


def read(path: Path, cache: Path, items: int) -> dict[str, float]:
    """Reads the benchmark in a fresh process."""
    command = [sys.executable, "-c", READ, str(path), str(cache), str(items)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--items", type=int, default=270)
    parser.add_argument("--megabytes", type=float, default=540, help="size of the benchmark's file")
    parser.add_argument("--parquet", action="store_true", help="Parquet instead of JSON")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, cache = Path(folder) / f"b.{'parquet' if arguments.parquet else 'json'}", Path(folder) / "cache"
        (write_parquet if arguments.parquet else write_benchmark)(path, arguments.items, arguments.megabytes)
        first = read(path, cache, arguments.items)
        second = read(path, cache, arguments.items)
        path.touch()
        touched = read(path, cache, arguments.items)
        figures = {
            "items": arguments.items,
            "file_mb": round(path.stat().st_size / 1e6, 1),
            "first_pass_seconds": round(first["seconds"], 3),
            "first_pass_peak_mb": round(first["peak_mb"], 1),
            "second_start_seconds": round(second["seconds"], 4),
            "second_start_peak_mb": round(second["peak_mb"], 1),
            "touched_pass_seconds": round(touched["seconds"], 3),
            "import_seconds": round(second["import_seconds"], 3),
        }
    if arguments.json:
        print(json.dumps({"figures": figures}))
    else:
        for name, value in figures.items():
            print(f"{name:24} {value}")


if __name__ == "__main__":
    main()
