"""Language models compute attention without cuDNN's kernels.

Where torch prefers cuDNN (2.9 and newer on Hopper and on Blackwell's data centre GPUs, with a new enough cuDNN), two
things speak against it for a model that reads prompts of many lengths and writes answers:

* cuDNN plans anew for each new length, 20 to 400 ms a plan (torch pull request 155958, SGLang pull request 4650), and
  each token of an answer is a new length.
* It is reported to corrupt what Qwen2.5-1.5B and -7B write, in silence, on a B200 (torch issue 193893, open): models
  with fewer than 8 heads of keys, as Qwen3-VL-30B-A3B and the text encoder of Qwen-Image-Edit are. On Hopper nobody
  has reported it, and nobody has ruled it out.

Of a judgement attention over the prompt is a tenth of the arithmetic. Pictures keep torch's own choice: few shapes, as
many heads of keys as of queries.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

DESCRIPTION = "the language model without cuDNN's"


def without_cudnn(language_model: Any) -> None:
    """Has `language_model` compute torch's attention with any kernel but cuDNN's; its other parts are as they were.

    Of other implementations than `sdpa` it changes nothing. Before anything that replaces its `forward`.
    """
    import torch

    backend = torch.nn.attention.SDPBackend
    kernels = [backend.FLASH_ATTENTION, backend.EFFICIENT_ATTENTION, backend.MATH]
    forward = language_model.forward

    @wraps(forward)
    def read(*arguments: Any, **keywords: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(kernels):
            return forward(*arguments, **keywords)

    language_model.forward = read
