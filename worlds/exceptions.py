"""With which exceptions does a Modbus device answer in a world, and what becomes of the request then?

Each is one fault of the weather, of one or two of the device's own:

| name                  | code                      | effect                                             |
|-----------------------|---------------------------|----------------------------------------------------|
| `exception_N`         | 1, 2, 3, 4, 6, 10, 11     | none                                               |
| `exception_N_after`   | 4, 5, 11                  | at once                                            |
| `exception_N_late`    | 5, 11                     | later, unless the device starts before             |

Code 5 says that the device has accepted the command, so it never comes without an effect to follow. Codes 1 to 3, 6 and
10 say that there was none, so none of them comes with one.
"""

from collections.abc import Mapping
from types import MappingProxyType

from simulator.fault_kinds import Fault
from simulator.fault_terms import Value

_CODES: Mapping[str, int] = MappingProxyType({f"exception_{code}": code for code in (1, 2, 3, 4, 6, 10, 11)})
_CODES_AFTER: Mapping[str, int] = MappingProxyType({f"exception_{code}_after": code for code in (4, 5, 11)})
_CODES_LATE: Mapping[str, int] = MappingProxyType({f"exception_{code}_late": code for code in (5, 11)})
LATE = tuple(_CODES_LATE)
"""Those that take time."""
EXCEPTIONS = (*_CODES, *_CODES_AFTER, *_CODES_LATE)
"""All of them."""


def armed(fault: str, seconds: float) -> dict[str, tuple[Value, ...]]:
    """What a fault of the weather is to the device: its own faults, with what follows their names."""
    if fault in _CODES:
        return {Fault.EXCEPTION: (_CODES[fault],)}
    if fault in _CODES_AFTER:
        return {Fault.EXCEPTION_AFTER: (_CODES_AFTER[fault],)}
    if fault in _CODES_LATE:
        return {Fault.APPLY_LATE: (seconds,), Fault.EXCEPTION_AFTER: (_CODES_LATE[fault],)}
    return {fault: (seconds,) if seconds else ()}
