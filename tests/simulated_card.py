"""A second device that is simulated on the processor.

Its tensors say that they lie on `card:0`, and compute on the processor. As tensors of a GPU they
refuse to be mixed with tensors of the processor, except single numbers and indices, and are not
read without being copied. So code that keeps its tensors on one device gives the numbers of the
processor here, and other code fails as it would on a GPU. Kernels are not those of a GPU.

Importing this module adds the device to the process, for good.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils import backend_registration
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing


class _Module(backend_registration._DummyBackendModule):
    """What torch asks a device's module."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        return [torch.bfloat16]


backend_registration._setup_privateuseone_for_python_backend("card", backend_module=_Module())

CARD = torch.device("card", 0)
_OPS = torch.ops.aten
_CROSSING = {_OPS._to_copy.default, _OPS.copy_.default}
"""Operations between devices."""
_INDEXING = {
    _OPS.index.Tensor, _OPS.index_put.default, _OPS.index_put_.default,
    _OPS._index_put_impl_.default, _OPS._unsafe_index.Tensor,
}  # fmt: skip
"""Operations whose indices may lie on the processor."""
_LACKING = {_OPS.histc.default: lambda x_N, *bins: x_N.float().histc(*bins).to(x_N.dtype)}
"""What the processor has no kernel for, for numbers that a GPU has one for."""
_MAKING = {torch.tensor, torch.as_tensor, torch.asarray}
_SETTING_DATA = torch.Tensor.data.__set__  # type: ignore[attr-defined]


class CardTensor(torch.Tensor):
    """A tensor of the simulated device; `held` has its numbers."""

    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> CardTensor:
        made: CardTensor = torch.Tensor._make_wrapper_subclass(
            cls, held.size(), strides=held.stride(), storage_offset=held.storage_offset(),
            dtype=held.dtype, layout=held.layout, device=CARD,
        )  # fmt: skip
        made.held = held
        return made

    def __repr__(self, **given: Any) -> str:
        return f"CardTensor({self.held!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        """It is saved as the tensor of the processor that it is loaded as."""
        return self.held.detach().__reduce_ex__(protocol)

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]


@contextmanager
def simulated_card() -> Iterator[torch.device]:
    """Lets `card:0` be used inside of the block."""
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        with torch.autograd.set_multithreading_enabled(False), _Operations(), _Functions():
            yield CARD
    finally:
        torch.__future__.set_swap_module_params_on_conversion(False)


class _Operations(TorchDispatchMode):
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _run(func, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """What torch does before it dispatches an operation."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.Tensor.tolist and isinstance(args[0], CardTensor):
            return args[0].detach().cpu().tolist()
        if func == _SETTING_DATA and isinstance(args[0], CardTensor):
            if not isinstance(args[1], CardTensor):
                raise RuntimeError("`data` of a tensor of another device")
            args[0].held = args[1].held.detach()
        device = kwargs.get("device")
        if device is not None and torch.device(device) == CARD and func in _MAKING:
            return func(*args, **kwargs | {"device": "cpu"}).to(CARD)
        return func(*args, **kwargs)


def _run(func: Any, args: Any, kwargs: Any) -> Any:
    """Returns what an operation gives, computed on the processor."""
    if func.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd):
        with _Operations():
            return func.decompose(*args, **kwargs)
    tensors = [one for one in pytree.tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
    here = [isinstance(one, CardTensor) for one in tensors]
    if any(here) and not all(here) and func not in _CROSSING:
        _check(func, args, tensors)
    inner = dict(kwargs)
    wanted = kwargs.get("device")
    if wanted is not None:
        inner["device"] = torch.device("cpu")
    kernel = _LACKING.get(func, func)
    out = kernel(*pytree.tree_map(_held, args), **pytree.tree_map(_held, inner))
    if func is _OPS.copy_.default:
        return args[0]
    if not (any(here) if wanted is None else torch.device(wanted) == CARD):
        return out
    if wanted is not None and tensors and not all(here):
        out = out.clone()  # so that the two devices share no memory
    out = pytree.tree_map(_of_card, out)
    return return_and_correct_aliasing(func, args, kwargs, out) if all(here) and here else out


def _check(func: Any, args: Any, tensors: list[torch.Tensor]) -> None:
    """Raises RuntimeError for tensors of the processor that a GPU's operations would not take."""
    free = pytree.tree_leaves(args[1]) if func in _INDEXING else []
    for one in tensors:
        if not (isinstance(one, CardTensor) or one.dim() == 0 or any(one is a for a in free)):
            raise RuntimeError(
                f"{func}: all tensors have to be on one device, and one of shape"
                f" {tuple(one.shape)} is not on the card"
            )


def _held(given: Any) -> Any:
    return given.held if isinstance(given, CardTensor) else given


def _of_card(given: Any) -> Any:
    if not isinstance(given, torch.Tensor) or isinstance(given, CardTensor):
        return given
    with torch.inference_mode(given.is_inference()):  # a view is what it is a view of
        return CardTensor(given)
