"""Which station belongs to a device, and which link leads to it?

The one place that knows all dialects and all kinds of links. Each is loaded only where it is used.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from agent.address import parse_url
from agent.leases import Lease
from agent.links.link import Link, Unreachable
from agent.links.tcp import open_tcp
from agent.station import Expected, Means, Patience, Station
from devices.profile import Profile

CONNECT_MIN_S = 2.0
"""A connection may take this long even where answers come faster."""
BOOT_S = 2.0
"""How long a board that boots when its port is opened gets, where the profile states no `connect_settle_s`."""

BITS_PER_CHARACTER = 11
UNITS: Mapping[str, tuple[int, int]] = {"lsq": (1, 247), "rtu": (1, 247), "tcp": (0, 255)}
"""The units that can be addressed. On RTU 0 is everybody on the line; on Modbus TCP it means the device itself to some
devices and everybody to gateways, and 255 is the device itself."""


class DialectMissing(Exception):  # noqa: N818 - it reads as what it is
    """This version cannot talk to equipment of that dialect or over that kind of link."""


@dataclass(frozen=True, slots=True)
class Target:
    """One device as this run means it, every choice between file, group, profile and default made.

    `survives_reopen`: opening the link anew does not cut the stream, so that old answers may still come.
    """

    name: str
    url: str
    unit: int
    serial: str | None
    profile: Profile
    timeout_s: float
    attempts: int
    busy_max_s: float
    gap_s: float
    survives_reopen: bool


def obstacle(target: Target) -> str | None:
    """Why this version cannot work with a target at all, or None."""
    profile = target.profile
    if profile.sequence is not None:
        return (
            f"{target.name}: equipment that numbers its lines ('sequence') is not supported by this version"
        )
    talks = profile.modbus.framing if profile.modbus is not None else profile.dialect
    mismatched = mismatch(target)
    if mismatched is not None:
        return f"{target.name}: {mismatched}"
    low, high = UNITS.get(talks, (0, 255))
    if low <= target.unit <= high:
        return None
    why = ": 0 is everybody on the line, and nobody answers" if target.unit == 0 else ""
    return f"{target.name}: its unit must be {low} to {high}, not {target.unit}{why}"


def mismatch(target: Target) -> str | None:
    """Why the address of a target is none for its profile, or None."""
    profile = target.profile
    if profile.dialect == "exec" or parse_url(target.url).scheme != "exec":
        return None
    return (
        f"{target.url} is the address of a device behind a program, and its profile {profile.name} is of dialect "
        f"{profile.dialect}, not exec"
    )


def _lsq(lease: Lease | None, who: Expected, patience: Patience, means: Means, target: Target) -> Station:
    from agent.dialects.lsq import LsqStation  # brings the codec: 40 ms

    return LsqStation(lease, who, patience, means, stays_open=target.survives_reopen)


def _line(lease: Lease | None, who: Expected, patience: Patience, means: Means, target: Target) -> Station:
    from agent.dialects.line import LineStation

    stream = stream_of(target.url) if target.survives_reopen else None
    return LineStation(lease, who, patience, means, target.profile, stream=stream, gap_s=target.gap_s)


def _modbus(lease: Lease | None, who: Expected, patience: Patience, means: Means, target: Target) -> Station:
    from agent.dialects.modbus import ModbusStation  # brings construct: 40 ms

    # An answer names its unit, so each unit owes its own.
    stream = f"{stream_of(target.url)} unit {target.unit}" if target.survives_reopen else None
    gap_s = max(target.gap_s, _rtu_gap_s(target))
    return ModbusStation(lease, who, patience, means, target.profile, stream=stream, gap_s=gap_s)


def _rtu_gap_s(target: Target) -> float:
    """The silence between two RTU frames: 3.5 characters, or 1.75 ms (Modbus over Serial Line, 2.5.1.1)."""
    if target.profile.modbus is None or target.profile.modbus.framing != "rtu":
        return 0.0
    baud = int(dict(parse_url(target.url).options).get("baud", "9600"))
    return max(3.5 * BITS_PER_CHARACTER / baud, 0.00175)


def _exec(lease: Lease | None, who: Expected, patience: Patience, means: Means, target: Target) -> Station:
    from agent.dialects.exec import ExecStation

    address = parse_url(target.url)
    name = address.host if address.scheme == "exec" else target.name
    return ExecStation(lease, who, patience, means, target.profile, name=name)


_STATIONS: Mapping[str, Callable[[Lease | None, Expected, Patience, Means, Target], Station]] = {
    "lsq": _lsq,
    "line": _line,
    "modbus": _modbus,
    "exec": _exec,
}


def station_for(target: Target, lease: Lease | None, means: Means) -> Station:
    """A station for a target; without a lease for reads only. Raises DialectMissing."""
    missing = obstacle(target)
    if missing is not None:
        raise DialectMissing(missing)
    profile, timing = target.profile, target.profile.timing
    expected = Expected(target.url, target.unit, target.serial, profile.model, profile.firmware)
    open_s = timing.connect_settle_s or (BOOT_S if profile.opening_resets else 0.0)
    patience = Patience(target.timeout_s, target.busy_max_s, open_s)
    return _STATIONS[profile.dialect](lease, expected, patience, means, target)


def stream_of(url: str) -> str:
    """The name of the stream behind a URL: two spellings of one serial port are one stream."""
    address = parse_url(url)
    if address.scheme != "serial":
        return address.url
    from agent.links.ports import port_key

    return f"serial:{port_key(address.path)}"


def moved(target: Target, at: str) -> Target:
    """The target at another address: `unit N`, `baud N` (of its serial line) or a URL. Raises ValueError."""
    word, _, number = at.partition(" ")
    if word == "unit" and number.isdecimal():
        return replace(target, unit=int(number))
    if word == "baud" and number.isdecimal():
        address = parse_url(target.url)
        options = dict(address.options) | {"baud": number}
        shown = "&".join(f"{name}={value}" for name, value in options.items())
        return replace(target, url=parse_url(f"serial:{address.path}?{shown}").url)
    return replace(target, url=parse_url(at).url)


async def open_link(target: Target) -> Link:
    """Open the link to a target. Raises Unreachable."""
    address = parse_url(target.url)
    patience_s = max(target.timeout_s, CONNECT_MIN_S)
    match address.scheme:
        case "tcp":
            return await open_tcp(address.host, address.port, patience_s)
        case "serial":
            from agent.links.serial_port import open_serial

            return await open_serial(address, patience_s)
        case "exec":
            raise Unreachable(f"{address.url}: a program leads there, and no link")
    from agent.links.rfc2217 import open_rfc2217

    return await open_rfc2217(address.host, address.port, patience_s)
