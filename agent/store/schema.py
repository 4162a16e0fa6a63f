"""What does the agent keep, and how does an older store become a current one?

`MIGRATIONS[n]` takes a store from version n to n + 1. A released migration is never edited; a change is a new one.
The statements are plain SQL, so that the same tables can stand on PostgreSQL.
"""

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # One row of facts about the store itself: `agent`, a random u64 made once (WIRE.md 4.1).
        "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
        # A device: its identity once known, its one counter (lease token and epoch), its LSQ1 session, its lease.
        """CREATE TABLE device (
            id INTEGER PRIMARY KEY, model TEXT, serial TEXT,
            counter INTEGER NOT NULL DEFAULT 0, number INTEGER NOT NULL DEFAULT 0,
            session INTEGER, boot INTEGER, last_seq INTEGER, opening TEXT, opened_by TEXT,
            holder TEXT, token INTEGER, held_since TEXT, expires_utc TEXT,
            UNIQUE (model, serial))""",
        # Where a device was met: normalised URL and unit. Several addresses may lead to one device.
        """CREATE TABLE address (
            url TEXT NOT NULL, unit INTEGER NOT NULL, device INTEGER NOT NULL REFERENCES device (id),
            PRIMARY KEY (url, unit))""",
        # One command for one device. `terms` is pinned for its life; the outcome is null while it is under way.
        """CREATE TABLE operation (
            op TEXT PRIMARY KEY, device INTEGER NOT NULL REFERENCES device (id), name TEXT NOT NULL,
            command TEXT NOT NULL, kind TEXT NOT NULL, class TEXT NOT NULL, policy TEXT NOT NULL, terms TEXT NOT NULL,
            profile TEXT NOT NULL, profile_digest TEXT NOT NULL, route TEXT NOT NULL, engine TEXT NOT NULL,
            key TEXT, run TEXT, step TEXT, reason TEXT, submitted_by TEXT NOT NULL, token INTEGER NOT NULL,
            created_utc TEXT NOT NULL, closed_utc TEXT,
            outcome TEXT, proof TEXT, cause TEXT, message TEXT, seq INTEGER, attempts INTEGER NOT NULL DEFAULT 0,
            before TEXT, expected TEXT, value TEXT, elapsed_s REAL)""",
        "CREATE INDEX operation_unsettled ON operation (device) WHERE outcome IS NULL OR outcome = 'in_doubt'",
        "CREATE INDEX operation_by_person ON operation (device) WHERE proof = 'person'",
        "CREATE INDEX operation_key ON operation (key, device) WHERE key IS NOT NULL",
        # What was learnt about an operation, in order, and the step that led to it.
        """CREATE TABLE evidence (
            op TEXT NOT NULL REFERENCES operation (op), n INTEGER NOT NULL, step TEXT,
            kind TEXT NOT NULL, fields TEXT NOT NULL, utc TEXT NOT NULL,
            PRIMARY KEY (op, n)) WITHOUT ROWID""",
    ),
    (
        # Until when a copy without a number, never answered, may still reach the device.
        "ALTER TABLE device ADD COLUMN quiet_utc TEXT",
        # A stream that opening anew does not cut: until when the answer to its last request may still come.
        "CREATE TABLE stream (stream TEXT PRIMARY KEY, until_utc TEXT NOT NULL, late_s REAL NOT NULL)",
    ),
    (
        # One plan under one key: its text as it was when it began, and the process that works on it.
        """CREATE TABLE run (
            run TEXT PRIMARY KEY, plan TEXT NOT NULL, key TEXT NOT NULL, path TEXT NOT NULL, text TEXT NOT NULL,
            digest TEXT NOT NULL, options TEXT NOT NULL, reason TEXT, actor TEXT NOT NULL, agent TEXT NOT NULL,
            job TEXT, holder TEXT, begun_utc TEXT NOT NULL, ended_utc TEXT, state TEXT NOT NULL, summary TEXT,
            UNIQUE (plan, key))""",
        # A step of a run on a device. What became of it is in its operation; `note` says why it had none.
        """CREATE TABLE run_step (
            run TEXT NOT NULL REFERENCES run (run), n INTEGER NOT NULL, device TEXT NOT NULL, step TEXT NOT NULL,
            command TEXT NOT NULL, note TEXT, PRIMARY KEY (run, device, step))""",
        "CREATE INDEX operation_run ON operation (run) WHERE run IS NOT NULL",
        "CREATE INDEX run_running ON run (job) WHERE state = 'running'",
        # A plan with a schedule. `consent` is the digest of the plan that somebody agreed to.
        """CREATE TABLE job (
            job TEXT PRIMARY KEY, path TEXT NOT NULL, cron TEXT NOT NULL, tz TEXT NOT NULL, missed TEXT NOT NULL,
            options TEXT NOT NULL, consent TEXT, reason TEXT, added_by TEXT NOT NULL, added_utc TEXT NOT NULL)""",
        # A time at which a job was due: whoever makes the row has claimed it.
        """CREATE TABLE due (
            job TEXT NOT NULL, due_utc TEXT NOT NULL, state TEXT NOT NULL, claimed_by TEXT, claimed_utc TEXT, run TEXT,
            note TEXT, PRIMARY KEY (job, due_utc))""",
        "CREATE INDEX due_running ON due (job) WHERE state = 'running'",
    ),
    (
        # The fleet. Columns `at` and `heartbeat` are seconds of the store's clock (agent/fleet/store_clock.py).
        # An agent: the process that has the name now, where it stands, when it was heard of last.
        """CREATE TABLE agent (
            name TEXT PRIMARY KEY, boot TEXT NOT NULL, holder TEXT NOT NULL, site TEXT NOT NULL, vantage TEXT NOT NULL,
            uplink TEXT NOT NULL, listens TEXT, probe_s REAL NOT NULL, state TEXT NOT NULL, heartbeat REAL NOT NULL,
            started_utc TEXT NOT NULL)""",
        # A way to a device: by which agent, at which URL.
        """CREATE TABLE route (
            agent TEXT NOT NULL REFERENCES agent (name), device TEXT NOT NULL, url TEXT NOT NULL,
            PRIMARY KEY (agent, device, url)) WITHOUT ROWID""",
        "CREATE INDEX route_device ON route (device)",
        # One probe's result, written by the observer about what it saw, and by nobody else. The rows of a round stand
        # together, because they are written and forgotten together.
        """CREATE TABLE observation (
            observer TEXT NOT NULL, boot TEXT NOT NULL, target TEXT NOT NULL, round INTEGER NOT NULL, at REAL NOT NULL,
            ok INTEGER NOT NULL, reason TEXT NOT NULL, rtt_s REAL,
            PRIMARY KEY (observer, boot, round, target)) WITHOUT ROWID""",
        # Every column stands in it (the key does anyway), so that reading a minute of rows is one walk.
        "CREATE INDEX observation_at ON observation (at, ok, reason, rtt_s)",
        # What an agent says of itself.
        """CREATE TABLE self_report (
            agent TEXT NOT NULL, boot TEXT NOT NULL, at REAL NOT NULL, ok INTEGER NOT NULL, reason TEXT NOT NULL,
            metrics TEXT NOT NULL, PRIMARY KEY (agent, boot, at)) WITHOUT ROWID""",
        # An operator's word about a device or an agent, and the last one who said yes or no to it.
        """CREATE TABLE fleet_mark (
            target TEXT NOT NULL, mark TEXT NOT NULL, holds INTEGER NOT NULL, by TEXT NOT NULL, reason TEXT,
            utc TEXT NOT NULL, PRIMARY KEY (target, mark))""",
        # The history of verdicts. A row follows the one before of its target, so that of two that say the same change
        # only one can be entered.
        """CREATE TABLE change (
            n INTEGER PRIMARY KEY, target TEXT NOT NULL, follows INTEGER NOT NULL, status TEXT NOT NULL,
            detail TEXT NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL, utc TEXT NOT NULL,
            UNIQUE (target, follows))""",
        # What somebody is to be told, once: due, given, undeliverable, or shown.
        """CREATE TABLE notice (
            n INTEGER PRIMARY KEY, about TEXT NOT NULL, kind TEXT NOT NULL, since TEXT NOT NULL, text TEXT NOT NULL,
            utc TEXT NOT NULL, "to" TEXT, state TEXT NOT NULL, told TEXT, UNIQUE (about, kind, since))""",
        "CREATE INDEX notice_open ON notice (state) WHERE state IN ('due', 'undeliverable')",
    ),
)

VERSION = len(MIGRATIONS)
