"""Is each change told once, whoever notices it, and does it get to somebody whatever fails?"""

import asyncio
import json
import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from email.header import decode_header, make_header
from itertools import pairwise
from pathlib import Path

import pytest

from agent.fleet import messenger
from agent.fleet.deliveries import BATCH_MAX, CLAIM_S, PAUSES_S, UNSENT_MAX, Deliveries
from agent.fleet.messenger import INSTALL, Letter
from agent.fleet.notice_rows import KEPT_MAX, State
from agent.fleet.notices import Notice, Notices
from agent.fleet.occasions import PAIR_MISSES, Kind, occasions
from agent.fleet.verdict import Fleet, Status, Verdict, verdict
from agent.service import Service
from agent.store.database import StoreError
from logs.place import LOG_FILE
from tests.fleet.crew import Crew, crew, full
from tests.fleet.operations import in_doubt
from tests.fleet.pictures import NOW_S, pictures
from tests.fleet.smtp_sink import mail_server, webhook

pytestmark = pytest.mark.filterwarnings(
    "ignore:'imghdr' is deprecated:DeprecationWarning"
)  # apprise's import

WELL = Verdict(
    status=Status.HEALTHY, reason="seen by 3 of 3", fails=(), sees=(), ignored=(), vantages=(), pair=None,
    age_s=1.0, stale=False, streaks={},
)  # fmt: skip
BLOCKED = replace(WELL, status=Status.UNREACHABLE, reason="2 of 3 cannot reach it", reference="ref")
SECRET = "hunter2"  # noqa: S105 - a made-up one


def fleet(
    *alarms: str,
    untrusted: dict[str, str] | None = None,
    split: tuple[frozenset[str], ...] = (),
    **verdicts: Verdict,
) -> Fleet:
    """Verdicts on devices."""
    return Fleet({f"device:{name}": each for name, each in verdicts.items()}, untrusted or {}, split, alarms)


def marked(misses: int, observer: str = "gw1", target: str = "pump") -> Verdict:
    """A pair that is marked for so many misses."""
    reason = f"{observer} cannot reach {target}"
    return replace(
        WELL, status=Status.PAIR_MARKED, reason=reason, pair=(observer, target), streaks={observer: misses}
    )


def look(service: Service, of: Fleet, ago_s: float = 0.0) -> list[str]:
    """A look of an agent at verdicts that were computed so long ago."""
    return Notices(service).look(of, service.steady.now().timestamp() - ago_s)


def kinds(service: Service) -> list[Kind]:
    """What there is, oldest first."""
    return [each.kind for each in reversed(Notices(service).kept(100))]


def only(service: Service) -> Notice:
    """The one notice."""
    [notice] = Notices(service).kept(100)
    return notice


class Post:
    """Another way to send; `fails`: what is said of each letter, by its URL."""

    def __init__(self, **fails: str) -> None:
        self.letters: list[Letter] = []
        self.fails = fails

    async def __call__(self, letters: Sequence[Letter]) -> list[str | None]:
        self.letters += letters
        return [self.fails.get(letter.url) for letter in letters]


def deliver(service: Service, *urls: str, post: Post | None = None, told: list[str] | None = None) -> None:
    """One round of an agent that has just started."""
    said: list[str] = []
    asyncio.run(Deliveries(service, urls, (said if told is None else told).append, send=post).deliver())


def one_due(them: Crew, name: str = "gw1") -> Service:
    """An agent on a store with one notice."""
    service = them.agent(name)
    assert look(service, fleet(pump=BLOCKED))
    return service


# --- what is told -----------------------------------------------------------------------------------------------------


def test_once_whoever_looks(quick_home: Path) -> None:
    """M21: several agents see one change at the same moment, and one notice is entered."""
    with crew(quick_home) as them:
        agents = [them.agent(f"gw{number}") for number in range(5)]
        told = [look(each, fleet(pump=BLOCKED)) for each in agents]
        assert [len(each) for each in told] == [1, 0, 0, 0, 0]
        for _ in range(3):
            them.clock.pass_s(5)
            assert [look(each, fleet(pump=BLOCKED)) for each in agents] == [[]] * 5
        assert kinds(agents[0]) == [Kind.UNREACHABLE]


