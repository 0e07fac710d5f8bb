"""The output of bench/gpu.py: its figures, and its tables with the floor beside each row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Results = Mapping[str, Any]
GIB = 2**30
VARIANTS = {"stock": "stock diffusers", "edit": "edit-eval", "switches": "all switches"}


def figures_of(results: Results) -> dict[str, float]:
    """Returns the measured figures, each for our best variant; those not measured are left out."""
    figures: dict[str, float] = {}
    if ours := [results[name] for name in ("edit", "switches") if name in results]:
        best = min(ours, key=lambda one: float(one["image_50"]))
        figures["seconds_per_image_50_steps"] = best["image_50"]
        figures["over_floor"] = best["image_50"] / results["work"]["image_50_floor"]
        if "stock" in results:
            figures["speedup_over_diffusers"] = results["stock"]["image_50"] / best["image_50"]
        figures["idle_ms_between_images"] = best["idle"]
    ways = results.get("judge", {}).get("ways", {}).values()
    if pairs := [batch["pair"] for batches in ways for batch in batches.values() if "pair" in batch]:
        figures["judge_pairs_per_second"] = 1 / min(pairs)
    if "resident" in results:
        figures["resident_gib"] = results["resident"] / GIB
    unload = results.get("unload", {}).get("editor")
    load = results.get("loads", {}).get("judge", {}).get("seconds")
    if unload is not None and load is not None:
        figures["swap_seconds"] = unload + load
    return {name: round(value, 4) for name, value in figures.items()}


def tables_of(results: Results) -> str:
    """Formats all measurements as Markdown."""
    parts = [_editing(results), _judging(results), _memory(results)]
    lines = [line for part in parts for line in part]
    if results["failed"]:
        lines += ["", "Not measured:"] + [f"* {name}: {reason}" for name, reason in results["failed"].items()]
    lines += ["", *(f"{name}: {value}" for name, value in figures_of(results).items())]
    return "\n".join(lines)


def _editing(results: Results) -> Iterator[str]:
    found = {name: results[name] for name in VARIANTS if name in results}
    if not found:
        return
    work, steps = results["work"], results["settings"]["steps"]
    rate = results["settings"]["tflops"] * 1e12
    yield "| an edit | " + " | ".join(VARIANTS[name] for name in found) + " | floor |"
    yield "|---|" + "---:|" * (len(found) + 1)

    def row(title: str, value: Callable[[Any], float | None], floor: float | None, places: int = 1) -> str:
        cells = ["" if (number := value(one)) is None else f"{number:.{places}f}" for one in found.values()]
        return f"| {title} | {' | '.join(cells)} | {'' if floor is None else f'{floor:.{places}f}'} |"

    forward = work["forward_flops"]
    yield row("a forward, ms", lambda one: one["forward"], 1000 * forward / rate)
    yield row("a forward, TFLOP/s (of the whole one's)", lambda one: forward / one["forward"] * 1e-9, rate / 1e12)
    yield row("the first step of an edit, more than the others, ms", lambda one: one["first_step"], 0)
    yield row(f"an image of {steps} steps, s", lambda one: one["image"], work[f"image_{steps}_floor"], 2)
    yield row("an image of 50 steps, s (extrapolated)", lambda one: one["image_50"], work["image_50_floor"], 2)
    for title, name in (("both prompts", "encode"), ("VAE, encoding", "vae_encode"), ("VAE, decoding", "vae_decode")):
        yield row(f"{title}, ms", lambda one, name=name: one[name], 1000 * work[f"{name}_flops"] / rate)  # type: ignore[misc]
    yield row("before the first network (scaling, processor), ms", lambda one: one["before"], 0)
    yield row("after the last network (post-processing), ms", lambda one: one["after"], 0)
    yield row("between two edits (reading, writing), ms", lambda one: one["between"], 0)
    yield row("GPU idle from image to image, ms", lambda one: one["idle"], 0)
    yield row("memory at the peak, GiB", lambda one: one["peak"] / GIB, None)
    yield row("largest difference from the column before, of 255", lambda one: one.get("difference"), None, 0)
    if results.get("attention"):
        yield ""
        own = f", torch by itself {results['native']}" if results.get("native") else ""
        yield f"Attention in the stock loop, ms a forward (`auto` takes {results.get('auto', 'native')}{own}):"
        for name, ms in results["attention"].items():
            yield f"* {name}: {ms:.1f}" if isinstance(ms, float) else f"* {name}: {ms}"
    if gelu := results.get("gelu"):
        yield ""
        yield f"GELU behind the product: {gelu['behind']:.3f} ms a layer; within it: {gelu['within']:.3f} ms"
    if results.get("switched_on"):
        yield ""
        yield "Switches: " + ", ".join(f"{name}={value}" for name, value in results["switched_on"].items())


def _judging(results: Results) -> Iterator[str]:
    for way, batches in results.get("judge", {}).get("ways", {}).items():
        yield ""
        yield f"The judge: {way}"
        yield ""
        yield from _batches(results, batches)


def _batches(results: Results, batches: Mapping[str, Any]) -> Iterator[str]:
    yield (
        "| pairs at once | s a pair | floor | pairs/s | pictures, ms a pair | prompt, ms a pair "
        "| a step of the answer, ms | floor | GPU idle, ms a pair | allocated at the peak, GiB |"
    )
    yield "|---:|" + "---:|" * 9
    for rows, one in batches.items():
        if "pair" not in one:
            yield f"| {rows} | did not fit: halved to {one['halved_to']} |" + " |" * 8
            continue
        cells = [
            f"{one['pair']:.4f}",
            f"{results['work'][f'pair_{rows}_floor']:.4f}",
            f"{1 / one['pair']:.2f}",
            f"{one['look']:.1f}",
            f"{one['prompt']:.1f}",
            f"{one['answer_step']:.1f}",
            f"{1000 * results['work'][f'step_{rows}_floor']:.1f}",
            f"{one['idle']:.1f}",
            f"{one['peak'] / GIB:.1f}",
        ]
        yield f"| {rows} | {' | '.join(cells)} |"


def _memory(results: Results) -> Iterator[str]:
    rows: list[tuple[str, str]] = []
    if "resident" in results:
        rows.append(("both models resident after their tasks, GiB", f"{results['resident'] / GIB:.1f}"))
    if "together" in results:
        alone = results["switches" if "switches" in results else "edit"]["image"]
        rows.append(("an edit while the judge is at work, s", f"{results['together']['edit']:.2f} (alone {alone:.2f})"))
    names = {"editor": "edit model", "judge_worker": "judge"}
    rows += [(f"unloading the {names[name]}, s", f"{s:.2f}") for name, s in results.get("unload", {}).items()]
    for name, one in results.get("loads", {}).items():
        title = f"loading the {'edit model' if name == 'edit' else 'judge'} ({one['bytes'] / 1e9:.1f} GB), s"
        if one["seconds"] is None:
            rows.append((title, "unknown: the larger folder loaded no slower than the smaller one"))
            continue
        sizes = " and ".join(f"{point['bytes'] / 1e9:.2g}" for point in one["points"][1:])
        how = f"extrapolated from {sizes} GB in the page cache: {one['rate'] / 1e9:.2f} GB/s and {one['fixed']:.1f} s"
        rows.append((title, f"{one['seconds']:.1f} ({how})"))
    if rows:
        yield ""
        yield "| memory | |"
        yield "|---|---:|"
        yield from (f"| {title} | {value} |" for title, value in rows)
