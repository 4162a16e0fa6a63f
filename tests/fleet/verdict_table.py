"""Who sees whom, and what is said of it: every case of FLEET.md 1 as a small picture.

A picture has a column per target and a row per agent. A column that has an agent's name is that agent. Cells:

    .    sees it: every probe of the last minute was answered
    3    three misses in a row, answered before          X    missed every probe of the last minute
    o    misses, the newest 20 s old                     O    misses, older than a minute
    b    misses of an earlier boot of the observer       !    could not probe: something else had the port
    ?    it answers, for a minute, that it is unwell     -    no row at all

After an agent's name: @VANTAGE, ~UPLINK, `ref` (a reference), and what is wrong with it: `sick` (its own report is
bad), `control` (its probe of a closed port succeeds), `starting`, `draining`, `down`, `dying` (its last sign of life is
28 s old, which is no lapse yet), `killed` (40 s old), `reborn`, `newborn` (it first reported 3 s, 1 s ago), `quiet` (no
report for 200 s, alive), `mute` (has not reported).

Below stands what is found, with parts of the sentence in quotes: status and words per target, `@x` the vantages, `a>b`
the pair, `by a` the reference, `untrusted a`, `split`, `alarm`. Whatever is not named must be healthy, trusted, silent.
"""

TABLE = """
## H4 a few misses are no failure
        lamp
    a   4
    b   .
lamp: shaky "a missed 4 in a row" "seen by 1 of 2"

## H11 one observer alone marks its pair and no more
        lamp
    a   X
lamp: pair_marked a>lamp "a cannot reach lamp" "nobody else looks" "either end or the path"

## M8 the fifth miss in a row is a failure
        lamp
    a   5
    b   .
lamp: pair_marked a>lamp "a cannot reach lamp for 22 s" "b can"

## M9 two of three is a quorum
        lamp
    a   X
    b   X
    c   .
lamp: unreachable "2 of 3 cannot reach it for 56 s or longer (no reply): a, b" "c can"

## M9 everybody
        lamp pump
    a   X    .
    b   5    .
lamp: unreachable "2 of 2 cannot reach it" "a, b" "nobody can"

## M9 behind one uplink there is one vote
            lamp
    a  ~u   X
    b  ~u   X
    c       .
lamp: pair_marked a>lamp "a, b cannot reach lamp" "1 of 2 votes" "c can"

## M9 who sees it speaks for the uplink
            lamp pump
    a  ~u   X    .
    b  ~u   .    .
    c       X    .
lamp: pair_marked a>lamp "a, c cannot reach lamp" "b can"

## M9 a tie is no quorum
        lamp
    a   X
    b   X
    c   .
    d   .
lamp: pair_marked a>lamp "a, b cannot reach lamp" "2 of 4 votes" "c, d can"

## M8 who missed it once or twice still sees it
        lamp
    a   X
    b   X
    c   2
    d   1
lamp: pair_marked a>lamp "a, b cannot reach lamp" "c, d can"

## M10 while it dies nobody is a liar yet
        d1  d2  d3  d4  d5
    a   5   5   5   5   5
    b   4   4   4   4   4
    c   3   3   3   3   3
d1 d2 d3 d4 d5: pair_marked "a cannot reach" "undecided: b, c"

## M11 M12 a block: two of five, all in one vantage
            lamp
    a  @x   X
    b  @x   X
    c  @y   .
    d  @y   .
    e  @z   .
lamp: unreachable_from @x "2 of 5 cannot reach it" "all in vantage x: a, b" "c, d, e can"

## M1 it is alive for the other vantage, though most cannot reach it
            lamp
    a  @x   X
    b  @x   X
    c  @x   X
    d  @y   .
    e  @y   .
lamp: unreachable_from @x "3 of 5" "all in vantage x: a, b, c" "d, e can"

## M11 two vantages are blocked
            lamp
    a  @x   X
    b  @x   X
    c  @y   X
    d  @y   X
    e  @z   .
lamp: unreachable_from @x @y "4 of 5" "all in vantages x, y" "e can"

## M11 a quorum at one vantage, and a tie in all
            lamp
    a  @x   X
    b  @x   X
    c  @y   X
    d  @y   .
    e  @y   .
    f  @z   .
lamp: unreachable_from @x "3 of 6" "a quorum in vantage x" "d, e, f can"

## M11 agents that stand for no vantage are none together
            lamp
    a       X
    b       X
    c  @y   .
    d  @y   .
lamp: pair_marked a>lamp "2 of 4 votes"

## M9 failures everywhere are no block of a vantage
            lamp
    a  @x   X
    b  @x   X
    c  @y   X
    d  @y   .
lamp: unreachable "3 of 4" "d can"

## M9 where all look from one vantage, that is everywhere
            lamp
    a  @x   X
    b  @x   X
    c  @x   .
lamp: unreachable "2 of 3" "c can"

## M11 one uplink is no quorum of its vantage
               lamp
    a  @x ~u   X
    b  @x ~u   X
    c  @y      .
lamp: pair_marked a>lamp "a, b cannot reach lamp" "c can"

## M6 that it sees itself is no vote
        a   b   c
    a   -   .   X
    b   .   -   X
    c   .   .   .
c: unreachable "2 of 2 cannot reach it" "nobody can"

## M13 M15 a pair of agents, one way
        a   b   c
    a   -   X   .
    b   .   -   .
    c   .   .   -
b: pair_marked a>b "a cannot reach b" "c can" "either end or the path"

## M14 M16 a pair of agents, both ways
        a   b   c
    a   -   X   .
    b   X   -   .
    c   .   .   -
a: pair_marked b>a "b and a cannot reach each other" "c can" "either end or the path"
b: pair_marked a>b "a and b cannot reach each other" "c can" "either end or the path"

## M6 alive by its own report, and nobody gets through
        a   b   c
    a   -   .   X
    b   .   -   X
    c   .   .   -
c: unreachable "2 of 2 cannot reach it" "a, b"

## M10 two of five: pair marks
        d1  d2  d3  d4  d5
    a   X   X   .   .   .
    b   .   .   .   .   .
    c   .   .   .   .   .
d1: pair_marked a>d1 "a cannot reach d1" "b, c can"
d2: pair_marked a>d2 "a cannot reach d2" "b, c can"

## M10 three of five: an unreliable witness
        d1  d2  d3  d4  d5
    a   X   X   X   .   .
    b   .   .   .   .   .
    c   .   .   .   .   .
d1: healthy "seen by 2 of 2"
a: healthy "its votes are ignored: it cannot reach 3 of 5 that others reach"
untrusted a: "3 of 5"

## M10 five of five: an unreliable witness
        d1  d2  d3  d4  d5
    a   X   X   X   X   X
    b   .   .   .   .   .
    c   X   .   .   .   .
d1: pair_marked c>d1 "c cannot reach d1" "b can"
untrusted a: "5 of 5"

## M10 half is enough
        d1  d2  d3  d4
    a   X   X   .   .
    b   .   .   .   .
untrusted a: "2 of 4"

## M10 two targets are too few to judge a witness
        d1  d2
    a   X   X
    b   .   .
d1: pair_marked a>d1
d2: pair_marked a>d2

## M10 what nobody else sees is no test of a witness
        d1  d2  d3
    a   X   X   .
    b   .   .   -
d1: pair_marked a>d1
d2: pair_marked a>d2

## M10 nor what only an ignored one sees
                d1  d2  d3
    a           X   X   X
    b  control  .   .   .
d1: pair_marked a>d1 "a cannot reach d1" "not counted: b"
d2: pair_marked a>d2
d3: pair_marked a>d3
untrusted b: "closed port"

## M10 a mass outage condemns no witness
        d1  d2  d3  d4  d5
    a   X   X   X   X   X
    b   X   X   X   X   X
    c   X   X   X   X   X
d1 d2 d3 d4 d5: unreachable "3 of 3 cannot reach it" "nobody can"

## M10 most witnesses contradict the others
        d1  d2  d3  d4
    a   X   X   X   .
    b   .   X   X   X
    c   .   .   .   .
    d   X   .   X   X
    e   .   .   .   .
d1 d2 d3 d4: healthy "seen by 2 of 2"
untrusted a: "3 of 4"
untrusted b: "3 of 4"
untrusted d: "3 of 4"
alarm "most agents contradict the others: a, b, d" "Nothing is excluded by votes"

## M10 and then not even the rest excludes
        d1  d2  d3  d4  d5
    a   X   X   X   .   X
    b   .   X   X   X   X
    c   .   .   .   .   X
    d   X   .   X   X   X
    e   .   .   .   .   X
d5: pair_marked c>d5 "c, e cannot reach d5" "Votes exclude nothing now: see the alarms"
untrusted a: "3 of 4"
untrusted b: "3 of 4"
untrusted d: "3 of 4"
alarm "most agents contradict the others"

## M10 who is ignored anyway is no witness among most
             d1  d2  d3  d4
    a        X   X   X   .
    b        .   X   X   X
    c        .   .   .   .
    d  sick  .   .   .   .
    e  sick  .   .   .   .
d e: unavailable "its own report says"
d1 d2 d3 d4: healthy
untrusted a: "3 of 4"
untrusted b: "3 of 4"
untrusted d: "its own report"
untrusted e: "its own report"
alarm "most agents contradict the others: a, b."

## Split: three and three
            a   b   c   d   e   f   lamp pump
    a  @x   -   .   .   X   X   X   .    X
    b  @x   .   -   .   X   X   X   .    X
    c  @x   .   .   -   X   X   X   .    X
    d  @y   X   X   X   -   .   .   X    .
    e  @y   X   X   X   .   -   .   X    .
    f  @y   X   X   X   .   .   -   X    .
a b c: pair_marked "d, e, f cannot reach"
d e f: pair_marked "a, b, c cannot reach"
lamp: pair_marked d>lamp "a, b, c can"
pump: pair_marked a>pump "d, e, f can"
split a b c | d e f
alarm "the fleet is split" "a, b, c | d, e, f" "Nothing is excluded by votes"

## Split: five and two, where votes would cut the two off
        a   b   c   d   e   lamp
    a   -   .   .   X   X   X
    b   .   -   .   X   X   X
    c   .   .   -   X   X   X
    d   X   X   X   -   .   .
    e   X   X   X   .   -   .
a b c: pair_marked "d, e cannot reach"
d e: pair_marked "a, b, c cannot reach"
lamp: pair_marked a>lamp "d, e can"
split a b c | d e
alarm "the fleet is split"

## Split: agents that do not look at each other
        d1  d2  d3  d4  d5  d6
    a   .   .   .   X   X   X
    b   .   .   .   X   X   X
    c   X   X   X   .   .   .
    d   X   X   X   .   .   .
d1 d2 d3: pair_marked c>* "c, d cannot reach"
d4 d5 d6: pair_marked a>* "a, b cannot reach"
split a b | c d
alarm "the fleet is split" "a, b | c, d"

## Split: a device that both sides see joins nobody
        a   b   c   d   sky
    a   -   .   X   X   .
    b   .   -   X   X   .
    c   X   X   -   .   .
    d   X   X   .   -   .
a b: pair_marked "c, d cannot reach"
c d: pair_marked "a, b cannot reach"
split a b | c d
alarm "the fleet is split"

## Split: who is ignored joins nobody
                a   b   c   d   e
    a           -   .   X   X   -
    b           .   -   X   X   -
    c           X   X   -   .   -
    d           X   X   .   -   -
    e  control  .   .   .   .   -
a b: pair_marked "c, d cannot reach"
c d: pair_marked "a, b cannot reach"
untrusted e: "closed port"
split a b | c d
alarm "the fleet is split" "a, b | c, d"

## Split: it is named with the first failure, before votes exclude anybody
        a   b   c   d
    a   -   .   5   4
    b   .   -   3   3
    c   4   3   -   .
    d   3   4   .   -
a: shaky "c missed 4 in a row, d missed 3 in a row"
b: shaky "missed"
c: pair_marked a>c
d: shaky "missed"
split a b | c d
alarm "the fleet is split"

## No split: a few misses across
        a   b   c   d
    a   -   .   4   4
    b   .   -   4   4
    c   4   4   -   .
    d   4   4   .   -
a b c d: shaky "missed 4 in a row"

## No split: on the word of one that is ignored
             a   b   c   d   e
    a        -   .   -   -   .
    b        .   -   -   -   -
    c        -   -   -   .   -
    d        -   -   .   -   -
    e  sick  .   .   X   X   -
e: unavailable "its own report says"
untrusted e: "its own report"

## No split: one agent alone with its own device
        d1  d2  d3  d4
    a   .   X   X   X
    b   X   .   .   .
    c   X   .   .   .
d1: unreachable "2 of 2 cannot reach it" "b, c; not counted: a"
untrusted a: "3 of 3"

## No split: one that sees both sides joins them
        a   b   c   d   e
    a   -   .   X   X   .
    b   .   -   X   X   .
    c   X   X   -   .   .
    d   X   X   .   -   .
    e   .   .   .   .   -
a b: healthy "seen by 1 of 1"
c d: healthy "seen by 1 of 1"
untrusted a: "2 of 4"
untrusted b: "2 of 4"
untrusted c: "2 of 4"
untrusted d: "2 of 4"
alarm "most agents contradict the others: a, b, c, d"

## M10 M14 an unreliable witness is no second end of a pair
        a   b   c   d   e
    a   -   X   X   .   .
    b   X   -   .   .   .
    c   .   .   -   .   .
    d   .   .   .   -   .
    e   .   .   .   .   -
a: pair_marked b>a "b cannot reach a" "c, d, e can"
untrusted a: "2 of 4"

## No split: one agent alone has lost the others
        a   b   c   d
    a   -   X   X   X
    b   X   -   .   .
    c   X   .   -   .
    d   X   .   .   -
a: unreachable "3 of 3" "b, c, d" "its votes are ignored"
untrusted a: "3 of 3"

## No split: two groups that never look at each other
        a   b   c   d
    a   -   .   -   -
    b   .   -   -   -
    c   -   -   -   .
    d   -   -   .   -

## No split: agents of two sites with devices of their own
        d1  d2
    a   .   -
    b   .   -
    c   -   .
    d   -   .

## M20 M21 a reference fails
            lamp pump
    a  ref  X    .
    b       .    .
    c       .    .
lamp: unreachable "by a" "the reference a cannot reach it" "1 of 3 cannot reach it" "consider another one"

## M20 a reference fails an agent
            a   b   c
    a  ref  -   X   .
    b       .   -   .
    c       .   .   -
b: unreachable "by a" "the reference a cannot reach it"

## M21 a reference that is blind has no authority
            d1  d2  d3  d4  d5
    a  ref  X   X   X   X   .
    b       .   .   .   .   .
    c       .   .   .   .   .
untrusted a: "4 of 5"

## M21 a reference that sees nothing at all has no authority
            lamp
    a  ref  X
    b       .
lamp: pair_marked a>lamp

## M21 a reference that has not reported has no authority
                 lamp pump
    a  ref mute  X    .
    b            .    .
lamp: pair_marked a>lamp
a: no_data "nobody has looked at it lately, and it has not reported yet"

## M21 a reference whose reports stopped has no authority
                  lamp pump
    a  ref quiet  X    .
    b             .    .
a: no_data "it has not reported for 200 s"
lamp: pair_marked a>lamp

## M21 references at odds about a device are a pair
            lamp pump
    a  ref  X    .
    b  ref  .    .
lamp: pair_marked a>lamp "a cannot reach lamp" "b can"

## M22 that an ordinary observer fails to see a reference means nothing
            a   b   c
    a  ref  -   .   .
    b       X   -   .
    c       .   .   -
a: healthy "seen by 1 of 1"

## M22 nor that some do
            a   b   c   d
    a  ref  -   .   .   .
    b       X   -   .   .
    c       X   .   -   .
    d       .   .   .   -
a: healthy "seen by 1 of 1"

## M22 all others fail to see a reference: it may be down
            a   b   c
    a  ref  -   .   .
    b       X   -   .
    c       X   .   -
a: shaky "the reference may be down: b, c cannot reach it"
alarm "the reference a may be down: b, c cannot reach it"

## M22 one other is not all others
            a   b
    a  ref  -   .
    b       X   -
a: healthy "nobody whose vote counts looks at it"

## M22 a miss of a reference is not its death
            a   b
    a  ref  -   .
    b       1   -
a: healthy "nobody whose vote counts looks at it"

## M21 two references against each other are a pair
            a   b   c
    a  ref  -   X   .
    b  ref  X   -   .
    c       .   .   -
a: pair_marked b>a "b and a cannot reach each other"
b: pair_marked a>b "a and b cannot reach each other"

## Split: no reference judges across
            a   b   c   d
    a  ref  -   .   X   X
    b       .   -   X   X
    c       X   X   -   .
    d       X   X   .   -
b: pair_marked "c, d cannot reach"
c d: pair_marked "a, b cannot reach"
split a b | c d
alarm "the fleet is split"

## M5 M26 nobody has ever looked
        lamp
    a   -
lamp: no_data "nobody has looked at it lately"

## M26 old failures are silence
        lamp
    a   o
    b   o
    c   o
lamp: no_data "nobody has looked at it for 22 s"

## M27 rows older than a minute mean nothing
        lamp
    a   O
    b   O
lamp: no_data "nobody has looked at it lately"

## H8 rows of an earlier boot mean nothing
        lamp
    a   b
    b   b
    c   .
lamp: healthy "seen by 1 of 1"

## Research 2.1: a probe that could not be made says nothing of the target
        lamp
    a   !
    b   !
    c   .
lamp: healthy "seen by 1 of 1"

## M4 equipment that says that it is unwell
        lamp
    a   ?
    b   .
lamp: unavailable "it says itself: flashing (to a, 2 s ago)"

## M4 who says that it is unwell was reached
        lamp
    a   ?
    b   X
    c   X
lamp: unavailable "it says itself: flashing"

## M4 M3 an agent that reports itself unwell, and whose votes are ignored
             a   b   lamp
    a  sick  -   .   X
    b        .   -   .
    c        .   .   X
a: unavailable "its own report says: port_missing" "20 s ago"
lamp: pair_marked c>lamp "b can"
untrusted a: "its own report is bad: port_missing"

## M5 a bad report that is too old says nothing
                   lamp
    a  sick quiet  X
    b              .
a: no_data "it has not reported for 200 s"
lamp: pair_marked a>lamp

## M4 only it could tell
             lamp
    a  sick  X
a: unavailable "port_missing"
lamp: no_data "only a can tell, whose votes are ignored"
untrusted a: "its own report is bad"

## A control probe that succeeds would call anything alive
                lamp
    a  control  .
    b           X
    c           X
lamp: unreachable "2 of 2" "b, c; not counted: a"
a: healthy "its votes are ignored"
untrusted a: "its probe of a closed port succeeds"

## M5 its reports stopped
               a   b
    a  quiet   -   .
    b          .   -
a: no_data "it has not reported for 200 s"

## M5 M26 killed: its neighbours' misses are its silence
                a   b   c   lamp
    a  killed   -   -   -   -
    b           X   -   .   .
    c           X   .   -   .
a: no_data "no sign of life for 40 s, and b, c cannot reach it"

## M5 killed, and not lapsed yet
                a   b   c
    a  dying    -   -   -
    b           5   -   .
    c           5   .   -
a: no_data "no sign of life for 28 s, and b, c cannot reach it"

## H8 started again: its absence is over
                a   b   c
    a  reborn   -   -   -
    b           X   -   .
    c           X   .   -
a: shaky "b missed 1 in a row, c missed 1 in a row"

## H8 started again, and nobody has looked since
                 a   b   c
    a  newborn   -   -   -
    b            X   -   .
    c            X   .   -
a: healthy "nobody looks at it; its own report is good"

## H8 started again, a reference's word
                a   b   c   lamp
    a  reborn   -   -   -   -
    b  ref      5   -   .   .
    c           .   .   -   .
a: shaky "b missed 1 in a row; seen by 1 of 2"

## M5 killed, a reference, and not lapsed yet
                   a   b   c
    a  dying ref   -   -   -
    b              5   -   .
    c              5   .   -
a: no_data "no sign of life for 28 s, and b, c cannot reach it"
alarm "the reference a may be down"

## M5 killed, a reference
                   a   b   c
    a  killed ref  -   -   -
    b              X   -   .
    c              X   .   -
a: no_data "no sign of life for 40 s, and b, c cannot reach it"
alarm "the reference a may be down"

## It says that it lives to its neighbours, if not to the store
                a   b
    a  killed   -   .
    b           .   -

## Stopped
              a   b   lamp
    a  down   -   X   X
    b         X   -   .
a: no_data "it was stopped"

## Draining: it begins nothing new, and still sees
                  lamp
    a  draining   X
    b             X
a: unavailable "it is draining"
lamp: unreachable "2 of 2"

## Starting: its word does not count yet
                  lamp
    a  starting   X
    b             X
a: unavailable "its own check has not passed yet"
lamp: pair_marked b>lamp

## M2 only its own word
        lamp
    a   .
a: healthy "nobody looks at it; its own report is good"

## M2 only the word of others
             a   b
    a  mute  -   .
    b        .   -
a: healthy "seen by 1 of 1; no report of its own yet"
b: healthy "seen by 1 of 1; its own report is good"
"""
