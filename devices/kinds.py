"""What does a late or second copy of a command do?

The nature of a command decides whether a retry is safe (CATALOG.md, section 1): a profile states the `Kind`,
the kind gives the `EffectClass`.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class Kind(StrEnum):
    """The nature of a command, as written in profiles under `kind`."""

    QUERY = "query"
    ABSOLUTE = "absolute"
    SAVE = "save"
    RELATIVE = "relative"
    TOGGLE = "toggle"
    TRIGGER = "trigger"
    RESET = "reset"
    CONSUMING = "consuming"
    LINK = "link"


class EffectClass(StrEnum):
    """Whether a second copy changes anything that the first did not."""

    IDEMPOTENT = "idempotent"
    CUMULATIVE = "cumulative"


CLASS_OF: Mapping[Kind, EffectClass] = MappingProxyType(
    {
        Kind.QUERY: EffectClass.IDEMPOTENT,
        Kind.ABSOLUTE: EffectClass.IDEMPOTENT,
        Kind.SAVE: EffectClass.IDEMPOTENT,
        Kind.RELATIVE: EffectClass.CUMULATIVE,
        Kind.TOGGLE: EffectClass.CUMULATIVE,
        Kind.TRIGGER: EffectClass.CUMULATIVE,
        Kind.RESET: EffectClass.CUMULATIVE,
        Kind.CONSUMING: EffectClass.CUMULATIVE,
        Kind.LINK: EffectClass.CUMULATIVE,
    }
)


class Policy(StrEnum):
    """What the agent does about silence (CATALOG.md, section 2)."""

    RESEND = "resend"
    READ_THEN_SET = "read-then-set"
    GET_VERIFY = "get-verify"
    NO_RETRY = "no-retry"
