"""Precomputes the transformer's modulation as a table with one row per step of a schedule.

A third of Qwen-Image's transformer (6.8 of 20.4 billion parameters, 13.6 GB in bfloat16) only turns the time of a step
into one vector per layer, which is the same for every picture, instruction and negative prompt. Computed once per
schedule, that is a table of 221 MB for 50 steps. Bitwise equal: each row is computed by the same call with the same
shapes. It should save 1.3 % of an edit's time (13.6 GB read from memory for each of 100 passes; counted, not measured
on a GPU), and allows the weights to leave the GPU.

A schedule depends on the number of steps and the picture's size in tokens, so a new shape of picture needs a new table;
the last few are kept.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import lru_cache
from typing import Any

from edit_eval.errors import EditEvalError

MODES = ("live", "table", "table_only")
SCHEDULES = 4
"""Number of tables kept."""


class _Embedding(Exception):
    """Carries a step's time embedding out of a forward pass that is cut short."""

    def __init__(self, value: Any) -> None:
        self.value = value


class ModulationTables:
    """Replaces the modulation of each of a transformer's layers.

    The layers' own weights are taken out of the transformer. With `free`, they move to host memory, and a new schedule
    fetches them layer by layer; otherwise they stay on their device.
    """

    def __init__(self, pipeline: Any, free: bool = False) -> None:
        self._pipeline = pipeline
        self._transformer = pipeline.transformer
        self._rows = [
            _replace(block, name, free)
            for block in list(self._transformer.transformer_blocks.modules())
            if hasattr(block, "img_mod")
            for name in ("img_mod", "txt_mod")
        ]
        self._tables: OrderedDict[tuple[float, ...], list[Any]] = OrderedDict()
        self._schedule: Any = None
        self._table: list[Any] = []
        self.built = 0
        """Number of tables computed."""
        self._transformer.register_forward_pre_hook(self._before, with_kwargs=True)

    @property
    def bytes(self) -> int:
        """Bytes of the weights taken out of the transformer."""
        return sum(p.numel() * p.element_size() for row in self._rows for p in row.weights())

    def _before(self, transformer: Any, arguments: Any, keywords: dict[str, Any]) -> None:
        scheduler = self._pipeline.scheduler
        step = scheduler.step_index if scheduler.step_index is not None else scheduler.begin_index or 0
        if scheduler.timesteps is not self._schedule:  # a new edit; reading the times waits for the device
            times = tuple(scheduler.timesteps.tolist())
            if times not in self._tables:
                self._tables[times] = self._build(scheduler.timesteps, step, keywords)
                while len(self._tables) > SCHEDULES:
                    self._tables.popitem(last=False)
            self._tables.move_to_end(times)
            self._schedule, self._table = scheduler.timesteps, self._tables[times]
        for row, table in zip(self._rows, self._table, strict=True):
            row.current = table[step]

    def _build(self, timesteps: Any, step: int, keywords: dict[str, Any]) -> list[Any]:
        import torch

        given = keywords["timestep"]
        # As the pipelines pass them.
        times = [(time.expand(given.shape[0]).to(given.dtype) / 1000).to(given.device) for time in timesteps]
        if not torch.equal(times[step], given):
            raise EditEvalError(
                "modulation: this version of diffusers gives the transformer different times from its schedule; "
                "set modulation to live"
            )
        embeddings = self._embeddings(times, keywords)
        self.built += 1
        return [row.table(embeddings) for row in self._rows]

    def _embeddings(self, times: list[Any], keywords: dict[str, Any]) -> list[Any]:
        """Returns each step's time embedding, from forward passes of the transformer cut short after it."""

        def leave(module: Any, arguments: Any, embedding: Any) -> None:
            raise _Embedding(embedding)

        hook = self._transformer.time_text_embed.register_forward_hook(leave)
        embeddings = []
        try:
            for time in times:
                try:
                    self._transformer.forward(**{**keywords, "timestep": time})
                except _Embedding as reached:
                    embeddings.append(reached.value)
        finally:
            hook.remove()
        return embeddings


@lru_cache(maxsize=1)  # one class only, since blocks with layers of different classes are compiled separately
def _row_class() -> Any:
    import torch

    class Row(torch.nn.Module):
        """Returns a layer's modulation at the current step. `current` is set from outside; compiled blocks read it."""

        def __init__(self, layer: Any, first_half: bool) -> None:
            super().__init__()
            self.hidden = (layer,)  # in a tuple, so that it is not a submodule
            self.home = next(layer.parameters()).device
            self.first_half = first_half
            self.current: Any = None

        def weights(self) -> list[Any]:
            return list(self.hidden[0].parameters())

        def table(self, embeddings: list[Any]) -> Any:
            """(steps, batch, 6 x width), each step computed alone, as the layer would."""
            layer = self.hidden[0]
            device = embeddings[0].device if self.home.type == "cpu" else self.home
            weights = {key: value.to(device) for key, value in layer.named_parameters()}
            rows = []
            for embedding in embeddings:
                half = torch.chunk(embedding, 2, dim=0)[0] if self.first_half else embedding
                rows.append(torch.func.functional_call(layer, weights, (half.to(device),)))
            return torch.stack(rows)

        def forward(self, embedding: Any) -> Any:
            return self.current

    return Row


def _replace(block: Any, name: str, free: bool) -> Any:
    """Replaces the block's layer `name` by a row."""
    # With `zero_cond_t`, the time is given twice, and only the first half modulates the text.
    row = _row_class()(getattr(block, name), name == "txt_mod" and bool(getattr(block, "zero_cond_t", False)))
    if free:
        row.hidden[0].to("cpu")
    setattr(block, name, row)
    return row


def use_modulation_tables(pipeline: Any, mode: str) -> ModulationTables | None:
    """Has a Qwen-Image pipeline's transformer look its modulation up; None for `live`.

    `table_only` moves the weights behind the tables to host memory: 13.6 GB of a GPU become free for 13.6 GB of the
    host, and each new shape of picture copies them once through the GPU, layer by layer.
    """
    import torch

    if mode == "live":
        return None
    tables = ModulationTables(pipeline, free=mode == "table_only")
    if mode == "table_only" and torch.cuda.is_available():
        torch.cuda.empty_cache()  # so that a judge beside it can have the memory
    return tables
