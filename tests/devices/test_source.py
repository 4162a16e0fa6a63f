"""Reading YAML: plain data with places, and a clear problem for every hostile file."""

from decimal import Decimal
from pathlib import Path

import pytest

from devices.problems import FileProblems
from devices.source import BYTES_MAX, peek, read
from tests.devices.files import write

QUOTES = "A text with a colon, comma or bracket in it needs quotes, and each bracket its partner"
INDENTED = (
    "not YAML: the indentation of this line fits no list or table above. "
    "The entries of a list begin in one column, and so do the keys of a table"
)
COLON = (
    "not YAML: a second key, or a colon inside a text. A key stands in the column of the keys beside it, "
    "with a blank behind each colon; a text with ': ' in it needs quotes"
)


def refusal(path: Path) -> str:
    """Read a file that must be refused; return its problems without the path."""
    with pytest.raises(FileProblems) as caught:
        read(path)
    return str(caught.value).replace(f"{path}:", "")


def test_values_of_yaml_1_2(tmp_path: Path) -> None:
    """Only true and false are bool, times and dates stay text, numbers with a point are exact decimals."""
    text = (
        "a: on\nb: 22:00\nc: 010\nd: 0.1\ne: 0x1F\nf: true\ng: ~\nh: '5'\ni: 2026-11-29\nj: !!str 5\nk: 1e3\n"
        "l: [1, x]\n"
        "7: seven\nnull: n\nm: &x {y: 1}\nn: *x\no: 1_000\n"
    )
    assert read(write(tmp_path, text)).data == {
        "a": "on",
        "b": "22:00",
        "c": 10,
        "d": Decimal("0.1"),
        "e": 31,
        "f": True,
        "g": None,
        "h": "5",
        "i": "2026-11-29",
        "j": "5",
        "k": Decimal(1000),
        "l": [1, "x"],
        "7": "seven",
        "null": "n",
        "m": {"y": 1},
        "n": {"y": 1},
        "o": "1_000",
    }


def test_an_old_version_directive_changes_nothing(tmp_path: Path) -> None:
    """Even under %YAML 1.1 `on` is text and not true."""
    assert read(write(tmp_path, "%YAML 1.1\n---\na: on\nb: 22:00\n")).data == {"a": "on", "b": "22:00"}


def test_places_count_from_one(tmp_path: Path) -> None:
    """Keys and values know line and column; what is not there stands where its nearest part does."""
    document = read(write(tmp_path, "a:\n  b: [1, two]\n"))
    assert document.place(("a", "b", 1)) == (2, 10)
    assert document.place(("a", "b"), key=True) == (2, 3)
    assert document.place(("a", "b"), key=False) == (2, 6)
    assert document.place(("a", "missing")) == (2, 3)
    assert document.place(("z",)) == (1, 1)


