"""How is the product run with one rule broken? The text of one of its modules is replaced while it is imported.

Only in a process of its own, before anything of the product is imported. Nothing on the disk changes.
"""

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType


class _BrokenLoader(SourceFileLoader):
    """Loads a module whose text is another one; never from a cache."""

    def __init__(self, name: str, path: str, old: str, new: str) -> None:
        super().__init__(name, path)
        self._old = old
        self._new = new

    def get_code(self, fullname: str) -> CodeType:
        """The code of the broken text."""
        path = self.get_filename(fullname)
        return compile(broken(self.get_data(path).decode(), self._old, self._new, fullname), path, "exec")


class Breaker(MetaPathFinder):
    """Finds one module, with a text in which `old` stands as `new`."""

    def __init__(self, module: str, old: str, new: str) -> None:
        """Raises ValueError where the module is there already."""
        if module in sys.modules:
            raise ValueError(f"{module} is imported already")
        self._module = module
        self._change = old, new

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of the broken module, None for all others."""
        if fullname != self._module:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.origin is None:
            raise ImportError(f"{fullname} is not there")
        loader = _BrokenLoader(fullname, spec.origin, *self._change)
        return importlib.util.spec_from_file_location(fullname, spec.origin, loader=loader)


def broken(text: str, old: str, new: str, module: str) -> str:
    """The text with one place changed. Raises ValueError unless the old one stands there exactly once."""
    if text.count(old) != 1:
        raise ValueError(
            f"{module}: {old!r} stands there {text.count(old)} times; the row must change with the source"
        )
    return text.replace(old, new)
