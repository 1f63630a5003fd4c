"""Converts the options of a loader from the user's form to the engine's. InvalidArgument names the
option and its valid values.
"""

from __future__ import annotations

import functools
import operator
import os
import threading
from collections.abc import Iterable, Mapping

from . import _core
from ._numpy import np
from ._typing import TYPE_CHECKING, Any
from ._user_exceptions import encodable
from .errors import Error, InvalidArgument

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ._pinned import PinnedMemory
    from ._user_pipelines import UserPipeline
    from .pipeline import Pipeline


def _integer(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise InvalidArgument(f"{name} is {value!r}; it must be an integer") from None


def _seed(seed: Any) -> int:
    number = _integer("seed", seed)
    if not 0 <= number < 2**64:
        raise InvalidArgument(f"seed is {number}; it must lie between 0 and 2**64 - 1")
    return number


def _peers(peers: Any, mesh: Any = None) -> dict[str, Any]:
    """Returns the engine's options for the hosts of the job."""
    ways = 'a list of "host:port", one for each rank, "file:///FOLDER", or "launcher"'
    if isinstance(peers, str) and peers == "launcher":
        return {"peers": [], "token": "", "generation": None, "meet": _meet if mesh is None else functools.partial(_meet, mesh=mesh)}
    if isinstance(peers, str) and "://" not in peers:
        raise InvalidArgument(f"peers is {peers!r}; it is {ways}")
    if peers is not None and not isinstance(peers, Iterable):
        raise InvalidArgument(f"peers is {peers!r}; it is {ways}")
    given = [peers] if isinstance(peers, str) else list(peers or ())
    for address in given:
        if not isinstance(address, str):
            raise InvalidArgument(f"peers has {address!r}; it is {ways}")
    return {"peers": given, "token": "", "generation": None, "meet": None}


def _share(
    share: Any, together: Any, pipeline: Pipeline, output: str, threads: int | None
) -> tuple[dict[str, Any], UserPipeline | None]:
    """Returns the engine's options for the server that makes the batches, and how to start it; and
    the pipeline in the server's form if it has functions, which must live as long as the loader.
    """
    if isinstance(together, bool):
        number = int(together)
    else:
        number = _integer("together", together)
        if not 0 <= number <= 4096:
            raise InvalidArgument(f"together is {together!r}; it is True, False, or how many loaders there will be")
    if share is None:
        if number:
            raise InvalidArgument("together= is for loaders that share an engine: give share=\"auto\", too")
        return {"share": None, "together": 0, "program": [], "code": None}, None
    if not isinstance(share, (str, os.PathLike)) or not os.fspath(share):
        raise InvalidArgument(f'share is {share!r}; it is "auto", the name or the socket of a server, or None')
    if not pipeline._functions:
        return {"share": os.fspath(share), "together": number, "program": _program(), "code": None}, None
    if share != "auto":
        names = ", ".join(str(getattr(function, "name", function)) for function in pipeline._functions.values())
        raise InvalidArgument(
            f"share={os.fspath(share)!r}: that server is a program without Python, and this pipeline has functions of yours, {names}; "
            'use share="auto", which starts a server that runs them, or share=None'
        )
    from ._user_pipelines import UserPipeline

    portable = UserPipeline(pipeline, output, threads)
    return {"share": portable.server, "together": number, "program": portable.program, "code": portable.core}, portable


def _program() -> list[str]:
    """Returns the command that starts a server: the program `forebay` installed with this package,
    or the one on PATH.
    """
    import sysconfig

    beside = os.path.join(sysconfig.get_path("scripts"), "forebay")
    if given := os.environ.get("FOREBAY_PROGRAM"):
        return [given]
    return [beside if os.access(beside, os.X_OK) else "forebay"]


def _meet(card: str, rank: int, world_size: int, mesh: Any = None) -> tuple[list[str], str, str]:
    """Meets the other ranks on a Python thread, which may outlive the interpreter's end after
    Ctrl-C. The engine thread that asks waits for the answer.
    """
    import queue

    from . import _rendezvous

    def meet() -> None:
        try:
            if mesh is None:
                cards = _rendezvous.meet(card, rank, world_size)
            else:
                cards = _rendezvous.meet_in_mesh(mesh, card, rank)
            answers.put((cards, "", ""))
        except Error as error:
            answers.put(([], type(error).__name__, str(error)))
        except BaseException as error:  # the waiting thread must get every error
            answers.put(([], "Unavailable", f"{type(error).__name__}: {error}"))

    answers: queue.SimpleQueue[tuple[list[str], str, str]] = queue.SimpleQueue()
    threading.Thread(target=meet, name="forebay meets", daemon=True).start()
    return answers.get()


def _count(name: str, value: Any, least: int = 0) -> int | None:
    if value is None:
        return None
    number = _integer(name, value)
    if not least <= number < 2**31:
        raise InvalidArgument(f"{name} is {number}; it must lie between {least} and 2**31 - 1")
    return number


def _count_or_auto(name: str, value: Any) -> int | None:
    if isinstance(value, str) and value != "auto":
        raise InvalidArgument(f"{name} is {value!r}; it must be a number or 'auto'")
    return None if value == "auto" else _count(name, value, least=1)


def _on_error(value: Any) -> str:
    if not isinstance(value, str) or value not in ("raise", "skip", "replace"):
        raise InvalidArgument(f"on_error is {value!r}; it can be 'raise', 'skip' or 'replace'")
    return value


def _shard_by(value: Any) -> str:
    if not isinstance(value, str) or value not in ("auto", "count", "locality"):
        raise InvalidArgument(f"shard_by is {value!r}; it can be 'auto', 'count' or 'locality'")
    return value


def _max_errors(value: Any) -> int | float | None:
    value = value.item() if getattr(value, "shape", None) == () else value  # NumPy scalars
    if value is None:
        return None
    count = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if not count and not (isinstance(value, float) and 0 <= value <= 1):
        raise InvalidArgument(f"max_errors is {value!r}; it must be a count (an integer) or a share (a float, 0.0 to 1.0)")
    return min(value, 2**63 - 1)


def _bytes(name: str, value: Any) -> int:
    if isinstance(value, str):
        number = _core.parse_bytes(encodable(value))
        if number is None:
            raise InvalidArgument(f"{name} is {value!r}; it must be a number of bytes, or text such as '512MB' or '2GiB'")
        return number
    number = _integer(name, value)
    if not 0 <= number < 2**63:
        raise InvalidArgument(f"{name} is {number}; it must be a number of bytes from 0 to 2**63 - 1, or text such as '2GiB'")
    return number


def _option(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain_options(options: Mapping[str, Any] | None) -> dict[str, str]:
    return {str(key): _option(value) for key, value in (options or {}).items()}


def _json(state: Mapping[str, Any]) -> str:
    import json

    if not isinstance(state, Mapping):
        raise TypeError(f"a state is the dict that state_dict() gives, not {type(state).__name__}; of a file: json.load(file)")
    return json.dumps(dict(state))


def _parts_changed(parts: str | None) -> bool:
    if parts not in (None, "changed"):
        raise InvalidArgument(f"parts={parts!r}: give 'changed', to go on with other parts or weights, or leave it out")
    return parts is not None


def _weights_by_path(weights: Mapping[str, Any], path: str = "") -> dict[str, float]:
    """{"web": {"en": 3}, "code": 1} as {"web/en": 3.0, "code": 1.0}."""
    if not isinstance(weights, Mapping):
        raise TypeError(f"set_weights(): weights are a dict from names of parts to numbers, not {type(weights).__name__}")
    plain: dict[str, float] = {}
    for name, weight in weights.items():
        if not isinstance(name, str):
            raise TypeError(f"set_weights(): names of parts are text; got {name!r} of type {type(name).__name__}")
        if isinstance(weight, Mapping):
            plain.update(_weights_by_path(weight, f"{path}{name}/"))
        elif isinstance(weight, (int, float, np.number)) and not isinstance(weight, bool):
            plain[path + name] = float(weight)
        else:
            raise TypeError(f"set_weights(): that of '{path}{name}' is {weight!r}; give a number from 0 on")
    return plain


def _sample_weights(weights: Any) -> NDArray[np.float64]:
    """Returns the weights of samples as one array of float64."""
    if hasattr(weights, "detach"):  # a tensor of PyTorch, on any device and of any type
        weights = weights.detach().cpu().double().numpy()
    try:
        plain = np.asarray(weights)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"set_sampling(): weights are numbers, one for each sample: {error}") from None
    if plain.dtype.kind not in "iuf" or plain.ndim != 1:
        raise TypeError(
            f"set_sampling(): weights are a list or an array of numbers, one for each sample, not {type(weights).__name__} "
            f"of shape {plain.shape} and type {plain.dtype}")
    return np.ascontiguousarray(plain, np.float64)


def _version(version: Any) -> str:
    if isinstance(version, bool) or not (version is None or isinstance(version, (str, int, np.integer))):
        raise TypeError(f"set_sampling(): version is {version!r}; give a text or a number, such as the step")
    return "" if version is None else str(version)


def _pinned(pin_memory: bool, output: str) -> PinnedMemory | None:
    """Returns the memory of batches that PyTorch pins; None without `pin_memory` or an accelerator."""
    if not pin_memory:
        return None
    if output != "torch":
        raise InvalidArgument(f"pin_memory=True is for tensors of PyTorch, and output is {output!r}: give output='torch'")
    _converter(output)
    from ._pinned import PinnedMemory

    return PinnedMemory.of_accelerator()


def _converter(output: str) -> Any:
    if output == "numpy":
        return None
    if output == "torch":
        try:
            import torch
        except ImportError as error:
            raise InvalidArgument("output='torch' needs PyTorch: pip install torch") from error
        return torch.from_dlpack
    if output == "jax":
        try:
            from .jax import array_of
        except ImportError as error:
            raise InvalidArgument("output='jax' needs JAX: pip install jax") from error
        return array_of
    raise InvalidArgument(f"output is {output!r}; it can be 'numpy', 'torch' or 'jax'")
