"""In which ways is something damaged on its way to us? Strategies of hypothesis for bytes, lines and trees."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from hypothesis import strategies as st

Edit = tuple[str, int, bytes]
"""What to do (`insert`, `lose`, `replace`), where as a number that is taken modulo the length, and bytes for it."""

edits: st.SearchStrategy[list[Edit]] = st.lists(
    st.tuples(
        st.sampled_from(("insert", "lose", "replace")),
        st.integers(0, 10_000),
        st.binary(min_size=1, max_size=6),
    ),
    min_size=1,
    max_size=5,
)
places = st.lists(st.integers(0, 10_000), max_size=8)


def damaged(data: bytes, how: Sequence[Edit]) -> bytes:
    """The bytes after all edits, one after the other."""
    for what, at, junk in how:
        at %= len(data) + 1
        gone = 0 if what == "insert" else len(junk)
        data = data[:at] + (b"" if what == "lose" else junk) + data[at + gone :]
    return data


def pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    """The bytes in the pieces in which they arrive."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


# --- trees of values, as YAML files have them -------------------------------------------------------------------------

HOSTILE: Sequence[object] = (
    None, "", " ", "\t", "x", "null", "~", "[", "{a", "\x1b[31m", "é" * 300, 0, -1, 1, 10**30, 0.1, True, False, [], {},
    [[]], [None], {"x": None}, "tcp://", "serial:", "(" * 50, "^(a+)+$", "before + ", "clamp(before, 1)", "1 // 0",
    "{value:>99999999}", "{value!r}", "{nobody}", "GET offset", "get-verify", "resend", "line", "lsq", "modbus", "*",
    ":",
)  # fmt: skip
"""Values that somebody could write, and nobody should."""

Turn = tuple[int, int, int]
turns: st.SearchStrategy[list[Turn]] = st.lists(
    st.tuples(st.integers(0, 10_000), st.integers(0, 4), st.integers(0, 10_000)), min_size=1, max_size=4
)


def turned(tree: object, how: Sequence[Turn]) -> object:
    """The tree with some of its parts changed: (which part, what happens to it, which value or part for it)."""
    for which, what, other in how:
        spots = list(_spots(tree))
        if not spots:
            return _copy(HOSTILE[other % len(HOSTILE)])
        spots_at = spots[which % len(spots)]
        _TURNS[what](*spots_at, spots[other % len(spots)], _copy(HOSTILE[other % len(HOSTILE)]))
    return tree


def _spots(tree: object) -> list[tuple[Any, Any]]:
    """Every part of the tree as its container and its key."""
    if isinstance(tree, dict | list):
        keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
        return [spot for key in keys for spot in ((tree, key), *_spots(tree[key]))]
    return []


def _lose(holder: Any, key: Any, _: tuple[Any, Any], __: object) -> None:
    del holder[key]


def _replace(holder: Any, key: Any, _: tuple[Any, Any], value: object) -> None:
    holder[key] = value


def _borrow(holder: Any, key: Any, other: tuple[Any, Any], _: object) -> None:
    holder[key] = _copy(other[0][other[1]])


def _add(holder: Any, key: Any, other: tuple[Any, Any], value: object) -> None:
    if isinstance(holder, dict):
        holder[str(other[1])] = value
    else:
        holder.append(_copy(holder[key]))


def _rename(holder: Any, key: Any, other: tuple[Any, Any], _: object) -> None:
    if isinstance(holder, dict):
        holder[str(other[1])] = holder.pop(key)
    else:
        holder.insert(0, holder.pop(key))


_TURNS: Sequence[Callable[[Any, Any, tuple[Any, Any], object], None]] = (
    _lose,
    _replace,
    _borrow,
    _add,
    _rename,
)


def _copy(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _copy(value) for key, value in tree.items()}
    return [_copy(value) for value in tree] if isinstance(tree, list) else tree
