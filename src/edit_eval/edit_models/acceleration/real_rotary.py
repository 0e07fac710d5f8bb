"""Rotary positions turned in real numbers, so that torch's compiler can fuse them with what stands around them.

diffusers turns queries and keys as complex numbers, and torch compiles no complex arithmetic: in each compiled block
four multiplications stay by themselves, between copies to 32 bits and back. Counted for 1 megapixel: some 57 GB less
to write and read a forward of Qwen-Image's transformer, 13 ms of some 310; not measured on a GPU. Without the compiler
there is nothing to fuse, and this would only be slower.

The same two sums of two products: equal to the last bit on a CPU; a GPU may join a product and a sum, in 32 bits.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

FUNCTION = "apply_rotary_emb_qwen"
"""diffusers' name of what turns queries or keys by a table of complex numbers."""


def use_real_rotary(transformer: Any) -> bool:
    """Has a Qwen-Image transformer turn queries and keys in real numbers; returns whether this diffusers lets it.

    The table is handed on as pairs of real numbers, (tokens, width / 2, 2), by which the transformer's module then
    knows: other transformers of the process go on with complex ones.
    """
    module = sys.modules[type(transformer).__module__]
    if not hasattr(module, FUNCTION) or not hasattr(transformer, "pos_embed"):
        return False
    stock = getattr(module, FUNCTION)
    if not hasattr(stock, "__wrapped__"):
        setattr(module, FUNCTION, _real_where_real(stock))
    transformer.pos_embed.register_forward_hook(_as_pairs)
    return True


def _as_pairs(module: Any, arguments: Any, tables: Any) -> Any:
    import torch

    # Copies of a few MB: the text's part begins within a longer table, and the compiler would remember where.
    return tuple(torch.view_as_real(table).clone() for table in tables)


def _real_where_real(stock: Any) -> Any:
    @wraps(stock)
    def turn(x: Any, freqs_cis: Any, *arguments: Any, **keywords: Any) -> Any:
        """`x` is (batch, tokens, heads, width)."""
        import torch

        if not isinstance(freqs_cis, torch.Tensor) or freqs_cis.is_complex():
            return stock(x, freqs_cis, *arguments, **keywords)
        cosine, sine = freqs_cis.unsqueeze(1).unbind(-1)
        real, imaginary = x.float().unflatten(-1, (-1, 2)).unbind(-1)
        turned = real * cosine - imaginary * sine, real * sine + imaginary * cosine
        return torch.stack(turned, dim=-1).flatten(-2).type_as(x)

    return turn
