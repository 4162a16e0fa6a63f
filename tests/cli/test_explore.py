from tests.cli.bench import Bench


def test_x(bench: Bench) -> None:
    import sys

    d = bench.device()
    d2 = bench.device("cmd *: refuse")
    d3 = bench.device("cmd *: drop_ack; nop *: drop_request; hello 3-99: drop_request")
    bench.enter("gone", '{profile: demo/controller, url: "tcp://127.0.0.1:9"}')
    bench.enter("wrong", f'{{profile: demo/controller, url: "{d.url}", serial: OTHER}}')
    o = []

    def t(*w):
        e = bench.type(*w)
        o.append(f"$ {' '.join(w)}\n-> {e.code}\nOUT {e.out}ERR {e.err}\n")

    for w in [
        "send d1 ADJUST offset +5 --yes --json",
        "send d1 ADJUST offset delta=-5 --yes",
        "send d1 ADJUST offset -5 --yes",
        "send d1 BEEP",
        "send d1 BEEP --json",
        "send d2 BEEP --yes",
        "send d2 BEEP --yes --json",
        "send d3 ADJUST offset +1 --yes",
        "send d3 BEEP --yes",
        "send d3 BEEP --yes --json",
        "send gone SET interval 3",
        "send gone SET interval 3 --json",
        "send wrong SET interval 3",
        "send d1 SET intervall 3",
        "send d1 SET interval",
        "send d1 SET interval 3 4",
        "send d1 SET interval 0",
        "send d1 SET interval x",
        "send d1 SET interval 0 --json",
        "send nope SET interval 0 --json",
        "send d1 ADJUST offset +5 --key k --yes",
        "send d1 ADJUST offset +5 --key k --yes --json",
        "send d1 ADJUST offset +6 --key k --yes",
        "send d1 ADJUST offset +6 --key k --yes --json",
        "send d1 BEEP --yess",
        "send --policy",
        "send d1 BEEP --policy nonsense --yes",
        "send d1 BEEP --policy no-retry --yes",
        "send d1 BEEP --policy get-verify --yes",
        "send d1 --raw HELLO there --yes",
        "send d1 --raw HELLO there --yes --json",
        "send tcp://127.0.0.1:1 BEEP",
        "send tcp://127.0.0.1:1 --profile nope BEEP",
        "send tcp://127.0.0.1:1 --profile demo/controler BEEP",
        "send tcp://nonsense --profile demo/controller BEEP",
        "send d1",
        "send",
        "nonsense",
        "--version",
        "send d1 adjust offset +5",
        "send d1 ADJUST",
        "send d1 SET interval 5 -v",
        "send d1 SET interval 6 -vv",
        "send d1 SET interval 5 -q",
        "send d* SET interval 7",
        "doubt list",
        "doubt list --json",
        "get d1 offset interval",
        "get d3 offset",
        "get d1 offse",
        "get gone offset",
        "get gone offset --json",
        "probe d1 gone wrong",
        "probe d1 gone wrong --json",
        "probe d1 --take-over",
        "devices",
        "explain d1 ADJUST offset +5",
        "doubt show 01",
        "doubt check 01",
        "doubt resolve 01",
        "doubt resolve 01 --applied",
        "doubt resolve NOPE --applied --reason x",
        "send d1 BEEP --timeout",
        "send d1 BEEP --timeout nonsense",
        "send d1 SET interval 9 --timeout 0",
        "-C /nowhere send d1 BEEP",
        "send d1 SET interval 99 --attempts 0",
        "--json --yes send d1 BEEP",
        "send --json d1 --yes BEEP",
    ]:
        t(*w.split())
    open("/tmp/t/out.txt", "w").write("\n".join(o))
