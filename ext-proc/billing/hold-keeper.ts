import type { Clock } from '../../core/clock.ts';
import type { Hold, LimitStore } from '../limits/limit-store.ts';

/**
 * Keeps the leases of this process's holds alive while their requests live. Where that fails,
 * nothing has to end: the money of a hold whose lease expires stays held in quarantine, and the
 * next renewal that succeeds takes it back.
 */
export interface HoldKeeper {
  keep(hold: Hold): void;
  drop(holdId: string): void;
  /**
   * The store that renewals reached may not be the one that counts since then (monotonic clock).
   * The counting store does not know holds that cannot be renewed there soon.
   */
  distrust(sinceMs: number): void;
  /** Everything that is held now. */
  live(): readonly Hold[];
  close(): void;
}

export interface HoldKeeperOptions {
  readonly limits: LimitStore;
  readonly clock: Clock;
  readonly renewEveryMs: number;
  /**
   * From the moment since when a store is distrusted: what has not been renewed by then has to end.
   */
  readonly renewWithinMs: number;
  /** Holds whose charge waits in the spool. */
  readonly spooledIds: () => ReadonlySet<string>;
  readonly onProblem: (problem: HoldProblem) => void;
}

export type HoldProblem =
  /**
   * Their money could be given away for a time: the store had forgotten them, and admitted others.
   */
  | { readonly kind: 'exposed'; readonly holds: number }
  /** Another store counts now, and does not know them: their requests have to end. */
  | { readonly kind: 'stranded'; readonly holds: number }
  /** Reported once, until all can be renewed again. */
  | { readonly kind: 'not_renewed'; readonly holds: number; readonly error: unknown };

/** How soon what could not be renewed is tried again. */
const LOOK_EVERY_MS = 500;

export function createHoldKeeper(options: HoldKeeperOptions): HoldKeeper {
  const { limits, clock, renewEveryMs, renewWithinMs, spooledIds, onProblem } = options;
  const live = new Map<string, Hold>();
  /** Live holds whose last renewal failed. Only these are tried again sooner. */
  let failing: ReadonlySet<string> = new Set();
  let renewing = false;
  /** Not renewed since a store is distrusted. */
  let stranded = new Set<string>();
  let distrustedAtMs = 0;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  const timer = setInterval(look, Math.min(LOOK_EVERY_MS, renewEveryMs));
  timer.unref();

  function look(): void {
    const nowMs = clock.monotonicMs();
    if (stranded.size > 0 && nowMs >= distrustedAtMs + renewWithinMs) endStranded();
    if (renewing || live.size === 0) return;
    const all = nowMs >= renewedAtMs + renewEveryMs;
    if (all) renewedAtMs = nowMs;
    const due = all ? [...live.values()] : [...live.values()].filter(({ holdId }) => failing.has(holdId));
    if (due.length > 0) void renew(due);
  }

  function endStranded(): void {
    const holds = [...stranded].filter((holdId) => live.has(holdId)).length;
    stranded = new Set();
    if (holds > 0) onProblem({ kind: 'stranded', holds });
  }

  async function renew(holds: readonly Hold[]): Promise<void> {
    renewing = true;
    const before = stranded;
    const spooled = spooledIds();
    const asked = holds.map((hold): Hold => (spooled.has(hold.holdId) ? { ...hold, spooled: true } : hold));
    const { takenBack, exposed, failed } = await limits.renew(asked, clock.nowMs()).catch((error: unknown) => ({
      takenBack: [],
      exposed: [],
      failed: [{ holdIds: holds.map(({ holdId }) => holdId), error }],
    }));
    renewing = false;
    const failingBefore = failing.size;
    failing = new Set(failed.flatMap(({ holdIds }) => holdIds));
    // If the store became distrusted meanwhile, this renewal may have reached the distrusted one.
    if (stranded === before) for (const { holdId } of holds) if (!failing.has(holdId)) stranded.delete(holdId);
    const [first] = failed;
    if (first && failingBefore === 0) onProblem({ kind: 'not_renewed', holds: failing.size, error: first.error });
    const known = exposed.filter((holdId) => live.has(holdId));
    if (known.length > 0) onProblem({ kind: 'exposed', holds: known.length });
    const ended = new Set(takenBack.filter((holdId) => !live.has(holdId)));
    for (const hold of holds) if (ended.has(hold.holdId)) giveBack(hold);
  }

  /**
   * Releases a hold that ended while its renewal took it back in. If this fails, the quarantine
   * ends the hold.
   */
  function giveBack(hold: Hold): void {
    limits.release({ ...hold, nowMs: clock.nowMs(), tokensUsed: 0 }).catch(() => undefined);
  }

  return {
    keep: (hold) => void live.set(hold.holdId, hold),
    drop: (holdId) => void live.delete(holdId),
    distrust(sinceMs) {
      distrustedAtMs = stranded.size > 0 ? Math.min(distrustedAtMs, sinceMs) : sinceMs;
      stranded = new Set(live.keys());
      renewedAtMs = Number.NEGATIVE_INFINITY;
    },
    live: () => [...live.values()],
    close: () => clearInterval(timer),
  };
}
