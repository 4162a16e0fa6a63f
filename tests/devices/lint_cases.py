"""A profile without a finding, and for each unwise change of it what lint has to say.

A case is (old text, new text, each finding as `level where: a part of the message`).
"""

CLEAN = r"""profile: acme/logger
sources: ["manual, section 4"]
dialect: line
line: {ack: '^OK(?: (?P<value>.*))?$', nak: '^ERR', busy: '^BUSY', notice: ['^# '], boot: '^READY'}
timing: {reply_s: 1, settle_s: 0.2, late_max_s: 5}
boot_read: GET boots
identity: {read: GET serial, expect: "{serial}", reply: '^serial=(?P<value>.*)$'}
settings:
  offset: {type: decimal, min: 0, max: 9, step: 0.1, read: GET offset, reply: '^o=(?P<value>.*)$'}
  total: {type: int, clamps: false, read: GET total, reply: '^t=(?P<value>.*)$', durable: true}
  mode: {type: "enum(AUTO, MAN)", read: GET mode, reply: '^m=(?P<value>.*)$'}
commands:
  - name: SET offset
    kind: absolute
    args: [{name: value, type: decimal, min: 0, max: 9}]
    send: "SET offset {value}"
    setting: offset
  - name: ADD
    kind: relative
    args: [{name: n, type: int}]
    send: "ADD {n}"
    absolute_form: {command: SET offset, value: before + n, equivalent: true}
    verify: {setting: offset, expect: before + n, tolerance: 0.05}
    mode: {setting: mode, value: AUTO}
  - name: COUNT
    kind: trigger
    send: COUNT
    verify: {setting: total, expect: before + 1}
    execution_s: 1
  - name: SET baud
    kind: link
    send: BAUD
    confirm: {at: "?baud=9600", read: GET serial, expect: ok}
  - {name: BEEP, kind: trigger, send: BEEP}
boot_reply: '^boots=(?P<value>.*)$'
"""
SOURCES = 'sources: ["manual, section 4"]\n'
OWN = ", reply: '^serial=(?P<value>.*)$'"
BOOTS_REPLY = "boot_reply: '^boots=(?P<value>.*)$'\n"
IDENTITY = f'identity: {{read: GET serial, expect: "{{serial}}"{OWN}}}\n'
BOOTS = "boot_read: GET boots\n"
FORM = "absolute_form: {command: SET offset, value: before + n, equivalent: true}"
BEEP = "  - {name: BEEP, kind: trigger, send: BEEP}\n"
VERIFY = "verify: {setting: total, expect: before + 1}"
O_REPLY = "'^o=(?P<value>.*)$'"
T_REPLY = "'^t=(?P<value>.*)$'"
CONFIRM = '    confirm: {at: "?baud=9600", read: GET serial, expect: ok}\n'


Case = tuple[str, ...]

