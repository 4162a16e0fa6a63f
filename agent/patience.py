"""How long does this run wait for one answer of a device? The order of precedence of CLI.md, section 1."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agent.inventory import Defaults, Device
    from agent.settings import Settings
    from devices.profile import Profile

REPLY_DEFAULT_S = 1.0


def silence_s(
    settings: "Settings", device: "Device", defaults: "Defaults", profile: "Profile | None"
) -> float:
    """The silence time of one exchange, in seconds.

    `--timeout` comes first, then the device with its group and line, the profile's own `reply_s`, the defaults of the
    inventory, one second. `profile` is None where it cannot be loaded.
    """
    timing = profile.timing if profile is not None else None
    waits_s = (
        settings.timeout_s,
        device.timeout_s,
        timing.reply_s if timing is not None and timing.reply_given else None,
        defaults.timeout_s,
        REPLY_DEFAULT_S,
    )
    return next(wait_s for wait_s in waits_s if wait_s is not None)
