"""Configurations from plain dictionaries, as JSON files hold them."""

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from anima.errors import BadInput

C = TypeVar("C")


def from_dict(kind: type[C], values: Mapping[str, Any], where: str = "config") -> C:
    """A frozen dataclass, nested ones included; absent keys keep their defaults, unknown ones are errors."""
    generic = typing.get_origin(kind) or kind
    chosen = dict(zip(getattr(generic, "__parameters__", ()), typing.get_args(kind), strict=False))
    hints = {k: chosen.get(v, v) for k, v in typing.get_type_hints(generic).items()}
    unknown = sorted(set(values) - set(hints))
    if unknown:
        raise BadInput(f"{where}: unknown key {unknown[0]!r}; known are {', '.join(hints)}")
    return kind(**{k: _checked(hints[k], v, f"{where}.{k}") for k, v in values.items()})


def _checked(hint: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, Mapping):
            raise BadInput(f"{where}: expected an object with the keys of {hint}, not {value!r}")
        return from_dict(typing.cast(type, hint), value, where)
    if typing.get_origin(hint) is typing.Literal:
        fits = value in typing.get_args(hint)
    elif hint is float:
        fits = isinstance(value, (int, float)) and not isinstance(value, bool)
    else:
        fits = type(value) is hint
    if not fits:
        wanted = hint.__name__ if isinstance(hint, type) else " or ".join(map(repr, typing.get_args(hint)))
        raise BadInput(f"{where}: expected {wanted}, not {value!r}")
    return value
