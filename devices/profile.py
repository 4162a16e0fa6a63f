"""What do we know about one model of equipment?

A profile as plain frozen data, every key of CATALOG.md section 4 resolved to its default. `loader.load` makes
these and has checked every cross reference; nothing here reads files. Numbers that reach a device are
`Decimal` or text, never float; times are float seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from types import MappingProxyType
from typing import Literal

from devices.kinds import EffectClass, Kind, Policy

Dialect = Literal["lsq", "line", "modbus", "exec"]
LATE_FACTOR = 10
LATE_MIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Timing:
    """How patient to be; seconds. `reply_given` tells a stated `reply_s` from the default."""

    reply_s: float = 1.0
    reply_given: bool = False
    settle_s: float = 0.0
    gap_s: float = 0.0
    connect_settle_s: float = 0.0
    busy_max_s: float = 60.0
    late_max_s: float | None = None

    @property
    def late_s(self) -> float:
        """How long an answer may still travel after silence: `late_max_s`, else 10 x `reply_s`, min. 5 s."""
        return self.late_max_s if self.late_max_s is not None else max(LATE_FACTOR * self.reply_s, LATE_MIN_S)


@dataclass(frozen=True, slots=True)
class Setting:
    """Something that can be read back.

    `type` is int, decimal, bool, text or enum(a, b), the Modbus register types already mapped to these. `at_start`:
    what a restart puts it to, where it is not durable and that is known. `clamps`: False says that the value has no
    stop, None that nobody stated it. `other_writers`: readings prove nothing about us. `read` is the text that asks,
    for Modbus a request text such as `fc03 0x0002 f32`; the value is the group `value` of `reply`, else of the line's
    ack, else all that a script prints.
    """

    name: str
    type: str
    unit: str | None = None
    min: Decimal | None = None
    max: Decimal | None = None
    step: str | None = None
    read: str | None = None
    reply: str | None = None
    durable: bool = False
    at_start: str | None = None
    clamps: bool | None = None
    other_writers: bool = False


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a command; `min` and `max` are inclusive and, like `step`, in `unit`.

    `secret`: its value is only ever named by reference, and is found when the command leaves.
    """

    name: str
    type: str
    min: Decimal | None = None
    max: Decimal | None = None
    unit: str | None = None
    step: str | None = None
    secret: bool = False


@dataclass(frozen=True, slots=True)
class AbsoluteForm:
    """`command` with `value` (an expression over `before` and arguments) does the same if `equivalent`."""

    command: str
    value: str
    equivalent: bool = False


@dataclass(frozen=True, slots=True)
class Verify:
    """After the command `setting` reads `expect` (an expression); `tolerance` in the unit of the setting."""

    setting: str
    expect: str
    tolerance: str | None = None


@dataclass(frozen=True, slots=True)
class Mode:
    """The command has its kind only while `setting` reads `value` (canonical text)."""

    setting: str
    value: str


@dataclass(frozen=True, slots=True)
class Confirm:
    """Where and how a device that changed its link is found again; texts may name the arguments in braces."""

    at: str
    read: str
    expect: str


@dataclass(frozen=True, slots=True)
class Command:
    """One command; `send` is its text with arguments in braces, None for dialects without texts.

    For Modbus it is the template of a request text, such as `fc06 0x0010 u16 {value}`.

    `in_catalog` is False only for what a person sends raw.
    """

    name: str
    kind: Kind
    effect_class: EffectClass
    args: tuple[Argument, ...] = ()
    send: str | None = None
    setting: str | None = None
    absolute_form: AbsoluteForm | None = None
    verify: Verify | None = None
    policy: Policy | None = None
    mode: Mode | None = None
    ack_means: Literal["done", "queued"] = "done"
    nak_may_follow_effect: bool = False
    execution_s: float | None = None
    confirm: Confirm | None = None
    danger: str | None = None
    in_catalog: bool = True


@dataclass(frozen=True, slots=True)
class Identity:
    """`read` asks who it is; the answer must equal `expect`, where `{serial}` comes from the inventory.

    For Modbus `read` is the request text of a setting, as are `boot_read` of a profile and `Confirm.read`.

    `reply`: the pattern of the answer where it is none of the acks; its group `value` is the answer.
    """

    read: str
    expect: str
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """How answers on a text line are told apart: regular expressions, searched in one line without its end.

    The first that matches says what a line is: notice, boot, busy, nak, then ack or the pattern of the reading that
    was asked for. `prompt` must match whole, since it has no end. `eol` ends a request. `echo`: our own line comes
    back before the answer.
    """

    eol: str = "\n"
    ack: str = r"^OK(?: (?P<value>.*))?$"
    nak: str | None = r"^ERR(?: (?P<reason>.*))?$"
    busy: str | None = None
    notice: tuple[str, ...] = ()
    boot: str | None = None
    prompt: str | None = None
    echo: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """How the equipment numbers its commands and answers a repeat."""

    wrap: str
    reply: str
    checksum: str | None = None
    first: int = 1
    on_duplicate: Literal["same_reply", "reject_with_last_seq"] = "same_reply"
    last_seq: str | None = None
    memory: Literal["volatile", "durable"] = "volatile"
    reads_numbered: bool = False


@dataclass(frozen=True, slots=True)
class Modbus:
    """Framing and the order of words and bytes in values longer than a register."""

    framing: Literal["tcp", "rtu"] = "tcp"
    word_order: Literal["big", "little"] = "big"
    byte_order: Literal["big", "little"] = "big"


@dataclass(frozen=True, slots=True)
class Profile:
    """One model of equipment; `source` is the file, `digest` the hex SHA-256 of its bytes.

    `run`, for dialect exec: the program, an absolute path where the file names it relative to itself, and its
    arguments, in which {device}, {url} and {command} stand for the device's name, its address, and the text to send
    or to read with.
    """

    name: str
    dialect: Dialect
    commands: tuple[Command, ...]
    title: str = ""
    sources: tuple[str, ...] = ()
    verified_on_hardware: bool = False
    settings: Mapping[str, Setting] = field(default_factory=lambda: MappingProxyType({}))
    timing: Timing = Timing()
    boot_read: str | None = None
    boot_reply: str | None = None
    model: str | None = None
    firmware: str | None = None
    opening_resets: bool = False
    identity: Identity | None = None
    line: Line | None = None
    sequence: Sequence | None = None
    modbus: Modbus | None = None
    run: tuple[str, ...] = ()
    isolation: Literal["semaphore", "pool"] | None = None
    breaker_key: str | None = None
    source: str = ""
    digest: str = ""

    def setting(self, name: str) -> Setting:
        """Return the setting of that name; KeyError if there is none."""
        return self.settings[name]

    def command(self, name: str) -> Command:
        """Return the command of that name, letter by letter; KeyError if there is none."""
        for command in self.commands:
            if command.name == name:
                return command
        raise KeyError(name)
