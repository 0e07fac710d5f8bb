"""Computes rotary positions in real numbers, so that torch's compiler can fuse them with neighbouring operations.

diffusers rotates queries and keys as complex numbers, and torch does not compile complex arithmetic: each compiled
block keeps four separate multiplications, between copies to 32 bits and back. Without the compiler there is nothing to
fuse, and this would only be slower.

The form matters: each number is the sum of two products, of itself and of its neighbour, by tables of the full width.
For an H200, torch 2.11's compiler then normalises, rotates and concatenates queries and keys in one pass, straight into
the memory that attention reads. If pairs were stacked instead, it would write them in 32 bits and concatenate them in
separate passes: 466 MB a layer of Qwen-Image at 1 megapixel, 6.5 ms of some 285 a forward at 4.3 TB/s. Complex numbers
cost twice that. Counted, not measured on a GPU.

The products and sums are the same: bitwise equal on a CPU; a GPU may fuse a product and a sum, in 32 bits.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

FUNCTION = "apply_rotary_emb_qwen"
"""diffusers' function that rotates queries or keys by a table of complex numbers."""


def use_real_rotary(transformer: Any) -> bool:
    """Makes a Qwen-Image transformer rotate queries and keys in real numbers; False if diffusers does not allow it.

    The table is passed on in real numbers, (tokens, 2, width): cosines, and signed sines. The patched function
    recognises it by that; other transformers in the process keep complex tables.
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
    """Converts (tokens, width / 2) complex numbers to (tokens, 2, width) real ones.

    Makes a copy, of a few MB: the text's part is a slice of a longer table, and the compiler would specialise on its
    offset.
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
