"""Which keys may a profile file have, and of what type?

The shape of CATALOG.md section 4 as pydantic models, one key here for each key there. What keys mean for each
other is checked in `checks`; the defaults of a profile are stated once, in `profile`.
"""

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, StringConstraints

from devices.kinds import EffectClass, Kind, Policy
from devices.validation import Number, Seconds, Strict, positive
from devices.values import plain


def _as_text(value: object) -> object:
    """Let numbers and true or false stand without quotes where an expression or value is expected."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    return plain(value) if isinstance(value, Decimal) else value


Text = Annotated[str, StringConstraints(min_length=1, max_length=500)]
Loose = Annotated[Text, BeforeValidator(_as_text)]
KindWord = Annotated[Kind, Field(strict=False)]
ClassWord = Annotated[EffectClass, Field(strict=False)]
PolicyWord = Annotated[Policy, Field(strict=False)]
PositiveSeconds = Annotated[Seconds, BeforeValidator(positive)]
BitNumber = Annotated[int, Field(ge=0, le=15)]


class LineSection(Strict):
    """`line`: how answers on a text line are told apart."""

    eol: Text | None = None
    ack: Text | None = None
    nak: Text | None = None
    busy: Text | None = None
    notice: list[Text] = Field(default_factory=list)
    boot: Text | None = None
    prompt: Text | None = None
    echo: bool = False


class SequenceSection(Strict):
    """`sequence`: how the equipment numbers its commands."""

    wrap: Text
    reply: Text
    checksum: Text | None = None
    first: Annotated[int, Field(ge=0)] = 1
    on_duplicate: Literal["same_reply", "reject_with_last_seq"] = "same_reply"
    last_seq: Text | None = None
    memory: Literal["volatile", "durable"] = "volatile"
    reads_numbered: bool = False


class TimingSection(Strict):
    """`timing`, in seconds."""

    reply_s: PositiveSeconds | None = None
    settle_s: Seconds | None = None
    gap_s: Seconds | None = None
    connect_settle_s: Seconds | None = None
    busy_max_s: PositiveSeconds | None = None
    late_max_s: PositiveSeconds | None = None


class IdentitySection(Strict):
    """`identity`."""

    read: Text
    expect: Text
    reply: Text | None = None


class ModbusSection(Strict):
    """`modbus`."""

    framing: Literal["tcp", "rtu"] = "tcp"
    word_order: Literal["big", "little"] = "big"
    byte_order: Literal["big", "little"] = "big"


class SettingSection(Strict):
    """One of `settings`."""

    type: Text
    unit: Text | None = None
    min: Number | None = None
    max: Number | None = None
    step: Number | None = None
    read: Text | None = None
    reply: Text | None = None
    durable: bool = False
    at_start: Loose | None = None
    clamps: bool | None = None
    other_writers: bool = False
    table: Literal["holding", "input", "coil", "discrete", "identification"] | None = None
    address: Annotated[int, Field(ge=0, le=0xFFFF)] | None = None
    scale: Number | None = None
    bit: BitNumber | None = None
    sentinels: list[Text] = Field(default_factory=list)


class ArgumentSection(Strict):
    """One of `args`."""

    name: Text
    type: Text
    min: Number | None = None
    max: Number | None = None
    unit: Text | None = None
    step: Number | None = None
    secret: bool = False


class AbsoluteFormSection(Strict):
    """`absolute_form`."""

    command: Text
    value: Loose
    equivalent: bool = False


class VerifySection(Strict):
    """`verify`."""

    setting: Text
    expect: Loose
    tolerance: Number | None = None


class ModeSection(Strict):
    """`mode`."""

    setting: Text
    value: Loose


class ConfirmSection(Strict):
    """`confirm`."""

    at: Text
    read: Text
    expect: Loose


class WriteSection(Strict):
    """`write`, for dialect modbus."""

    function: Literal[5, 6, 15, 16, 22, 23]
    address: Loose
    type: Text | None = None
    scale: Number | None = None
    bit: BitNumber | None = None
    value: Loose | None = None
    raw: Text | None = None


class CommandSection(Strict):
    """One of `commands`."""

    name: Text
    kind: KindWord
    stated_class: Annotated[ClassWord | None, Field(alias="class")] = None
    args: list[ArgumentSection] = Field(default_factory=list)
    send: Text | None = None
    setting: Text | None = None
    absolute_form: AbsoluteFormSection | None = None
    verify: VerifySection | None = None
    policy: PolicyWord | None = None
    mode: ModeSection | None = None
    ack_means: Literal["done", "queued"] = "done"
    nak_may_follow_effect: bool = False
    execution_s: PositiveSeconds | None = None
    confirm: ConfirmSection | None = None
    danger: Text | None = None
    write: WriteSection | None = None


class ProfileFile(Strict):
    """A whole profile file."""

    profile: Text
    dialect: Literal["lsq", "line", "modbus", "exec"]
    commands: list[CommandSection]
    title: Text | None = None
    sources: list[Text] = Field(default_factory=list)
    verified_on_hardware: bool = False
    settings: dict[str, SettingSection] = Field(default_factory=dict)
    timing: TimingSection = TimingSection()
    boot_read: Text | None = None
    boot_reply: Text | None = None
    model: Text | None = None
    firmware: Text | None = None
    opening_resets: bool = False
    identity: IdentitySection | None = None
    line: LineSection | None = None
    sequence: SequenceSection | None = None
    modbus: ModbusSection | None = None
    run: list[Text] = Field(default_factory=list)
    isolation: Literal["semaphore", "pool"] | None = None
    breaker_key: Text | None = None
