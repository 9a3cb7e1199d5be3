------------------------------ MODULE Callers ------------------------------
(***************************************************************************)
(* Callers that processes keep in memory, and who changes them: when may a *)
(* process use what it has read earlier, and when may a changer say "done"?*)
(* README.md says what is left out and how to run it.                      *)
(*                                                                         *)
(* One caller; its state is the number of changes that are committed. A    *)
(* takeover is a change too: its answer is the successor's first admission.*)
(* One tick is about 125 ms. Times are ages that stop growing.             *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  A, B,
  Processes,    \* {A} or {A, B}: they meet in what is committed alone
  \* Rules, each TRUE or FALSE.
  Proves,       \* what is kept is used only while the subscription is proved
  FromSending,  \* a proof counts from the moment it was sent, not from its answer
  Waits,        \* who changes something waits before the answer
  DropsReads,   \* a read that began before a notification came is not kept
  DropsLost,    \* a connection that is lost or new leaves nothing that was kept before
  InOrder,      \* PostgreSQL tells of a change before it answers what was sent later
  \* Times in ticks.
  ProvedFor, InForceAfter,
  \* How often each may happen in one history.
  MostChanges, MostBreaks, MostStalls, MostDeaths

Nobody == -1
Kinds == {"break", "stall", "death"}
Max(a, b) == IF a > b THEN a ELSE b
Min(a, b) == IF a < b THEN a ELSE b

VARIABLES
  change,    \* the committed ones in order: how each stands, and its age since it was told
  answered,  \* the newest change whose changer has the answer
  process,   \* [process]: how it stands
  left       \* faults that may still happen

vars == <<change, answered, process, left>>

Version == Len(change)
NoRead == [at |-> "none", seen |-> Nobody, clean |-> FALSE]
NoProof == ProvedFor
\* `pipe`: what PostgreSQL has sent on the listening connection. `statement`: the proof on its way there, `asked` its age.
Started == [state |-> "well", kept |-> Nobody, read |-> NoRead, connection |-> "none", pipe |-> <<>>,
            statement |-> "none", asked |-> 0, proved |-> NoProof]

Init ==
  /\ change = <<>>
  /\ answered = 0
  /\ process = [p \in Processes |-> Started]
  /\ left = [kind \in Kinds |-> CASE kind = "break" -> MostBreaks [] kind = "stall" -> MostStalls [] kind = "death" -> MostDeaths]

Runs(p) == process[p].state = "well"
Becomes(p, next) == process' = [process EXCEPT ![p] = next]
Fault(kind) == left[kind] > 0 /\ left' = [left EXCEPT ![kind] = @ - 1]

----------------------------------------------------------------------------
\* Changers. A commit is seen by reads before anybody is told of it.

Commit ==
  /\ Version < MostChanges
  /\ change' = Append(change, [at |-> "committed", age |-> 0])
  /\ UNCHANGED <<answered, process, left>>

\* PostgreSQL has signalled everybody who listens when it answers the commit.
Tell(v) ==
  /\ v <= Version /\ change[v].at = "committed"
  /\ change' = [change EXCEPT ![v].at = "told"]
  /\ process' = [p \in Processes |->
       IF process[p].connection = "up" THEN [process[p] EXCEPT !.pipe = Append(@, "change")] ELSE process[p]]
  /\ UNCHANGED <<answered, left>>

Answer(v) ==
  /\ v <= Version /\ change[v].at = "told"
  /\ Waits => change[v].age >= InForceAfter
  /\ change' = [change EXCEPT ![v].at = "answered"]
  /\ answered' = Max(answered, v)
  /\ UNCHANGED <<process, left>>

----------------------------------------------------------------------------
\* A process: reads on other connections, and what it keeps of them.

BeginRead(p) ==
  /\ Runs(p) /\ process[p].read.at = "none"
  /\ Becomes(p, [process[p] EXCEPT !.read = [at |-> "begun", seen |-> Nobody, clean |-> TRUE]])
  /\ UNCHANGED <<change, answered, left>>

\* PostgreSQL reads, whatever has become of the process.
See(p) ==
  /\ process[p].read.at = "begun"
  /\ Becomes(p, [process[p] EXCEPT !.read.at = "seen", !.read.seen = Version])
  /\ UNCHANGED <<change, answered, left>>

EndRead(p) ==
  LET r == process[p].read IN
  /\ Runs(p) /\ r.at = "seen"
  /\ Becomes(p, [process[p] EXCEPT !.read = NoRead, !.kept = IF r.clean \/ ~DropsReads THEN r.seen ELSE @])
  /\ UNCHANGED <<change, answered, left>>

----------------------------------------------------------------------------
\* Its subscription.

Forgets(q) == IF DropsLost THEN [q EXCEPT !.kept = Nobody, !.read.clean = FALSE] ELSE q

Connect(p) ==
  /\ Runs(p) /\ process[p].connection = "none"
  /\ Becomes(p, [Forgets(process[p]) EXCEPT !.connection = "up"])
  /\ UNCHANGED <<change, answered, left>>

\* Lost with all that was on its way, and the process does not know.
Break(p) ==
  /\ Fault("break") /\ process[p].connection = "up"
  /\ Becomes(p, [process[p] EXCEPT !.connection = "broken", !.pipe = <<>>])
  /\ UNCHANGED <<change, answered>>

Notice(p) ==
  /\ Runs(p) /\ process[p].connection = "broken"
  /\ Becomes(p, [Forgets(process[p]) EXCEPT !.connection = "none", !.statement = "none", !.asked = 0, !.proved = NoProof])
  /\ UNCHANGED <<change, answered, left>>

Ask(p) ==
  /\ Runs(p) /\ process[p].connection # "none" /\ process[p].statement = "none"
  /\ Becomes(p, [process[p] EXCEPT !.statement = "sent", !.asked = 0])
  /\ UNCHANGED <<change, answered, left>>

\* PostgreSQL answers behind what it has sent.
Serve(p) ==
  /\ process[p].connection = "up" /\ process[p].statement = "sent"
  /\ Becomes(p, [process[p] EXCEPT !.statement = "served", !.pipe = Append(@, "proof")])
  /\ UNCHANGED <<change, answered, left>>

Without(pipe, i) == SubSeq(pipe, 1, i - 1) \o SubSeq(pipe, i + 1, Len(pipe))

Arrive(p) ==
  LET q == process[p] IN
  /\ Runs(p) /\ q.connection = "up"
  /\ \E i \in 1 .. Len(q.pipe) :
       /\ InOrder => i = 1
       /\ LET rest == [q EXCEPT !.pipe = Without(@, i)] IN
          Becomes(p, IF q.pipe[i] = "change" THEN [rest EXCEPT !.kept = Nobody, !.read.clean = FALSE]
                     ELSE [rest EXCEPT !.statement = "none", !.asked = 0, !.proved = IF FromSending THEN q.asked ELSE 0])
  /\ UNCHANGED <<change, answered, left>>

----------------------------------------------------------------------------
\* Faults, and time.

Stall(p) == Fault("stall") /\ Runs(p) /\ Becomes(p, [process[p] EXCEPT !.state = "stalled"]) /\ UNCHANGED <<change, answered>>
Wake(p) == process[p].state = "stalled" /\ Becomes(p, [process[p] EXCEPT !.state = "well"]) /\ UNCHANGED <<change, answered, left>>
\* Its successor starts with nothing in memory.
Die(p) == Fault("death") /\ Becomes(p, Started) /\ UNCHANGED <<change, answered>>

\* Nothing has to happen within a time: everything may be late.
Tick ==
  /\ change' = [v \in 1 .. Version |-> IF change[v].at = "told" THEN [change[v] EXCEPT !.age = Min(@ + 1, InForceAfter)] ELSE change[v]]
  /\ process' = [p \in Processes |-> [process[p] EXCEPT
       !.asked = IF process[p].statement = "none" THEN 0 ELSE Min(@ + 1, ProvedFor), !.proved = Min(@ + 1, NoProof)]]
  /\ UNCHANGED <<answered, left>>

Next ==
  \/ Commit
  \/ \E v \in 1 .. MostChanges : Tell(v) \/ Answer(v)
  \/ \E p \in Processes :
       \/ BeginRead(p) \/ See(p) \/ EndRead(p) \/ Connect(p) \/ Break(p) \/ Notice(p) \/ Ask(p) \/ Serve(p) \/ Arrive(p)
       \/ Stall(p) \/ Wake(p) \/ Die(p)
  \/ Tick

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* What must hold.

Uses(p) == Runs(p) /\ process[p].kept # Nobody /\ (Proves => process[p].proved < ProvedFor)

\* A request that begins after the answer never sees the old caller.
InForce == \A p \in Processes : Uses(p) => process[p].kept >= answered

\* Not so: without it, the other one would hold because nothing is ever used.
NeverUsed == \A p \in Processes : ~Uses(p)

Alike == Permutations(Processes)
============================================================================
