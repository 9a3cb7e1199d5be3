------------------------------- MODULE Holds -------------------------------
(***************************************************************************)
(* How money is held while requests run: two gateway processes, two limit  *)
(* stores (a Redis master and its replica, or the memories of two          *)
(* processes), one organization, one hold for each process at a time.      *)
(* README.md says what is left out and how to run it.                      *)
(*                                                                         *)
(* The balance pays for exactly one hold, each charge costs its whole hold.*)
(* One tick is a few seconds; whatever must happen within a time keeps     *)
(* time from passing (Overdue). Times are kept as ages that stop growing,  *)
(* so the states are finite however long a history is.                     *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, TLC

CONSTANTS
  A, B,
  \* Cures, each TRUE or FALSE.
  ReadsAgain,       \* an organization that a store does not know is read once more before it is believed
  DistrustsLapsed,  \* what lapsed may have been charged: everybody reads again
  DistrustsReleases, \* and so they do when a release brings what cannot be compared
  ChargesOnce,      \* a charge is made once for each generation, however often it is sent
  EndsInTime,       \* a process that cannot renew a lease ends the request before it may lapse
  OwedStays,        \* what a response is to be charged stays held until that is committed
  Quarantines,      \* D2: what lapses stays deducted until its end
  GuardsClock,      \* a step of a store's clock is not believed
  SeesLoss,         \* a store notices that it lost one organization, as it does when it lost all
  Fences,           \* D3: a new incarnation opens with a fence raised in PostgreSQL, admissions carry the one they read
  NewestFence,      \* D3: a newer fence of an incarnation replaces an older one, whichever arrives first
  ConfirmsFence,    \* D3: a lease counts only from the last read that showed its store's fence
  \* Times in ticks.
  Lease, CancelAfter, SettleMost, OpensAfter, TotalMost, QuarantineEnd,
  \* How often each may happen in one history.
  MostPromotions, MostFlushes, MostLosses, MostSteps, MostStalls, MostDeaths, MostCuts, MostFences,
  \* TRUE: each process has a store of its own, which the other never reaches (limits in memory).
  OwnStores,
  CutsOff,    \* what a process may be cut off from: "postgres", "store" or both
  MovesBack   \* addresses may lead back to the old master

Processes == {A, B}
Stores == {"old", "new"}
Kinds == {"promotion", "flush", "loss", "step", "stall", "death", "cut"}
Unfenced == -1
Never == -1
Nothing == <<"none", 0>>
Balance == 1
Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

VARIABLES
  charged,    \* PostgreSQL: charges so far, which is the sequence of the account too
  pgFence,    \* PostgreSQL: the newest fence
  store,      \* what a store knows, besides holds
  hold,       \* [store][process]: "none", "held" or "quarantined"
  lease,      \* [store][process]: ticks until the lapse
  request,    \* [process]: the request it has
  process,    \* [process]: how it stands
  left,       \* faults that may still happen
  excused     \* ghost: requests that the cures give up, by process

vars == <<charged, pgFence, store, hold, lease, request, process, left, excused>>

NoRequest == [at |-> "none", seq |-> 0, fence |-> 0, storeFence |-> 0, age |-> 0, settling |-> 0, unrenewed |-> 0, unconfirmed |-> 0, times |-> 0]

Init ==
  /\ charged = 0
  /\ pgFence = 0
  /\ store = [s \in Stores |->
       [isMaster |-> s = "old", incarnation |-> 0, fence |-> 0, raised |-> 0, opensIn |-> 0, trusted |-> FALSE, told |-> {}, seq |-> Never, deaf |-> {}]]
  /\ hold = [s \in Stores |-> [p \in Processes |-> "none"]]
  /\ lease = [s \in Stores |-> [p \in Processes |-> 0]]
  /\ request = [p \in Processes |-> NoRequest]
  /\ process = [p \in Processes |->
       [state |-> "well", pgCut |-> FALSE,
        cutFrom |-> IF OwnStores THEN (IF p = A THEN {"new"} ELSE {"old"}) ELSE {},
        address |-> IF OwnStores /\ p = B THEN "new" ELSE "old",
        raised |-> 0, raisedFor |-> Nothing]]
  /\ left = [k \in Kinds |->
       CASE k = "promotion" -> MostPromotions [] k = "flush" -> MostFlushes [] k = "loss" -> MostLosses [] k = "step" -> MostSteps
         [] k = "stall" -> MostStalls [] k = "death" -> MostDeaths [] k = "cut" -> MostCuts]
  /\ excused = {}

----------------------------------------------------------------------------
\* Who can do what.

Runs(p) == process[p].state = "well"
ReachesPg(p) == Runs(p) /\ ~process[p].pgCut
Address(p) == process[p].address
Reaches(p, s) == Runs(p) /\ s \notin process[p].cutFrom /\ store[s].isMaster
ReachesStore(p) == Reaches(p, Address(p))
\* May still be charged for.
Owes(p) == request[p].at \in {"live", "settling", "waiting"}
IsOpen(s) == store[s].isMaster /\ store[s].opensIn = 0 /\ (Fences => store[s].fence # Unfenced)
\* "I am the old master": who asks has read of a newer fence.
IsFencedOff(p, s) == Fences /\ store[s].fence # Unfenced /\ request[p].fence > store[s].fence

Distrust(st) == [st EXCEPT !.trusted = FALSE, !.told = {}]
NewIncarnation(st) ==
  [st EXCEPT !.isMaster = TRUE, !.incarnation = @ + 1, !.fence = IF Fences THEN Unfenced ELSE 0, !.raised = 0, !.opensIn = OpensAfter,
             !.trusted = FALSE, !.told = {}, !.seq = Never, !.deaf = {}]
NoHolds == [p \in Processes |-> "none"]
NoLeases == [p \in Processes |-> 0]

\* The request is no more. What stores still hold for it, they free one day: at once, which is the least that they do.
End(p, told) ==
  /\ request' = [request EXCEPT ![p] = NoRequest]
  /\ hold' = [s \in Stores |-> [hold[s] EXCEPT ![p] = "none"]]
  /\ lease' = [s \in Stores |-> [lease[s] EXCEPT ![p] = 0]]
  /\ store' = [s \in Stores |-> IF hold[s][p] # "none" /\ s # told /\ DistrustsLapsed THEN Distrust(store[s]) ELSE store[s]]
  /\ excused' = excused \ {p}

----------------------------------------------------------------------------
\* A request: read, admit, live, settle, charge, release.

Read(p) ==
  /\ request[p].at \in {"none", "read"}
  /\ ReachesPg(p)
  /\ request' = [request EXCEPT ![p] = [NoRequest EXCEPT !.at = "read", !.seq = charged, !.fence = pgFence]]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, process, left, excused>>

Held(s) == Cardinality({p \in Processes : hold[s][p] # "none"})

Admit(p) ==
  LET s == Address(p) IN
  LET st == store[s] IN
  LET isBelieved == st.trusted \/ p \in st.told \/ ~ReadsAgain IN
  LET newest == Max(st.seq, request[p].seq) IN
  /\ request[p].at = "read"
  /\ ReachesStore(p) /\ IsOpen(s)
  /\ Fences => request[p].fence <= st.fence
  /\ ConfirmsFence => request[p].unconfirmed < CancelAfter
  /\ hold[s][p] = "none"
  /\ \/ /\ ~isBelieved
        /\ store' = [store EXCEPT ![s].told = @ \cup {p}]
        /\ request' = [request EXCEPT ![p] = NoRequest]
        /\ UNCHANGED <<hold, lease>>
     \/ /\ isBelieved
        /\ store' = [store EXCEPT ![s].trusted = TRUE, ![s].told = {}, ![s].seq = newest]
        /\ Balance - newest - Held(s) >= 1
        /\ hold' = [hold EXCEPT ![s][p] = "held"]
        /\ lease' = [lease EXCEPT ![s][p] = Lease]
        /\ request' = [request EXCEPT ![p] = [@ EXCEPT !.at = "live", !.seq = 0, !.storeFence = st.fence,
             !.unrenewed = IF ConfirmsFence THEN request[p].unconfirmed ELSE 0]]
  /\ UNCHANGED <<charged, pgFence, process, left, excused>>

\* A store that admits does not register an owed hold again: another process may have charged and released it.
IsKept(p, s) == hold[s][p] # "none" \/ request[p].at # "waiting" \/ ~IsOpen(s)

CanRenew(p) ==
  LET s == Address(p) IN
  /\ Owes(p) /\ ReachesStore(p) /\ ~IsFencedOff(p, s)
  /\ request[p].unrenewed > 0 \/ (IsKept(p, s) /\ (hold[s][p] # "held" \/ lease[s][p] # Lease))

\* Also told to a store that forgot and is not open yet, so that it knows again; and in quarantine, which it leaves.
Renew(p) ==
  LET s == Address(p) IN
  /\ CanRenew(p)
  /\ hold' = IF IsKept(p, s) THEN [hold EXCEPT ![s][p] = "held"] ELSE hold
  /\ lease' = IF IsKept(p, s) THEN [lease EXCEPT ![s][p] = Lease] ELSE lease
  /\ request' = [request EXCEPT ![p].unrenewed = 0, ![p].storeFence = IF store[s].fence = Unfenced THEN @ ELSE store[s].fence]
  /\ UNCHANGED <<charged, pgFence, store, process, left, excused>>

CanConfirm(p) ==
  /\ ConfirmsFence /\ Owes(p) /\ ReachesPg(p)
  /\ request[p].unconfirmed > 0
  /\ request[p].storeFence >= pgFence \/ request[p].fence < pgFence \/ request[p].unrenewed < request[p].unconfirmed

\* PostgreSQL is read every few seconds while something is held. What is held in a store with an older fence counts from the read before.
Confirm(p) ==
  LET isNewest == request[p].storeFence >= pgFence IN
  /\ CanConfirm(p)
  /\ request' = [request EXCEPT ![p].unconfirmed = IF isNewest THEN 0 ELSE @,
                               ![p].unrenewed = IF isNewest THEN @ ELSE Max(@, request[p].unconfirmed),
                               ![p].fence = pgFence]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, process, left, excused>>

\* It ends by itself, was cancelled, or is cut: what was produced is to be charged.
Settle(p) ==
  /\ request[p].at = "live" /\ Runs(p)
  /\ request' = [request EXCEPT ![p].at = "settling"]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, process, left, excused>>

\* What the cures give up is charged what is left; the rest is a loss. It counts nowhere (Covered).
Commit(p) ==
  /\ request[p].at = "waiting"
  /\ ReachesPg(p)
  /\ LET again == ChargesOnce /\ request[p].times > 0 IN
     /\ charged' = IF p \in excused \/ again THEN charged ELSE charged + 1
     /\ request' = [request EXCEPT ![p].at = "charged", ![p].times = IF again THEN @ ELSE @ + 1, ![p].seq = charged']
  /\ UNCHANGED <<pgFence, store, hold, lease, process, left, excused>>

\* Committed, and the answer was lost on the way: it is sent again.
CommitUnheard(p) ==
  /\ request[p].at = "waiting" /\ request[p].times = 0
  /\ ReachesPg(p)
  /\ charged' = IF p \in excused THEN charged ELSE charged + 1
  /\ request' = [request EXCEPT ![p].times = 1]
  /\ UNCHANGED <<pgFence, store, hold, lease, process, left, excused>>

\* The charge is durable, the response has ended.
Log(p) ==
  /\ request[p].at = "settling" /\ Runs(p)
  /\ request' = [request EXCEPT ![p].at = "waiting", ![p].settling = 0]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, process, left, excused>>

\* The store is told what is owed, and frees the rest. There is none here: with the cure nothing changes.
Owe(p) ==
  LET s == Address(p) IN
  /\ ~OwedStays /\ request[p].at = "waiting" /\ ReachesStore(p)
  /\ hold' = [hold EXCEPT ![s][p] = "none"]
  /\ lease' = [lease EXCEPT ![s][p] = 0]
  /\ UNCHANGED <<charged, pgFence, store, request, process, left, excused>>

\* The end of a hold brings the balance after its charge. A store that knows no balance yet cannot compare it: everybody reads again.
Release(p) ==
  LET s == Address(p) IN
  /\ request[p].at = "charged" /\ ReachesStore(p)
  /\ request' = [request EXCEPT ![p] = NoRequest]
  /\ hold' = [z \in Stores |-> [hold[z] EXCEPT ![p] = "none"]]
  /\ lease' = [z \in Stores |-> [lease[z] EXCEPT ![p] = 0]]
  /\ store' = [z \in Stores |->
       IF z = s THEN (IF store[z].seq # Never THEN [store[z] EXCEPT !.seq = Max(@, request[p].seq)]
                      ELSE IF DistrustsReleases THEN Distrust(store[z]) ELSE store[z])
       ELSE IF hold[z][p] # "none" /\ DistrustsLapsed THEN Distrust(store[z]) ELSE store[z]]
  /\ excused' = excused \ {p}
  /\ UNCHANGED <<charged, pgFence, process, left>>

ReleaseUncharged(p) ==
  /\ request[p].at = "live" /\ ReachesStore(p)
  /\ End(p, Address(p))
  /\ UNCHANGED <<charged, pgFence, process, left>>

\* The release never arrives.
ReleaseLost(p) ==
  /\ request[p].at = "charged"
  /\ End(p, "nobody")
  /\ UNCHANGED <<charged, pgFence, process, left>>

----------------------------------------------------------------------------
\* The store's incarnation and its fence.

CanRaise(p) ==
  LET s == Address(p) IN
  /\ Fences /\ ReachesPg(p) /\ ReachesStore(p)
  /\ store[s].fence = Unfenced /\ process[p].raisedFor # <<s, store[s].incarnation>>
  /\ pgFence < MostFences
CanTell(p) == process[p].raised > 0 /\ ReachesStore(p)

\* Each of the two steps is atomic, what lies between them is not: another may raise, the store may forget.
\* The store does not know what was raised for it; NotShutOut does.
Raise(p) ==
  LET s == Address(p) IN
  /\ CanRaise(p)
  /\ pgFence' = pgFence + 1
  /\ process' = [process EXCEPT ![p].raised = pgFence + 1, ![p].raisedFor = <<s, store[s].incarnation>>]
  /\ store' = [store EXCEPT ![s].raised = pgFence + 1]
  /\ UNCHANGED <<charged, hold, lease, request, left, excused>>

\* Only for the incarnation that was seen before the fence was raised. From here on it waits.
TellFence(p) ==
  LET s == Address(p) IN
  /\ CanTell(p)
  /\ store' = IF /\ <<s, store[s].incarnation>> = process[p].raisedFor
                 /\ store[s].fence = Unfenced \/ (NewestFence /\ store[s].fence < process[p].raised)
       THEN [store EXCEPT ![s].fence = process[p].raised, ![s].opensIn = OpensAfter] ELSE store
  /\ process' = [process EXCEPT ![p].raised = 0, ![p].raisedFor = Nothing]
  /\ UNCHANGED <<charged, pgFence, hold, lease, request, left, excused>>

\* The address leads elsewhere now.
Move(p, s) ==
  /\ ~OwnStores /\ (MovesBack \/ s = "new") /\ s # Address(p) /\ store[s].isMaster /\ Reaches(p, s)
  /\ process' = [process EXCEPT ![p].address = s]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, request, left, excused>>

----------------------------------------------------------------------------
\* Faults.

Fault(kind) == left[kind] > 0 /\ left' = [left EXCEPT ![kind] = @ - 1]

\* The other master lives on and does not know.
Promote(s) ==
  /\ Fault("promotion") /\ ~store[s].isMaster
  /\ store' = [store EXCEPT ![s] = NewIncarnation(@)]
  /\ hold' = [hold EXCEPT ![s] = NoHolds] /\ lease' = [lease EXCEPT ![s] = NoLeases]
  /\ UNCHANGED <<charged, pgFence, request, process, excused>>

Flush(s) ==
  /\ Fault("flush") /\ store[s].isMaster
  /\ store' = [store EXCEPT ![s] = NewIncarnation(@)]
  /\ hold' = [hold EXCEPT ![s] = NoHolds] /\ lease' = [lease EXCEPT ![s] = NoLeases]
  /\ UNCHANGED <<charged, pgFence, request, process, excused>>

\* The keys of one organization are deleted, the shard's marker is not.
Lose(s) ==
  /\ Fault("loss") /\ IsOpen(s)
  /\ store' = [store EXCEPT ![s] = [Distrust(@) EXCEPT !.seq = Never, !.deaf = {},
                 !.opensIn = IF SeesLoss /\ \E p \in Processes : hold[s][p] # "none" THEN OpensAfter ELSE 0]]
  /\ hold' = [hold EXCEPT ![s] = NoHolds] /\ lease' = [lease EXCEPT ![s] = NoLeases]
  /\ UNCHANGED <<charged, pgFence, request, process, excused>>

\* Forward, by a lease or (isLong) by more than a quarantine. Without a guard all that waits for the clock is over.
Step(s) ==
  /\ Fault("step") /\ store[s].isMaster
  /\ IF GuardsClock THEN UNCHANGED <<store, hold, lease>> ELSE
     \E isLong \in BOOLEAN :
       /\ store' = [store EXCEPT ![s] = [Distrust(@) EXCEPT !.opensIn = 0]]
       /\ hold' = [hold EXCEPT ![s] = [p \in Processes |->
            IF Quarantines /\ ~isLong /\ @[p] \in {"held", "quarantined"} THEN "quarantined" ELSE "none"]]
       /\ lease' = [lease EXCEPT ![s] = NoLeases]
  /\ UNCHANGED <<charged, pgFence, request, process, excused>>

