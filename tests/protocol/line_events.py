"""What do the tests of the text codec share? A grammar like that of the demo device, and events in short."""

from dataclasses import replace

from protocol.line import Answered, Event, Grammar, Ignored, LineRequester

GRAMMAR = Grammar(
    ack=r"^OK(?: (?P<value>.*))?$",
    nak=r"^ERR (?P<reason>.*)$",
    busy=r"^BUSY",
    notice=(r"^# ",),
    boot=r"^READY",
)
CONSOLE = replace(GRAMMAR, prompt=r"^\w*> ?$", echo=True)
ECHOING = replace(GRAMMAR, echo=True)
#: Equipment that answers a query with the bare number, as SCPI does.
BARE = replace(GRAMMAR, ack=r"^(?P<value>-?\d+(?:\.\d+)?)$")


def asking(grammar: Grammar = GRAMMAR, text: str = "GET offset", reply: str | None = None) -> LineRequester:
    """A requester with one request outstanding."""
    requester = LineRequester(grammar)
    requester.ask(text, reply)
    return requester


def heard(
    data: bytes, grammar: Grammar = GRAMMAR, text: str = "GET offset", reply: str | None = None
) -> list[str]:
    """What comes in after a request, in short."""
    return briefly(asking(grammar, text, reply).receive(data))


def briefly(events: list[Event]) -> list[str]:
    """Events as words: `value 15`, `done`, `refused full`, the reason of what was ignored, else the kind of event."""
    return [_word(event) for event in events]


def _word(event: Event) -> str:
    match event:
        case Answered(refused=True, value=reason):
            return f"refused {reason}"
        case Answered(value=None):
            return "done"
        case Answered(value=value):
            return f"value {value}"
        case Ignored(why=why):
            return why
        case _:
            return type(event).__name__.lower()
