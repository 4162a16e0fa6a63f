"""Which device is this?

* A device is known by model and serial once it has told them, before that by its address: URL and unit.
* Who was met first at an address is pinned there. Another one that answers is a wrong device, until the inventory asks
  for its serial.
* A device may be met at several addresses. The row of an address where nobody has told who it is yet is provisional:
  it is merged into the row of the device that answers, with its operations.
* Who pins or merges shows the lease (`leases.py`).
"""

from agent.leases import Lease, Leases
from agent.store.database import Cursor, Database, Refused
from logs.text import escape


class WrongDevice(Refused):
    """Another device answers at this address than the one that was met there first; who, as far as it told."""

    def __init__(self, why: str, serial: str | None = None, model: str | None = None) -> None:
        super().__init__(why)
        self.serial = serial
        self.model = model


class Registry:
    """The devices of one store: who they are and where they were met."""

    def __init__(self, database: Database, leases: Leases) -> None:
        self._db = database
        self._leases = leases

    def lookup(self, url: str, unit: int, serial: str | None) -> int | None:
        """The device that is known at this address, or by this serial; None where neither was met before."""
        known = self._db.read(
            "SELECT d.id, d.serial FROM address a JOIN device d ON d.id = a.device WHERE a.url = ? AND a.unit = ?",
            (url, unit),
        )
        if serial is not None and (not known or known[0][1] != serial):
            named = self._db.read("SELECT id FROM device WHERE serial = ?", (serial,))
            if len(named) == 1:
                return int(named[0][0])
        return int(known[0][0]) if known else None

    def addresses(self, unit: int) -> list[str]:
        """The URLs at which devices with this unit were met. Raises StoreError."""
        return [
            url for (url,) in self._db.read("SELECT url FROM address WHERE unit = ? ORDER BY url", (unit,))
        ]

    def also_at(self, url: str, known: str, unit: int) -> None:
        """An address never met leads to the device that is known at another one. Raises StoreError."""
        device = self.lookup(known, unit, None)
        if device is not None:
            self._db.commit_now(lambda cursor: _point(cursor, url, unit, device))

    def claim(self, url: str, unit: int, serial: str | None) -> Lease:
        """Take the lease of the device at this address, as `Leases.claim` does; where none was met, of a new row.

        Raises Held, LeaseLost, StoreError.
        """
        device = self.lookup(url, unit, serial)

        def write(cursor: Cursor) -> Lease:
            number = device
            if number is None:
                number = _insert(cursor, None, None)
                _point(cursor, url, unit, number)
            return self._leases.take(cursor, number)

        return self._db.commit_now(write)

    def meet(self, lease: Lease, url: str, unit: int, model: str, serial: str, *, named: bool) -> None:
        """The device at the address said who it is: pin it, or find that it is one we know from elsewhere.

        `named`: the inventory asks for this serial, so that it may replace the one pinned before.
        Raises WrongDevice, Held, LeaseLost, StoreError.
        """
        here = self._db.read(
            "SELECT d.model, d.serial FROM device d JOIN address a ON a.device = d.id "
            "WHERE d.id = ? AND a.url = ? AND a.unit = ?",
            (lease.device, url, unit),
        )
        if here == [(model, serial)]:
            return

        def write(cursor: Cursor) -> Lease:
            self._leases.hold(cursor, lease)
            pinned = cursor.execute(
                "SELECT model, serial FROM device WHERE id = ?", (lease.device,)
            ).fetchone()
            if pinned == (model, serial):
                _point(cursor, url, unit, lease.device)
                return lease
            found = cursor.execute(
                "SELECT id FROM device WHERE model = ? AND serial = ?", (model, serial)
            ).fetchone()
            provisional = pinned is not None and pinned[1] is None
            if provisional and found is None:
                cursor.execute(
                    "UPDATE device SET model = ?, serial = ? WHERE id = ?", (model, serial, lease.device)
                )
                return lease
            if not provisional and not named:
                raise _wrong(url, model, serial, str(pinned[1]) if pinned is not None else "another one")
            other = found[0] if found is not None else _insert(cursor, model, serial)
            taken = self._leases.take(cursor, other)
            _point(cursor, url, unit, other)
            if provisional:
                cursor.execute("UPDATE operation SET device = ? WHERE device = ?", (other, lease.device))
                cursor.execute("UPDATE address SET device = ? WHERE device = ?", (other, lease.device))
                cursor.execute("DELETE FROM device WHERE id = ?", (lease.device,))
            else:
                self._leases.drop(cursor, lease)
            return taken

        lease.become(self._db.commit_now(write))

    def compare(self, url: str, unit: int, model: str, serial: str, *, named: bool) -> None:
        """As `meet`, for somebody who only reads: nothing is written. Raises WrongDevice, StoreError."""
        pinned = self._db.read(
            "SELECT d.model, d.serial FROM device d JOIN address a ON a.device = d.id WHERE a.url = ? AND a.unit = ?",
            (url, unit),
        )
        if pinned and pinned[0][1] is not None and pinned[0] != (model, serial) and not named:
            raise _wrong(url, model, serial, pinned[0][1])

    def is_met(self, lease: Lease) -> bool:
        """Whether the device has ever told who it is."""
        return bool(
            self._db.read("SELECT 1 FROM device WHERE id = ? AND serial IS NOT NULL", (lease.device,))
        )

    def address_of(self, device: int) -> tuple[str, int] | None:
        """An address at which the device was met: URL and unit."""
        rows = self._db.read("SELECT url, unit FROM address WHERE device = ? ORDER BY url LIMIT 1", (device,))
        return (rows[0][0], rows[0][1]) if rows else None


def _wrong(url: str, model: str, serial: str, first: str) -> WrongDevice:
    return WrongDevice(
        f"serial {escape(serial)} ({escape(model)}) answers at {url}, but {first} was met there first "
        f"(if it was replaced on purpose, write serial: {serial!r} into the inventory)",
        serial,
        model,
    )


def _insert(cursor: Cursor, model: str | None, serial: str | None) -> int:
    row = cursor.execute(
        "INSERT INTO device (model, serial) VALUES (?, ?) RETURNING id", (model, serial)
    ).fetchone()
    if row is None:
        raise LookupError("the store returned no id")
    return int(row[0])


def _point(cursor: Cursor, url: str, unit: int, device: int) -> None:
    cursor.execute(
        "INSERT INTO address (url, unit, device) VALUES (?, ?, ?) "
        "ON CONFLICT (url, unit) DO UPDATE SET device = excluded.device",
        (url, unit, device),
    )
