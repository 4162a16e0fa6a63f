"""Which proxy was asked for on the command line, and what does it print?

stdout carries where it listens and, at the end, messages, bytes, connections and faults by number.
"""

import difflib
import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from simulator.proxy.faults import PROXY, ProxyFault
from simulator.proxy.host import Route, serve
from simulator.proxy.passage import FRAMES, Observer, Traffic
from simulator.proxy.places import PtyPlace, TcpPlace, listening_place, place_behind
from simulator.report import plain, rows_of, show_rows
from simulator.setup import USAGE, SimulateError, plan_of


@dataclass(frozen=True, slots=True)
class Order:
    """One proxy to serve, as it was asked for.

    Attributes:
        listen: `tcp://HOST:PORT` or `pty`.
        link: A stable name for the port of `pty`.
        to: `tcp://HOST:PORT` or `serial:PATH`.
        faults: Text of a fault plan.
        frame: One of FRAMES.
        limit_s: Seconds after which to stop; None: no limit.
    """

    listen: str
    link: Path | None
    to: str
    faults: str
    frame: str
    limit_s: float | None

    @property
    def route(self) -> Route:
        """Both sides; raises SimulateError."""
        listen = listening_place(self.listen)
        if self.link is not None and not isinstance(listen, PtyPlace):
            raise SimulateError("--link names a serial port; it goes with --listen pty.", USAGE)
        return Route(listen, self.link, place_behind(self.to))


def serve_order(order: Order, observe: Observer, *, as_json: bool) -> None:
    """Serve a proxy and print what it counted; raises SimulateError."""
    route = order.route
    plan = plan_of("--faults", order.faults, PROXY)
    if (
        ProxyFault.RST in plan.faults
        and not isinstance(route.listen, TcpPlace)
        and not isinstance(route.to, TcpPlace)
    ):
        raise SimulateError(
            "--faults: rst resets TCP connections, and there is none on either side. To pull the plug: cut",
            USAGE,
        )
    if order.frame not in FRAMES:
        close = difflib.get_close_matches(order.frame, FRAMES, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        raise SimulateError(f"--frame {order.frame!r} is none of {', '.join(FRAMES)}.{hint}", USAGE)
    traffic = Traffic(plan, order.frame, observe)

    def listening(url: str) -> None:
        if as_json:
            print(json.dumps({"listening": url, "to": str(route.to)}), flush=True)
        else:
            print(f"listening on {plain(url)}  to {plain(str(route.to))}", flush=True)
            print(f"try: ackonce send {shlex.quote(url)} --profile NAME COMMAND", flush=True)

    serve(traffic, route, order.limit_s, listening)
    if as_json:
        print(json.dumps({"counts": dict(sorted(traffic.counts.items()))}), flush=True)
    else:
        show_rows("what passed the proxy", rows_of("count", traffic.counts.items()))