def test_a_race_of_writers(quick_home: Path) -> None:
    """An agent that has looked, and finds when it writes that another one has written meanwhile, tells nothing."""
    with crew(quick_home) as them:
        first, second = them.agent("gw1"), them.agent("gw2")
        notices = Notices(second)
        commit = second.database.commit_now

        def later(write):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as commit_now
            assert len(look(first, fleet(pump=BLOCKED))) == 1
            return commit(write)

        second.database.commit_now = later  # type: ignore[method-assign]
        assert notices.look(fleet(pump=BLOCKED), second.steady.now().timestamp()) == []
        assert kinds(first) == [Kind.UNREACHABLE]


def test_again_after_it_was_over(quick_home: Path) -> None:
    """What has healed and comes back is another change; a late look at the time before brings nothing back."""
    with crew(quick_home) as them:
        service, slow = them.agent("gw1"), them.agent("gw2")
        told = []
        for each in (BLOCKED, WELL, BLOCKED, BLOCKED):
            them.clock.pass_s(5)
            told.append(len(look(service, fleet(pump=each))))
            assert look(slow, fleet(pump=BLOCKED), ago_s=6) == []
            assert look(slow, fleet(pump=WELL), ago_s=6) == []
        assert told == [1, 0, 1, 0]


def test_a_restarted_agent_tells_nothing_anew(quick_home: Path) -> None:
    """What lasts over the restart of an agent was told, and its end is noticed by the new process."""
    with crew(quick_home) as them:
        look(them.agent("gw1"), fleet(pump=BLOCKED))
        them.clock.pass_s(5)
        assert look(them.agent("gw1"), fleet(pump=BLOCKED)) == []
        assert look(them.agent("gw1"), fleet(pump=WELL)) == []
        them.clock.pass_s(5)
        assert len(look(them.agent("gw1"), fleet(pump=BLOCKED))) == 1


def test_a_blocked_address() -> None:
    """M21: the notice has the votes and recommends a new address; a verdict by votes alone is no notice."""
    [(key, occasion)] = occasions(fleet(pump=BLOCKED)).items()
    assert key == ("device:pump", Kind.UNREACHABLE)
    assert "2 of 3 cannot reach it" in occasion.text
    assert "new address" in occasion.text
    assert occasions(fleet(pump=replace(BLOCKED, reference=None))) == {}


def test_one_notice_per_pair() -> None:
    """M17: a pair is told once, however many of its ends say so, and only when others had time to vote."""
    both = Fleet(
        {
            "agent:gw1": marked(PAIR_MISSES, "gw2", "gw1"),
            "agent:gw2": marked(PAIR_MISSES - 1, "gw1", "gw2"),
        },
        {}, (), (),
    )  # fmt: skip
    [(key, occasion)] = occasions(both).items()
    assert key == ("agent:gw1 and agent:gw2", Kind.PAIR)
    assert occasion.ripe
    [(key, young)] = occasions(fleet(pump=marked(PAIR_MISSES - 1))).items()
    assert key == ("agent:gw1 and device:pump", Kind.PAIR)
    assert not young.ripe


def test_a_pair_lasts_on(quick_home: Path) -> None:
    """A pair that was told is not told again when its streak is shorter for a while."""
    with crew(quick_home) as them:
        service, told = them.agent("gw1"), []
        for misses in (5, PAIR_MISSES, 6, PAIR_MISSES):
            them.clock.pass_s(5)
            told.append(len(look(service, fleet(pump=marked(misses)))))
        assert told == [0, 1, 0, 0]


DRAWN = """
## split
         g1 g2 g3 g4
    g1   .  .  x  x
    g2   .  .  x  x
    g3   x  x  .  .
    g4   x  x  .  .

## the reference may be down
             r1 d1
    r1  ref  -  .
    g2       x  .
    g3       x  .

## unreliable
         d1 d2 d3 d4
    g1   x  x  x  x
    g2   .  .  .  .
    g3   .  .  .  .
"""


@pytest.mark.parametrize(
    ("number", "key"),
    [
        (0, ("fleet", Kind.SPLIT)),
        (1, ("fleet: the reference r1 may be down", Kind.ALARM)),
        (2, ("agent:g1", Kind.UNRELIABLE_VIEW)),
    ],
)
def test_of_real_verdicts(number: int, key: tuple[str, Kind]) -> None:
    """A split, a lost reference and an unreliable view are told as verdicts find them, each under its own kind."""
    found = occasions(verdict(pictures(DRAWN)[number].facts, NOW_S))
    assert [each for each in found if each[1] is not Kind.PAIR] == [key]
    assert "ackonce fleet" in found[key].text


