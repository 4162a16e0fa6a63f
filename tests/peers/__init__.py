"""Does the promise hold against equipment and programs that nobody here wrote?

Servers: libmodbus (`adder.c`) and pymodbus (`pymodbus_adder.py`), each an *adder*: equipment with a register that adds
what is written to it to another one, so that a second copy of a command shows. Clients of our simulators: mbpoll and
pyvisa-py. In between: socat and ser2net. Rules: what was executed is asked of the adder's own ledger, what crossed the
wire of `relay.py`, which knows nothing of our codecs. `make test-peers` installs what is missing.

Both adders have the same map; addresses are zero-based, as on the wire. Nothing but 0 to 31 exists.

    holding  0      total      what was added so far
             1      add        writing N adds N to the total
             2      setpoint
             3, 4   first, second: 1111 and 2222
             6, 7   ticking    both registers hold the same number, one more at every read of either
             16, 17 level      a float; the libmodbus adder enters into its ledger how libmodbus reads it
             20-27             libmodbus only: the float 1234.5 as libmodbus writes it: abcd, badc, cdab, dcba
             10     flags      a bit each
    coil     0      lamp
             1      flip       writing it, on or off, turns the lamp over
             8-15   lamps
    discrete 1      door       on
    input    5      reading    4444
    object   0      maker      pymodbus only: "ACME"
"""
