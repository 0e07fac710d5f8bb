"""Rotary positions turned in real numbers, so that torch's compiler can fuse them with what stands around them.

diffusers turns queries and keys as complex numbers, and torch compiles no complex arithmetic: in each compiled block
four multiplications stay by themselves, between copies to 32 bits and back. Without the compiler there is nothing to
fuse, and this would only be slower.

How it is written matters: each number is one product and another one with its neighbour, by tables of the full width.
torch 2.11's compiler, asked for its schedule for an H200, then norms, turns and joins queries and keys in one pass,
straight into the place where attention reads them. Pairs that are stacked again have it write them in 32 bits and
join them in passes of their own: 466 MB a layer of Qwen-Image at 1 megapixel, 6.5 ms of some 285 a forward at 4.3
TB/s. Complex numbers cost twice that. Counted, not measured on a GPU.

The same two products and their sum: equal to the last bit on a CPU; a GPU may join a product and a sum, in 32 bits.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

FUNCTION = "apply_rotary_emb_qwen"
"""diffusers' name of what turns queries or keys by a table of complex numbers."""


def use_real_rotary(transformer: Any) -> bool:
    """Has a Qwen-Image transformer turn queries and keys in real numbers; returns whether this diffusers lets it.

    The table is handed on in real numbers, (tokens, 2, width): cosines, and sines with their signs. By that the
    transformer's module knows: other transformers of the process go on with complex ones.
    """
    module = sys.modules[type(transformer).__module__]
    if not hasattr(module, FUNCTION) or not hasattr(transformer, "pos_embed"):
        return False
    stock = getattr(module, FUNCTION)
    if not hasattr(stock, "__wrapped__"):
        setattr(module, FUNCTION, _real_where_real(stock))
    transformer.pos_embed.register_forward_hook(_in_real_numbers)
    return True


def _in_real_numbers(module: Any, arguments: Any, tables: Any) -> Any:
    return tuple(_real(table) for table in tables)


def _real(table: Any) -> Any:
    """(tokens, width / 2) complex numbers as (tokens, 2, width) real ones.

    A copy, of a few MB: the text's part begins within a longer table, and the compiler would remember where.
    """
    import torch

    cosines = torch.stack((table.real, table.real), dim=-1).flatten(1)
    sines = torch.stack((-table.imag, table.imag), dim=-1).flatten(1)
    return torch.stack((cosines, sines), dim=1)


def _real_where_real(stock: Any) -> Any:
    @wraps(stock)
    def turn(x: Any, freqs_cis: Any, *arguments: Any, **keywords: Any) -> Any:
        """`x` is (batch, tokens, heads, width)."""
        import torch

        if not isinstance(freqs_cis, torch.Tensor) or freqs_cis.is_complex():
            return stock(x, freqs_cis, *arguments, **keywords)
        cosines, sines = freqs_cis.unsqueeze(2).unbind(1)
        exact = x.float()
        neighbours = exact.unflatten(-1, (-1, 2)).flip(-1).flatten(-2)
        return (exact * cosines + neighbours * sines).type_as(x)

    return turn