WHOLE: list[Case] = [
    (OWN, "", "warning identity: the answer to 'GET serial' looks like an ack"),
    (BOOTS_REPLY, "", "warning boot_read: the answer to 'GET boots' looks like an ack"),
    (SOURCES, "", "warning sources: nobody can check its claims"),
    (IDENTITY, "", "warning identity: another device behind the same address"),
    (
        BOOTS,
        "",
        "warning boot_read: readings of offset, mode prove nothing; ADD would end in doubt",
        "warning ADD: a restart would put the mode back unnoticed",
    ),
    (BOOTS, BOOTS + "opening_resets: true\n", "warning opening_resets: ADD would end in doubt after silence"),
]
TIMES: list[Case] = [
    ("execution_s: 1", "execution_s: 1.5", "warning COUNT: it may take 1.5 s but reply_s is 1 s"),
    ("reply_s: 1, ", "", ""),
    (
        "late_max_s: 5",
        "late_max_s: 0.5",
        "warning timing: late_max_s 0.5 s is below reply_s 1 s",
        "warning COUNT: it could still take effect when nothing is expected any more",
    ),
    (
        "execution_s: 1",
        "execution_s: 61",
        "warning COUNT: it may take 61 s but reply_s is 1 s",
        "warning COUNT: it may take 61 s but late_max_s is 5 s",
        "warning COUNT: it may take 61 s but busy_max_s is 60 s",
    ),
    (
        "settle_s: 0.2, ",
        "",
        "warning timing: a value that moves a moment after the command would look unmoved, and COUNT be sent",
    ),
]
LINES: list[Case] = [
    ("line: {", r'line: {eol: "\r", ', ""),
    ("line: {", "line: {eol: ';', ", "note line.eol: each request ends in ';' and in no line end"),
    ("line: {", r'line: {eol: ";\r", ', ""),
    ("line: {", r'line: {eol: "X\r\n", ', ""),
    (
        "read: GET total",
        r"read: GET total\r",
        r"warning total: the backslashes at the end of 'GET total\r' would be sent",
    ),
    (
        "boot_read: GET boots",
        r"boot_read: GET boots\r\n",
        "warning boot_read: line.eol is the end of every request",
    ),
    (
        '{read: GET serial, expect: "{serial}"',
        r'{read: GET serial\n, expect: "{serial}"',
        "warning identity: line.eol",
    ),
    ("send: COUNT", r"send: COUNT\r\n", "warning COUNT: leave them out, line.eol is"),
    ("send: COUNT", r"send: COUNT \run", ""),
    ("nak: '^ERR'", "nak: null", "warning line.nak: a refusal is not recognised"),
    ("'^BUSY'", "'BUSY'", "warning line.busy: does not begin with ^"),
    ("'^READY'", "'^READY|^BOOT'", ""),
    ("'^READY'", "'^READY|BOOT'", "warning line.boot: does not begin with ^"),
    ("nak: '^ERR'", "nak: '.'", "error line.nak: matches every line"),
    ("'^# '", "'^# ', '^# x'", ""),
    ("'^# '", "'^OK 1'", "error ack: the line 'OK 1' matches line.notice too, which is asked first"),
    ("nak: '^ERR'", "nak: '^OK$'", "error ack: the line 'OK' matches line.nak too"),
    ("'^BUSY'", "'^o='", "error offset: matches line.busy too, which is asked first"),
    ("nak: '^ERR'", "nak: '^BUSY'", "error nak: the line 'BUSY' matches line.busy too"),
    (
        "'^OK(?: ",
        "'^COUNT$|^OK(?: ",
        "error COUNT: an echo on the line would pass for an answer and a lost command",
    ),
    (
        "nak: '^ERR'",
        "nak: '^BEEP|^ERR'",
        "error BEEP: would pass for an answer and an applied one for refused",
    ),
    ("{ack: '^OK(?: ", "{echo: true, ack: '^COUNT$|^OK(?: ", ""),
    (T_REPLY, "'^(?:GET )?t(?:=|otal)(?P<value>.*)$'", ""),
    ("{name: BEEP, kind: trigger, send: BEEP}", "{name: B, kind: trigger, send: OK 5}", "error B: ('OK 5')"),
    (f", reply: {O_REPLY}", "", "warning settings: answers to the reading of offset look like an ack"),
    (O_REPLY, "'^(?P<value>.*)$'", "warning settings: answers to the reading of offset look like an ack"),
    (T_REPLY, O_REPLY, "warning total: its answer and that of 'offset' look alike"),
]
PROOFS: list[Case] = [
    (", equivalent: true", "", "error ADD: it is not the same command"),
    (
        ", equivalent: true}\n    verify: {setting: offset, expect: before + n, tolerance: 0.05}",
        "}",
        "warning ADD: every silence ends in doubt",
        "error ADD: it is not the same command",
    ),
    (
        "value: before + n",
        "value: before",
        "error ADD: the form would never change anything",
        "error ADD: one is wrong",
    ),
    ("value: before + n", "value: before - n", "error ADD: one is wrong"),
    ("tolerance: 0.05", "tolerance: 0.04", "error ADD: a value that was applied would look wrong"),
    ("clamps: false, ", "", "warning COUNT: an unchanged reading could be a stop"),
    ("min: 0, max: 9, step", "max: 9, step", "warning ADD: an unchanged reading could be a stop"),
    ("max: 9, step", "clamps: true, max: 9, step", "warning ADD: write clamp(before + n, LOWEST, HIGHEST)"),
    (
        "max: 9, step",
        "other_writers: true, max: 9, step",
        "warning ADD: so the form is not used",
        "warning ADD: a reading proves nothing and 'verify' is not used",
    ),
    ("expect: before + 1", "expect: before", "error COUNT: no reading can tell applied from not applied"),
    ("expect: before + 1", "expect: 'max(before, before)'", "error COUNT: no reading can tell"),
    (
        'type: "enum(AUTO, MAN)"',
        'type: "enum(AUTO, MAN)", other_writers: true',
        "warning ADD: the mode can change",
    ),
]
COMMANDS: list[Case] = [
    (VERIFY, "policy: no-retry", ""),
    ("kind: trigger, send: BEEP", "kind: toggle, send: BEEP", "warning BEEP: every silence ends in doubt"),
    ("kind: trigger, send: BEEP", "kind: relative, policy: no-retry, send: BEEP", ""),
    (
        "send: BEEP",
        "send: BEEP, ack_means: queued",
        "warning BEEP: an ack that only says queued proves nothing",
    ),
    (
        "send: BEEP",
        "send: BEEP, nak_may_follow_effect: true",
        "warning BEEP: a refusal may come after the effect",
    ),
    ("execution_s: 1", "ack_means: queued\n    nak_may_follow_effect: true", ""),
    (
        BEEP,
        "  - {name: ON, kind: absolute, send: ON}\n",
        "warning ON: no 'setting': when no copy is answered",
    ),
    (
        BEEP,
        "  - {name: ON, kind: absolute, send: ON, setting: mode}\n",
        "warning ON: 'mode' cannot be compared with 0 arguments",
    ),
    (BEEP, "  - {name: GET x, kind: query, send: GET x}\n  - {name: SAVE, kind: save, send: SAVE}\n", ""),
    (
        "name: value, type: decimal, min: 0",
        "name: value, type: decimal, min: -1",
        "warning SET offset: may be outside",
    ),
    ("min: 0, max: 9}]", "min: 0, max: 10}]", "warning SET offset: may be outside of what 'offset' can hold"),
    ("min: 0, max: 9}]", "min: 1, max: 8}]", ""),
    ('send: "SET offset {value}"', 'send: "PULSE offset {value}"', "warning SET offset: 'PULSE' sounds like"),
    ('send: "SET offset {value}"', 'send: "SET pulse_offset {value}"', ""),
    (
        "    setting: offset\n",
        "    setting: offset\n    verify: {setting: offset, expect: before + value}\n",
        "error SET offset: the kind is relative, not absolute",
    ),
    (
        "    setting: offset\n",
        "    setting: offset\n    verify: {setting: total, expect: before + 1}\n",
        "",
    ),
    (CONFIRM, "", "warning SET baud: the device is not looked for on its new settings"),
]


CASES = [*WHOLE, *TIMES, *LINES, *PROOFS, *COMMANDS]