Stall(p) ==
  /\ Fault("stall") /\ Runs(p)
  /\ process' = [process EXCEPT ![p].state = "stalled"]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, request, excused>>

Wake(p) ==
  /\ process[p].state = "stalled"
  /\ process' = [process EXCEPT ![p].state = "well"]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, request, left, excused>>

\* What it owed is in its log, or was nothing.
Die(p) ==
  /\ Fault("death") /\ Runs(p)
  /\ process' = [process EXCEPT ![p].state = "dead", ![p].raised = 0, ![p].raisedFor = Nothing]
  /\ \/ /\ Owes(p)
        /\ request' = [request EXCEPT ![p].at = "waiting", ![p].settling = 0]
        /\ UNCHANGED <<store, hold, lease, excused>>
     \/ /\ request[p].at # "waiting"
        /\ End(p, "nobody")
  /\ UNCHANGED <<charged, pgFence>>

\* What waits is charged before anything is admitted, and frees its hold.
Restart(p) ==
  /\ process[p].state = "dead"
  /\ process' = [process EXCEPT ![p].state = "well"]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, request, left, excused>>

Cut(p) ==
  /\ Fault("cut")
  /\ \/ "postgres" \in CutsOff /\ ~process[p].pgCut /\ process' = [process EXCEPT ![p].pgCut = TRUE]
     \/ "store" \in CutsOff /\ \E s \in Stores \ process[p].cutFrom : process' = [process EXCEPT ![p].cutFrom = @ \cup {s}]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, request, excused>>