def test_an_alarm_with_other_figures_is_the_same(quick_home: Path) -> None:
    """A mass alarm whose figures and names change is told once; another alarm beside it is told too."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        counts = []
        for alarms in (
            ["3 of 5 agents fell silent within 60 s: a, b, c. See"],
            ["4 of 5 agents fell silent within 60 s: a, b, c, d. See"],
            [
                "4 of 5 agents fell silent within 60 s: a, b, c, d. See",
                "6 of 9 that were found stay in use: e",
            ],
        ):
            them.clock.pass_s(5)
            at_s = service.steady.now().timestamp()
            counts.append(len(Notices(service).look(fleet(), at_s, alarms)))
        assert counts == [1, 0, 1]


def test_each_doubt_once(quick_home: Path) -> None:
    """An operation that ends in doubt is one notice, however many agents look and however often it is looked at."""
    with crew(quick_home) as them:
        op = in_doubt(them.agent("gw0"))
        agents = [them.agent("gw1"), them.agent("gw2")]
        told = [look(each, fleet()) for each in agents * 2]
        assert [len(each) for each in told] == [1, 0, 0, 0]
        assert f"ackonce doubt show {op}" in told[0][0]
        assert "asked for by ana" in told[0][0]
        assert only(agents[0]).about == op


def test_turns_of_jobs(quick_home: Path) -> None:
    """A turn that failed or was missed is one notice per due time; one that went well is none."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        for state in ("unfinished", "unfinished", "done", "running", "serving"):
            Notices(service).turn("night", "22:00", state, "2 refused")
        Notices(service).turn("night", "23:00", "missed", "missed 1 time; not run")
        assert kinds(service) == [Kind.JOB_FAILED, Kind.JOB_MISSED]


def test_a_turn_while_the_store_fails(quick_home: Path) -> None:
    """What cannot be entered now is entered with the next look."""
    with crew(quick_home) as them:
        service = them.agent("gw1")
        notices = Notices(service)
        with full(service):
            notices.turn("night", "22:00", "unfinished", "x" * 900)
            for number in range(9):  # no free page takes them all
                notices.turn("night", f"23:0{number}", "unfinished", "x" * 900)
        assert len(notices.kept(100)) < 10
        notices.look(fleet(), service.steady.now().timestamp())
        assert len(notices.kept(100)) == 10


