from __future__ import annotations

import pytest

from edit_eval.errors import ConfigurationError, LoadError
from edit_eval.pretrained.loading import (
    check_call,
    check_complete,
    check_value,
    device_map,
    library_versions,
    load_errors,
    runs_on_cpu,
)


def test_device_map() -> None:
    assert device_map(["cpu"]) == device_map(["cpu:3"]) == {"": "cpu"}
    assert device_map(["cuda:0"]) == {"": "cuda:0"}
    assert device_map(["cuda:0", "cuda:1"]) == "balanced"
    assert runs_on_cpu(["cpu:1"])
    assert not runs_on_cpu(["cuda:0"])


def test_parameters_are_checked_without_torch() -> None:
    check_value("dtype", "bfloat16")
    with pytest.raises(ValueError, match="'bf16' is none of bfloat16, float16, float32"):
        check_value("dtype", "bf16")
    check_call({"height": 3}, ("image",))
    with pytest.raises(ValueError, match="call: image cannot be given there"):
        check_call({"image": 3}, ("image",))


def test_other_errors_become_one_line() -> None:
    with pytest.raises(LoadError, match=r"^a/model cannot be loaded: ValueError: two lines$"), load_errors("a/model"):
        raise ValueError("two\n   lines")


def test_a_missing_package_passes_as_it_is() -> None:
    with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"), load_errors("a/model"):
        import nothing_of_this_name  # type: ignore[import-not-found]  # noqa: F401


def test_our_own_errors_pass() -> None:
    with pytest.raises(ConfigurationError, match=r"^as it is$"), load_errors("a/model"):
        raise ConfigurationError("as it is")


def test_want_of_memory_passes_as_it_is() -> None:
    torch = pytest.importorskip("torch")
    for error in (
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("CUDA error: out of memory"),
        MemoryError(),
    ):
        with pytest.raises(type(error)) as caught, load_errors("a/model"):
            raise error
        assert caught.value is error


def test_a_torchvision_that_does_not_fit_is_named() -> None:
    vague = ModuleNotFoundError("Could not import module 'Some'.")
    vague.__cause__ = RuntimeError("operator torchvision::nms does not exist")
    with pytest.raises(LoadError, match=r"does not match torch .*uninstall it"), load_errors("a/model"):
        raise vague


def test_missing_and_misshapen_weights_are_named() -> None:
    check_complete({"missing_keys": [], "mismatched_keys": [], "unexpected_keys": ["more"]}, "part")
    with pytest.raises(LoadError, match=r"4 weights are missing from the files of part \(a, b, c and 1 more\)"):
        check_complete({"missing_keys": {"d", "b", "c", "a"}}, "part")
    with pytest.raises(LoadError, match="1 weights have another shape"):
        check_complete({"missing_keys": [], "mismatched_keys": [("a", (1,), (2,))]}, "part")


def test_versions_of_what_is_installed() -> None:
    versions = library_versions("pillow", "nothing-of-this-name")
    assert list(versions) == ["pillow"]