Heal(p) ==
  /\ \/ process[p].pgCut /\ process' = [process EXCEPT ![p].pgCut = FALSE]
     \/ ~OwnStores /\ \E s \in process[p].cutFrom : process' = [process EXCEPT ![p].cutFrom = @ \ {s}]
  /\ UNCHANGED <<charged, pgFence, store, hold, lease, request, left, excused>>

----------------------------------------------------------------------------
\* Time.

\* A process that runs does these before time goes on.
Overdue(p) ==
  /\ Runs(p)
  /\ LET r == request[p] IN
     \/ r.at = "live" /\ (r.age >= TotalMost \/ (EndsInTime /\ r.unrenewed >= CancelAfter))
     \/ r.at = "settling" /\ r.settling >= SettleMost
     \/ r.at = "waiting" /\ ReachesPg(p)
     \/ r.at = "charged"
     \/ CanRenew(p) \/ CanConfirm(p) \/ CanRaise(p) \/ CanTell(p)

\* Whom a store cannot hear of while it waits: dead, standing still, or without PostgreSQL and without this store. To them nothing is promised
\* that was held in what is forgotten.
Deaf(s) == {p \in Processes : ~Runs(p) \/ (process[p].pgCut /\ (s # Address(p) \/ s \in process[p].cutFrom))}

AgedRequest(p) ==
  LET r == request[p] IN
  IF r.at \in {"none", "charged"} THEN r ELSE
  [r EXCEPT !.age = IF Owes(p) THEN Min(@ + 1, QuarantineEnd) ELSE 0,
            !.settling = IF r.at = "settling" THEN Min(@ + 1, SettleMost) ELSE 0,
            !.unrenewed = IF Owes(p) THEN Min(@ + 1, CancelAfter) ELSE 0,
            !.unconfirmed = IF ConfirmsFence THEN Min(@ + 1, CancelAfter) ELSE 0]

Lapses(s, p) == hold[s][p] = "held" /\ lease[s][p] = 1
\* Only a process that stood still or was cut off has a request as old as this and has not charged it.
IsLate(p) == request[p].age >= TotalMost + SettleMost
IsOld(p) == request[p].age + 1 >= QuarantineEnd
Frees(s, p) ==
  \/ hold[s][p] = "quarantined" /\ (~Owes(p) \/ IsOld(p))
  \/ Lapses(s, p) /\ (~Quarantines \/ ~Owes(p) \/ IsOld(p))
OpensNow(s) == store[s].opensIn = 1 /\ (Fences => store[s].fence # Unfenced)
DeafNow(s) == store[s].deaf \cup Deaf(s)

Tick ==
  /\ \A p \in Processes : ~Overdue(p)
  /\ request' = [p \in Processes |-> AgedRequest(p)]
  /\ hold' = [s \in Stores |-> [p \in Processes |-> IF Frees(s, p) THEN "none" ELSE IF Lapses(s, p) THEN "quarantined" ELSE hold[s][p]]]
  /\ lease' = [s \in Stores |-> [p \in Processes |-> Max(0, lease[s][p] - 1)]]
  /\ store' = [s \in Stores |->
       LET st == store[s] IN
       LET counted == IF IsOpen(s) \/ ~st.isMaster THEN st
             ELSE [st EXCEPT !.opensIn = IF @ > 0 /\ (Fences => st.fence # Unfenced) THEN @ - 1 ELSE @,
                             !.deaf = IF OpensNow(s) THEN {} ELSE DeafNow(s)] IN
       IF DistrustsLapsed /\ \E p \in Processes : Frees(s, p) THEN Distrust(counted) ELSE counted]
  /\ excused' = excused
       \cup {p \in Processes : Owes(p) /\ IsLate(p) /\ \E s \in Stores : Quarantines /\ Frees(s, p)}
       \cup {p \in Processes : Owes(p) /\ \E s \in Stores : OpensNow(s) /\ hold[s][p] = "none" /\ p \in DeafNow(s)}
  /\ UNCHANGED <<charged, pgFence, process, left>>

Next ==
  \/ \E p \in Processes :
       \/ Read(p) \/ Admit(p) \/ Renew(p) \/ Confirm(p) \/ Settle(p) \/ Commit(p) \/ CommitUnheard(p) \/ Log(p) \/ Owe(p)
       \/ Release(p) \/ ReleaseUncharged(p) \/ ReleaseLost(p) \/ Raise(p) \/ TellFence(p) \/ \E s \in Stores : Move(p, s)
       \/ Stall(p) \/ Wake(p) \/ Die(p) \/ Restart(p) \/ Cut(p) \/ Heal(p)
  \/ \E s \in Stores : Promote(s) \/ Flush(s) \/ Lose(s) \/ Step(s)
  \/ Tick

Spec == Init /\ [][Next]_vars

----------------------------------------------------------------------------
\* What must hold.

\* The balance covers what live requests may still be charged, but for requests that the cures give up.
Covered == Balance - charged - Cardinality({p \in Processes \ excused : Owes(p) /\ request[p].times = 0}) >= 0

\* Each charge once.
Once == \A p \in Processes : request[p].times <= 1

\* Quarantined money ends: nothing is quarantined for a request as old as the end.
QuarantineEnds == \A s \in Stores, p \in Processes : hold[s][p] = "quarantined" /\ Owes(p) => request[p].age < QuarantineEnd

\* Time goes on: what is overdue can be done.
TimeGoesOn == \A p \in Processes : Overdue(p) => request[p].at \in {"live", "settling", "charged"} \/ ReachesPg(p) \/ process[p].pgCut \/ CanRenew(p) \/ CanTell(p)

\* A store is not fenced off by a fence that was raised for itself, unless whoever raised it died or is about to tell.
NotShutOut == \A s \in Stores :
  \/ store[s].fence = Unfenced \/ store[s].fence >= store[s].raised \/ left["death"] < MostDeaths
  \/ \E p \in Processes : process[p].raised = store[s].raised

Alike == Permutations(Processes)
=============================================================================
