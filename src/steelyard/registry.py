"""Named components that are imported on first use. Built-ins and installed plug-ins use the same registry."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from steelyard.config import Settings
from steelyard.errors import MissingPart, UnknownName

if TYPE_CHECKING:
    from importlib import metadata

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., object])


class Registry(Generic[T]):
    """Components by name: built-ins as `module:attribute` strings, plug-ins from an entry-point group.

    >>> types: Registry[type] = Registry("number type", "steelyard.example", {"fraction": "fractions:Fraction"})
    >>> types.get("fraction").__name__, "fraction" in types
    ('Fraction', True)
    """

    def __init__(self, kind: str, entry_point_group: str, builtins: Mapping[str, str]) -> None:
        self.kind = kind
        self.group = entry_point_group
        self._builtins = dict(builtins)
        self._plugins: dict[str, metadata.EntryPoint] | None = None
        self._loaded: dict[str, T] = {}

    def get(self, name: str) -> T:
        """Return the component of that name, importing its module. A built-in wins over a plug-in of the same name."""
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def add(self, name: str, component: T) -> None:
        """Add a component of this process, such as a function that was passed as a metric."""
        self._builtins.setdefault(name, "")
        self._loaded[name] = component

    def _load(self, name: str) -> T:
        if name in self._builtins:
            module, _, attribute = self._builtins[name].partition(":")
            return cast(T, getattr(importlib.import_module(module), attribute))
        entry_point = self.plugins.get(name)
        if entry_point is None:
            raise UnknownName(self.kind, name, self, hint=f"known: {', '.join(self)}")
        try:
            return cast(T, entry_point.load())
        except Exception as error:  # a plug-in may fail in any way; the error names its package
            package = entry_point.dist.name if entry_point.dist else "unknown"
            raise MissingPart(
                f"the {self.kind} {name!r} of the plug-in package {package!r} cannot be imported: "
                f"{type(error).__name__}: {error}",
                hint=f"reinstall or remove {package}",
            ) from error

    @property
    def plugins(self) -> dict[str, metadata.EntryPoint]:
        """Return the entry points of installed packages, read once."""
        if self._plugins is None:
            from importlib import metadata

            self._plugins = {point.name: point for point in metadata.entry_points(group=self.group)}
        return self._plugins

    def origin(self, name: str) -> str:
        """Return the package that provides the component: `steelyard` or the name of a plug-in package."""
        point = self.plugins.get(name)
        if name in self._builtins or point is None:
            return "steelyard"
        return point.dist.name if point.dist else "plug-in"

    def __contains__(self, name: object) -> bool:
        return name in self._builtins or name in self.plugins

    def __iter__(self) -> Iterator[str]:
        return iter([*self._builtins, *(name for name in self.plugins if name not in self._builtins)])


def with_settings(factory: F, settings: Settings) -> F:
    """Bind the settings of the evaluation to a factory that takes them; a plug-in's factory may do without."""
    if "settings" not in inspect.signature(factory).parameters:
        return factory
    return cast(F, partial(factory, settings=settings))
