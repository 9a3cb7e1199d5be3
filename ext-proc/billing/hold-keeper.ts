import type { Clock } from '#core/clock.ts';
import type { Hold, LimitStore } from '../limits/limit-store.ts';

/**
 * Renews the leases of this process's holds, all of them every `renewEveryMs`, failed ones every
 * 500 ms. No request ends because a renewal fails: an expired hold is in quarantine, and the next
 * successful renewal makes it live again (docs/design.md, "Holds are leases"). Exception: holds
 * that are not renewed in time after a newer fence are reported as `stranded`.
 */
export interface HoldKeeper {
  keep(hold: Hold): void;
  drop(holdId: string): void;
  /**
   * Distrusts renewals since this moment (monotonic clock), because a newer fence was read: they
   * may have reached a former master. What cannot be renewed at the new master within
   * `renewWithinMs` is unknown there and has to end.
   */
  distrust(sinceMs: number): void;
  /** Holds of this process. */
  live(): readonly Hold[];
  close(): void;
}

export interface HoldKeeperOptions {
  readonly limits: LimitStore;
  readonly clock: Clock;
  readonly renewEveryMs: number;
  /** After distrust begins, every hold must be renewed within this time. */
  readonly renewWithinMs: number;
  /** Holds whose charge waits in the spool. */
  readonly spooledIds: () => ReadonlySet<string>;
  readonly onProblem: (problem: HoldProblem) => void;
}

export type HoldProblem =
  /**
   * Holds that the store had lost while it admitted requests: for a time their money was available
   * to others.
   */
  | { readonly kind: 'exposed'; readonly holds: number }
  /** Holds that the new master does not know: their requests have to end. */
  | { readonly kind: 'stranded'; readonly holds: number }
  /** Holds whose renewal failed. Reported once, until all are renewed again. */
  | { readonly kind: 'not_renewed'; readonly holds: number; readonly error: unknown };

/** Interval of `look`: failed renewals are retried and stranded holds ended this often. */
const LOOK_EVERY_MS = 500;

export function createHoldKeeper(options: HoldKeeperOptions): HoldKeeper {
  const { limits, clock, renewEveryMs, renewWithinMs, spooledIds, onProblem } = options;
  const live = new Map<string, Hold>();
  /** Holds whose last renewal failed. Only these are retried early. */
  let failing: ReadonlySet<string> = new Set();
  let renewing = false;
  /** Holds without a renewal since the moment of distrust. */
  let stranded = new Set<string>();
  let distrustedAtMs = 0;
  let distrusts = 0;
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
    const distrustsBefore = distrusts;
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
    // If distrust began meanwhile, this renewal may have reached the former master.
    if (distrusts === distrustsBefore)
      for (const { holdId } of holds) if (!failing.has(holdId)) stranded.delete(holdId);
    const [first] = failed;
    if (first && failingBefore === 0) onProblem({ kind: 'not_renewed', holds: failing.size, error: first.error });
    const known = exposed.filter((holdId) => live.has(holdId));
    if (known.length > 0) onProblem({ kind: 'exposed', holds: known.length });
    const ended = new Set(takenBack.filter((holdId) => !live.has(holdId)));
    for (const hold of holds) if (ended.has(hold.holdId)) giveBack(hold);
  }

  /**
   * Releases a hold that ended while a renewal registered it again. If this fails, its quarantine
   * ends it.
   */
  function giveBack(hold: Hold): void {
    limits.release({ ...hold, nowMs: clock.nowMs(), tokensUsed: 0 }).catch(() => undefined);
  }

  return {
    keep: (hold) => void live.set(hold.holdId, hold),
    drop: (holdId) => void live.delete(holdId),
    distrust(sinceMs) {
      distrusts += 1;
      distrustedAtMs = stranded.size > 0 ? Math.min(distrustedAtMs, sinceMs) : sinceMs;
      stranded = new Set(live.keys());
      renewedAtMs = Number.NEGATIVE_INFINITY;
    },
    live: () => [...live.values()],
    close: () => clearInterval(timer),
  };
}
