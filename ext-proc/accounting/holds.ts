import type { Clock } from '../domain/clock.ts';
import type { LimitStore, LiveHold } from '../stores/limit-store.ts';

/**
 * Keeps the leases of this process's holds alive while their requests live. Where that fails, nothing has to end: the money of a hold whose lease
 * lapses stays held in quarantine, and the next renewal that succeeds takes it back (DESIGN 3).
 */
export interface HoldKeeper {
  keep(hold: LiveHold): void;
  drop(holdId: string): void;
  /** Everything that is held now. */
  live(): readonly LiveHold[];
  close(): void;
}

export interface HoldKeeperOptions {
  readonly limits: LimitStore;
  readonly clock: Clock;
  readonly renewEveryMs: number;
  readonly onProblem: (problem: HoldProblem) => void;
}

export type HoldProblem =
  /** Their money could be given away for a time: the store had forgotten them, and admitted others. */
  | { readonly kind: 'exposed'; readonly holds: number }
  /** Told once until all can be renewed again. */
  | { readonly kind: 'not_renewed'; readonly holds: number; readonly error: unknown };

/** How soon what could not be renewed is tried again. */
const LOOK_EVERY_MS = 500;

export function createHoldKeeper({ limits, clock, renewEveryMs, onProblem }: HoldKeeperOptions): HoldKeeper {
  const live = new Map<string, LiveHold>();
  /** Of them, those whose last renewal failed: they are no reason to ask for the others more often. */
  let failing: ReadonlySet<string> = new Set();
  let renewing = false;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  const timer = setInterval(look, Math.min(LOOK_EVERY_MS, renewEveryMs));
  timer.unref();

  function look(): void {
    if (renewing || live.size === 0) return;
    const nowMs = clock.monotonicMs();
    const all = nowMs >= renewedAtMs + renewEveryMs;
    if (all) renewedAtMs = nowMs;
    const due = all ? [...live.values()] : [...live.values()].filter(({ holdId }) => failing.has(holdId));
    if (due.length > 0) void renew(due);
  }

  async function renew(holds: readonly LiveHold[]): Promise<void> {
    renewing = true;
    const { takenBack, exposed, failed } = await limits.renew(holds, clock.nowMs()).catch((error: unknown) => ({
      takenBack: [],
      exposed: [],
      failed: [{ holdIds: holds.map(({ holdId }) => holdId), error }],
    }));
    renewing = false;
    const failingBefore = failing.size;
    failing = new Set(failed.flatMap(({ holdIds }) => holdIds));
    const [first] = failed;
    if (first && failingBefore === 0) onProblem({ kind: 'not_renewed', holds: failing.size, error: first.error });
    const known = exposed.filter((holdId) => live.has(holdId));
    if (known.length > 0) onProblem({ kind: 'exposed', holds: known.length });
    const ended = new Set(takenBack.filter((holdId) => !live.has(holdId)));
    for (const hold of holds) if (ended.has(hold.holdId)) giveBack(hold);
  }

  /** It ended meanwhile and was released, perhaps before its renewal took it back in. If this fails, its quarantine ends it. */
  function giveBack(hold: LiveHold): void {
    limits.release({ ...hold, nowMs: clock.nowMs(), tokensUsed: 0 }).catch(() => undefined);
  }

  return {
    keep: (hold) => void live.set(hold.holdId, hold),
    drop: (holdId) => void live.delete(holdId),
    live: () => [...live.values()],
    close: () => clearInterval(timer),
  };
}
