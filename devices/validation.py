"""How does checked data become a typed model, and each misfit a line of the file?

pydantic does the checking; its errors are turned into `FileProblem`s that point at the key or value, in our
words, with the nearest known key. Only loaders import this module: pydantic is slow to import.
"""

import re
from collections.abc import Iterable
from decimal import Decimal
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic_core import ErrorDetails, PydanticCustomError

from devices.problems import FileProblem, FileProblems, did_you_mean
from devices.source import Document, Path

# The type of custom errors whose message is a whole sentence already.
SENTENCE = "sentence"
MAGNITUDE_MAX = Decimal(10) ** 30
SECONDS_MAX = 86_400
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")  # what YAML needs no quotes for


class Strict(BaseModel):
    """A section of a file: no unknown keys, no silent conversions (`"5"` is text, `yes` is not true)."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _number(value: object) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PydanticCustomError("number", "must be a number")
    number = Decimal(value)
    if number.copy_abs() > MAGNITUDE_MAX:
        raise PydanticCustomError("number", "is too large a number")
    return number


def _seconds(value: object) -> float:
    number = _number(value)
    if not 0 <= number <= SECONDS_MAX:
        raise PydanticCustomError("seconds", f"must be 0 to {SECONDS_MAX} seconds")
    return float(number)


def positive(value: object) -> object:
    """Refuse zero before a number is read; for fields where zero would mean "never"."""
    if isinstance(value, int | Decimal) and not value:
        raise PydanticCustomError("positive", "must be more than 0")
    return value


Number = Annotated[Decimal, BeforeValidator(_number)]
Seconds = Annotated[float, BeforeValidator(_seconds)]

Model = TypeVar("Model", bound=BaseModel)

_SAID: dict[str, str] = {
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "bool_type": "must be true or false",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping (key: value)",
    "model_type": "must be a mapping (key: value)",
    "model_attributes_type": "must be a mapping (key: value)",
    "too_short": "must not be empty",
    "string_too_short": "must not be empty",
    "string_too_long": "must not be longer than {max_length} characters",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def validate(document: Document, model: type[Model]) -> Model:
    """Return the document's data as `model`.

    Raises:
        FileProblems: one problem for each misfit, at its place.
    """
    try:
        return model.model_validate(document.data)
    except ValidationError as error:
        problems = [_problem(document, model, each) for each in error.errors(include_url=False)]
    raise FileProblems(problems)


def _problem(document: Document, model: type[BaseModel], error: ErrorDetails) -> FileProblem:
    path = _known_part(document, error["loc"])
    name = str(error["loc"][-1]) if error["loc"] else ""
    if error["type"] == "extra_forbidden":
        known = _keys_at(model, path[:-1])
        hint = _its_section(model, name) or _suggestion(name, known)
        return document.problem(path, f"unknown key '{name}'", hint, key=True)
    if error["type"] == "missing":
        return document.problem(path, f"'{name}' is missing")
    shown = _shown(path)
    value = error["input"]
    if isinstance(value, int | Decimal) and not isinstance(value, bool) and path == error["loc"]:
        value = document.typed.get(path, value)  # 007 and 1.50 are numbers only to us
    quoted = f", not {_quoted(value)}" if isinstance(value, str | int | Decimal | bool | None) else ""
    if error["type"] in ("literal_error", "enum"):
        expected = str(error.get("ctx", {}).get("expected", ""))
        known = expected.replace("'", "").replace(" or ", ", ").split(", ")
        return document.problem(
            path, f"{shown} must be one of {', '.join(known)}{quoted}", did_you_mean(str(value), known)
        )
    if error["type"] == SENTENCE:
        return document.problem(path, error["msg"])
    template = _SAID.get(error["type"])
    said = error["msg"] if template is None else template.format(**error.get("ctx", {}))
    hint = "Put it in quotes" if error["type"] == "string_type" and quoted else None
    if error["type"] in ("list_type", "tuple_type"):
        hint = _as_list(model, path, error["input"])
    if error["type"] == "string_too_short":
        quoted = ""  # there is nothing to show
    return document.problem(path, f"{shown} {said}{quoted}", hint)


def _shown(path: Path) -> str:
    last = path[-1] if path else None
    if last is None:
        return "the file"
    return f"'{last}'" if isinstance(last, str) else f"item {last + 1}"


def _suggestion(name: str, known: Iterable[str]) -> str | None:
    known = list(known)
    if name.endswith(")"):
        return 'Put a type with commas in quotes: "enum(a, b)"'
    return did_you_mean(name, known) or (f"Known keys: {', '.join(known)}" if known else None)


def _its_section(model: type[BaseModel], name: str) -> str | None:
    """Where a key belongs that stands in another section."""
    homes = []
    for key, info in model.model_fields.items():
        section = _unwrapped(info.annotation)
        if isinstance(section, type) and issubclass(section, BaseModel) and name in section.model_fields:
            homes.append(f"'{info.alias or key}:'")
    return f"It belongs under {' or '.join(homes)}" if homes else None


def _as_list(model: type[BaseModel], path: Path, value: object) -> str | None:
    """How the list is written that something else stands for."""
    entry = _at(model, (*path, 0))
    if isinstance(entry, type) and issubclass(entry, BaseModel):
        keys = [info.alias or name for name, info in entry.model_fields.items()]
        given = [key for key in keys if isinstance(value, dict) and key in value]
        return f"Each entry begins with a dash, such as: - {(given or keys)[0]}: ..."
    if not isinstance(value, str):
        return None
    written = value if _PLAIN.fullmatch(value) else "'{}'".format(value.replace("'", "''"))
    return f"Put it in brackets: [{written}]"


def _quoted(value: object) -> str:
    words: dict[object, str] = {None: "empty", True: "true", False: "false"}
    if value is None or isinstance(value, bool):
        return words[value]
    return f"'{str(value)[:60]}'"


def _known_part(document: Document, loc: tuple[int | str, ...]) -> Path:
    """Return the longest beginning of `loc` that stands in the document (pydantic adds parts of its own)."""
    for length in range(len(loc), 0, -1):
        if loc[:length] in document.values:
            return loc[:length]
    return ()


def _keys_at(model: type[BaseModel], path: Path) -> list[str]:
    """Return the keys of the model that stands at `path` below `model`."""
    return [info.alias or name for name, info in _at(model, path).model_fields.items()]


def _at(model: type[BaseModel], path: Path) -> Any:  # noqa: ANN401  # annotations are of any type
    """Return what may stand at `path` below `model`."""
    here: Any = model
    for part in path:
        here = _unwrapped(here)
        if isinstance(here, type) and issubclass(here, BaseModel):
            by_key = {(info.alias or name): info.annotation for name, info in here.model_fields.items()}
            here = by_key.get(str(part))
        else:
            here = get_args(here)[-1 if get_origin(here) is dict else 0]
    return _unwrapped(here)


def _unwrapped(annotation: Any) -> Any:  # noqa: ANN401  # annotations are of any type
    """Return what `X | None` or `Annotated[X, ...]` is about."""
    while get_origin(annotation) in (Union, UnionType, Annotated):
        annotation = next(arg for arg in get_args(annotation) if arg is not type(None))
    return annotation