def test_old_rows_are_forgotten(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many rows are kept, the newest."""
    assert KEPT_MAX >= 1000
    monkeypatch.setattr("agent.fleet.notice_rows.KEPT_MAX", 3)
    with crew(quick_home) as them:
        service = them.agent("gw1")
        for number in range(5):
            Notices(service).turn("night", f"2{number}:00", "missed", "not run")
        assert [each.text[13:18] for each in Notices(service).kept(100)] == ["24:00", "23:00", "22:00"]


# --- how it leaves ----------------------------------------------------------------------------------------------------


def test_a_real_mail(quick_home: Path) -> None:
    """A notice reaches a mail server as a mail that says what happened, where and what to type; it is given then."""

    async def scenario(service: Service) -> None:
        async with mail_server() as sink:
            url = f"mailto://127.0.0.1:{sink.port}?from=ackonce@example.org&to=ops@example.org&mode=insecure"
            deliveries = Deliveries(service, [url], pytest.fail)
            await deliveries.deliver()
            await deliveries.deliver()
            [mail] = sink.mails()
            assert sink.recipients == [["ops@example.org"]]
        assert str(make_header(decode_header(mail["Subject"]))) == "ackonce: unreachable: pump"
        body = mail.get_payload(decode=True)
        assert isinstance(body, bytes)
        text = " ".join(body.decode().split())
        assert "pump is unreachable: 2 of 3 cannot reach it." in text
        assert "ackonce fleet show pump" in text
        assert "From agent gw1" in text

    with crew(quick_home) as them:
        service = one_due(them)
        asyncio.run(scenario(service))
        assert only(service).state is State.GIVEN


def test_a_real_webhook(quick_home: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One that turns the first request away gets it again after the pause; no secret of its URL is told anywhere."""

    async def scenario(them: Crew, service: Service) -> list[str]:
        told: list[str] = []
        async with webhook(refuses=1) as sink:
            url = f"json://user:{SECRET}@127.0.0.1:{sink.port}/{SECRET}"
            deliveries = Deliveries(service, [url], told.append)
            await deliveries.deliver()
            assert sink.raw == []
            assert (only(service).state, only(service).tries) == (State.DUE, 1)
            told.append(only(service).why or "")
            them.clock.pass_s(PAUSES_S[0] - 1)
            await deliveries.deliver()
            assert sink.raw == []
            them.clock.pass_s(1)
            await deliveries.deliver()
            [raw] = sink.raw
        head, body = raw.split(b"\r\n\r\n", 1)
        assert head.startswith(f"POST /{SECRET}".encode())
        assert json.loads(body)["title"] == "ackonce: unreachable: pump"
        return told

    with crew(quick_home) as them, caplog.at_level(logging.DEBUG):
        service = one_due(them)
        told = asyncio.run(scenario(them, service))
        assert only(service).state is State.GIVEN
        assert told == ["url 1 of [notify] (json) did not take it"]
        log = (quick_home / LOG_FILE).read_text() if (quick_home / LOG_FILE).exists() else ""
        rows = str(service.database.read("SELECT * FROM notice"))
        assert SECRET not in log + rows + caplog.text + str(told)


def test_what_no_service_understands(quick_home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A URL without sense is told by its place; what may be a token in it is not."""
    with crew(quick_home) as them:
        service = one_due(them)
        deliver(service, f"nosuch://{SECRET}/x", f"{SECRET}:x")
        assert only(service).why == (
            "url 1 of [notify] (nosuch) is no URL that apprise understands, "
            "url 2 of [notify] is no URL that apprise understands"
        )
        assert SECRET not in "".join(capfd.readouterr())


def test_growing_pauses_to_the_end(quick_home: Path) -> None:
    """A service that never takes it is tried after growing pauses, so many times, then the notice is undeliverable."""
    with crew(quick_home) as them:
        service, post = one_due(them), Post(a="did not take it")
        told: list[str] = []
        at_s: list[float] = []
        deliveries = Deliveries(service, ["a"], told.append, send=post)

        async def hours() -> None:
            for _ in range(250):
                before = len(post.letters)
                await deliveries.deliver()
                at_s.extend([them.clock.up_s] * (len(post.letters) - before))
                them.clock.pass_s(5)

        asyncio.run(hours())
        assert [later_s - s for s, later_s in pairwise(at_s)] == list(PAUSES_S)
        assert list(PAUSES_S) == sorted(set(PAUSES_S))
        assert only(service).state is State.UNDELIVERABLE
        assert told == [
            "notices could not be delivered, and are shown instead: url 1 of [notify] did not take it"
        ]


def test_only_to_those_who_have_not_taken_it(quick_home: Path) -> None:
    """Where one of two URLs fails, the next try is for that one alone."""
    with crew(quick_home) as them:
        service, post = one_due(them), Post(b="did not take it")
        deliver(service, "a", "b", post=post)
        them.clock.pass_s(PAUSES_S[0])
        post.fails.clear()
        deliver(service, "a", "b", post=post)
        assert [letter.url for letter in post.letters] == ["a", "b", "b"]
        assert only(service).state is State.GIVEN


def test_two_agents_send_once(quick_home: Path) -> None:
    """While one agent sends, another one that looks does not; what the first leaves behind dead is sent later."""
    with crew(quick_home) as them:
        service, other, post = one_due(them), them.agent("gw2"), Post()

        async def meanwhile(_: Sequence[Letter]) -> list[str | None]:
            await Deliveries(other, ["a"], pytest.fail, send=post).deliver()
            raise asyncio.CancelledError  # the process ends

        with pytest.raises(asyncio.CancelledError):
            asyncio.run(Deliveries(service, ["a"], pytest.fail, send=meanwhile).deliver())
        assert post.letters == []
        them.clock.pass_s(CLAIM_S - 1)
        deliver(other, "a", post=post)
        assert post.letters == []
        them.clock.pass_s(1)
        deliver(other, "a", post=post)
        assert len(post.letters) == 1


def test_a_race_for_a_claim(quick_home: Path) -> None:
    """Of two agents that find a notice due at the same moment, one sends it."""
    with crew(quick_home) as them:
        service, other, post = one_due(them), them.agent("gw2"), Post()
        commit = service.database.commit_now

        def later(write):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as commit_now
            assert len(Deliveries(other, ["a"], pytest.fail, send=post)._claim()) == 1
            return commit(write)

        service.database.commit_now = later  # type: ignore[method-assign]
        deliver(service, "a", post=post)
        assert post.letters == []


def test_what_was_taken_is_not_sent_again_when_the_store_fails(quick_home: Path) -> None:
    """A store that fails after the sending: the process remembers what was taken, and writes it later."""
    with crew(quick_home) as them:
        service, post = one_due(them), Post()
        deliveries = Deliveries(service, ["a"], pytest.fail, send=post)
        commit, calls = service.database.commit_now, []

        def failing(write):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202 - as commit_now
            calls.append(write)
            if len(calls) == 2:
                raise StoreError("full")
            return commit(write)

        service.database.commit_now = failing  # type: ignore[method-assign]
        with pytest.raises(StoreError):
            asyncio.run(deliveries.deliver())
        them.clock.pass_s(CLAIM_S + 1)
        asyncio.run(deliveries.deliver())
        assert len(post.letters) == 1
        assert only(service).state is State.GIVEN


def test_many_in_one_message(quick_home: Path) -> None:
    """What is due together goes in one message, so many at most."""
    with crew(quick_home) as them:
        service, post = them.agent("gw1"), Post()
        verdicts = {f"device:p{number}": BLOCKED for number in range(BATCH_MAX + 1)}
        look(service, Fleet(verdicts, {}, (), ()))
        deliver(service, "a", post=post)
        [letter] = post.letters
        assert letter.title == f"ackonce: {BATCH_MAX} notices"
        assert letter.body.count("is unreachable") == BATCH_MAX
        deliver(service, "a", post=post)
        assert post.letters[1].title.startswith("ackonce: unreachable: p")


def test_without_apprise(quick_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra notices are kept, no try is counted, and how to install it is said once."""
    monkeypatch.setattr(messenger, "is_installed", lambda: False)
    with crew(quick_home) as them:
        service = one_due(them)
        told: list[str] = []
        deliveries = Deliveries(service, ["json://x"], told.append)
        for _ in range(3):
            asyncio.run(deliveries.deliver())
        assert told == [INSTALL]
        assert "pip install 'ackonce[notify]'" in INSTALL
        assert (only(service).state, only(service).tries) == (State.DUE, 0)


def test_apprise_is_not_imported_to_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is there is found out without importing it."""
    monkeypatch.setattr("builtins.__import__", lambda *_, **__: pytest.fail("imported"))
    assert messenger.is_installed()


def test_nobody_sends(quick_home: Path) -> None:
    """Where no agent has URLs a notice waits an hour for one that has, then it is undeliverable, and shown."""
    with crew(quick_home) as them:
        service = one_due(them)
        told: list[str] = []
        them.clock.pass_s(UNSENT_MAX.total_seconds() - 1)
        deliver(service, told=told)
        assert only(service).state is State.DUE
        them.clock.pass_s(1)
        deliver(service, told=told)
        assert only(service).state is State.UNDELIVERABLE
        assert told == []
        assert timedelta(seconds=sum(PAUSES_S)) < UNSENT_MAX


def test_an_ended_pause_after_a_restart_of_the_machine(quick_home: Path) -> None:
    """A pause that began before the machine was restarted does not last for days."""
    with crew(quick_home) as them:
        service, post = one_due(them), Post(a="did not take it")
        deliver(service, "a", post=post)
        them.restart_machine(them.clock.wall - timedelta(days=3))
        deliver(them.agent("gw1"), "a", post=post)
        assert len(post.letters) == 2


def test_the_duty_goes_on_while_the_store_fails(quick_home: Path) -> None:
    """The duty says once that the store fails, goes on, and ends when a person interrupts."""
    with crew(quick_home) as them:
        service = one_due(them)
        told: list[str] = []
        naps: list[float] = []

        async def nap(seconds: float) -> None:
            naps.append(seconds)
            if len(naps) == 3:
                service.executor.give_up("interrupted")

        def failing(_: object) -> None:
            raise StoreError("full")

        service.clock.sleep = nap  # type: ignore[method-assign]
        service.database.commit_now = failing  # type: ignore[assignment, method-assign]
        asyncio.run(Deliveries(service, ["a"], told.append, send=Post()).keep_delivering())
        assert told == ["notices cannot be sent: full"]
        assert len(naps) == 3