def test_a_byte_order_mark_does_not_count(tmp_path: Path) -> None:
    """A file saved on Windows reads like any other."""
    path = tmp_path / "p.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert read(path).data == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", " the file is empty."),
        ("# only a comment\n", " the file is empty."),
        ("a: 1\nb: 2\na: 3\n", "3:1: 'a' is given twice, first in line 1."),
        ("a: {b: 1, b: 2}\n", "1:11: 'b' is given twice, first in line 1."),
        ("a: .nan\nb: -.inf\n", "1:4: '.nan' is not a finite number.\n2:4: '-.inf' is not a finite number."),
        ("a: [1\nb: 2\n", f"2:2: not YAML: expected ',' or ']', but got ':'. {QUOTES}"),
        ("a: {b: 1}}\n", f"1:10: not YAML: '}}' does not belong here. {QUOTES}"),
        ("a:\n  - b: 1\n   c: 2\n", f"3:4: {INDENTED}"),
        ("a:\n    b: 1\n  c: 2\n", f"3:3: {INDENTED}"),
        ("a:\n  - b\n - c\n", f"3:2: {INDENTED}"),
        ("a:\n  - b: 1\n    - c\n", f"3:5: {INDENTED}"),
        ("- a\nb: 1\n", f"2:1: {INDENTED}"),
        ("a: b: 1\n", f"1:5: {COLON}"),
        ("a:1\nb: 2\n", f"2:2: {COLON}"),
        (
            "a: 1\nb\nc: 2\n",
            "3:1: not YAML: here, or just before, a key has no colon. Each key is followed by a colon and a blank",
        ),
        (
            "a: 'it's'\n",
            (
                "1:8: not YAML: something stands behind a text that has ended. "
                "Put quotes around the whole; a quote inside needs the other kind around it"
            ),
        ),
        (
            "a: 1\nb: 'c\nd: 2\n",
            "2:4: not YAML: the quote that begins here does not end. Look for its partner",
        ),
        (
            'a: "\\d"\n',
            (
                "1:6: not YAML: found unknown escape character 'd'. "
                "Between double quotes a backslash is special: take single quotes"
            ),
        ),
        (
            "a: |x\n",
            (
                "1:5: not YAML: expected chomping or indentation indicators, but found 'x'. "
                "Put a text that begins with | or > in quotes"
            ),
        ),
        (
            "a: %x\n",
            "1:4: not YAML: found character '%' that cannot start any token. Put the word in quotes",
        ),
        (
            "a:\n\tb: 1\n",
            "2:1: not YAML: found character '\\t' that cannot start any token. Indent with blanks, not tabs",
        ),
        (
            "a: *nowhere\n",
            "1:4: not YAML: found undefined alias 'nowhere'. Put a word that begins with * or & in quotes",
        ),
        (
            "a: & b\n",
            (
                "1:5: not YAML: expected alphabetic or numeric character, but found ' '. "
                "Put a word that begins with * or & in quotes"
            ),
        ),
        (
            "a: 1\n---\nb: 2\n",
            "2:1: not YAML: found another document. A file holds one document: leave out the line of dashes",
        ),
        ("a: !!python/object:os.system x\n", "1:4: the tag 'python/object:os.system' is not used here."),
        ("a: !secret x\n", "1:4: the tag '!secret' is not used here."),
        ("a: !!binary aGk=\n", "1:4: the tag 'binary' is not used here."),
        ("? [a, b]\n: 1\n", "1:3: a key must be one word or text."),
        ("a: &x 1\nb: &x 2\n", " an anchor (&name) is given twice."),
        ("a: &a [*a]\nb: *a\n", "1:4: the anchor '&a' contains itself, by the alias '*a'."),
        ("a: &a {b: [1, *a]}\n", "1:4: the anchor '&a' contains itself, by the alias '*a'."),
        ("a: " + "{a: " * 3000 + "\n", "1:84: nested too deeply: more than 20 levels."),
        ("a:\n  b: " + "[" * 3000 + "\n", "2:25: nested too deeply: more than 20 levels."),
        ("a: " + "[" * 25 + "]" * 25 + "\n", "1:24: nested too deeply: more than 20 levels."),
        ("a: " + "9" * 65 + "\n", "1:4: a number of more than 64 characters."),
        ('a: "\\ud800"\n', "1:4: half a character (a lone surrogate)."),
        ("a: \x07\n", " not YAML: unacceptable character #x0007: special characters are not allowed."),
    ],
)
def test_refused_with_its_place(tmp_path: Path, text: str, expected: str) -> None:
    """What cannot be read is said in one sentence, at its place where it has one."""
    assert refusal(write(tmp_path, text)) == expected


def test_aliases_cannot_blow_a_file_up(tmp_path: Path) -> None:
    """A few hundred bytes of aliases that mean billions of values are refused, not built."""
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert refusal(write(tmp_path, "\n".join(levels))).endswith("more than 200000 values.")


def test_files_that_are_none(tmp_path: Path) -> None:
    """Missing, a folder, not UTF-8 and far too large are each said."""
    assert refusal(tmp_path / "none.yaml") == " there is no such file."
    assert refusal(tmp_path) == " this is a folder, not a file."
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: caf\xe9\n")
    assert refusal(latin) == "2:7: not UTF-8. Save the file as UTF-8"
    huge = tmp_path / "huge.yaml"
    with huge.open("wb") as file:
        file.truncate(BYTES_MAX + 1)
    assert refusal(huge) == " larger than 4 MB."
    assert refusal(Path("nul\0.yaml")).endswith("cannot be read: embedded null byte.")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("profile: a/b\nx: [", "a/b"),
        ("title: {profile: no}\n'profile': \"a/b\"\n", "a/b"),
        ("{x: [profile, 1], profile: a/b}", "a/b"),
        ("title: |\n  profile: no\nprofile: a/b\n", "a/b"),
        ("x: profile\ny: a/b\n", None),
        ("x: {profile: a/b}\n", None),
        ("profile: [a]\n", None),
        ("[profile, a/b]\n", None),
        ("just text\n", None),
        ("", None),
    ],
)
def test_peeking_at_a_key(tmp_path: Path, text: str, value: str | None) -> None:
    """One top-level key is found without reading what comes after it, and nothing else is taken for it."""
    assert peek(write(tmp_path, text), "profile") == value
