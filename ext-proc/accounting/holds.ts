import type { EndReason } from '../delivery/delivery.ts';
import type { Clock } from '../domain/clock.ts';
import type { LimitStore, LiveHold } from '../stores/limit-store.ts';

/**
 * Keeps the leases of this process's holds alive while their requests live. A lease lapses by itself when the process dies, so that what
 * it held is free again within 30 s (INTERFACE 5). A lease that can no longer be relied on ends its request while the hold still covers
 * it (DESIGN 3): what is charged after the lapse could be money that another process has given away since.
 */
export interface HoldKeeper {
  /**
   * `leasedAtMs`: on the monotonic clock, before the store was asked, so that the store's lease is never older than we think. The signal
   * aborts, with `EndReason`, when the request has to end at once.
   */
  keep(hold: LiveHold, leasedAtMs: number): AbortSignal;
  drop(holdId: string): void;
  /** The process ends: every request that holds something ends at once, and so does whoever is admitted later. */
  endAll(): void;
  /** Everything that is held now. */
  live(): readonly LiveHold[];
  close(): void;
}

export interface HoldKeeperOptions {
  readonly limits: LimitStore;
  readonly clock: Clock;
  /** Of the store. Infinite where store and process can only die together. */
  readonly leaseMs: number;
  readonly renewEveryMs: number;
  /** Before the lapse: time to cancel, count and settle. */
  readonly marginMs: number;
  readonly onProblem: (problem: HoldProblem) => void;
}

/** Each request is reported once, as one of the first two. */
export type HoldProblem =
  | { readonly kind: 'lapsed'; readonly holds: number }
  | { readonly kind: 'not_renewed_in_time'; readonly holds: number }
  | { readonly kind: 'renewal_failed'; readonly error: unknown };

interface Lease {
  readonly hold: LiveHold;
  readonly lost: AbortController;
  renewedAtMs: number;
}

/** How often leases are looked at: a renewal that failed is tried again this soon, and the margin is kept to within this. */
const LOOK_EVERY_MS = 500;

export function createHoldKeeper(options: HoldKeeperOptions): HoldKeeper {
  const { limits, clock, leaseMs, renewEveryMs, marginMs, onProblem } = options;
  const live = new Map<string, Lease>();
  let renewing = false;
  let ending = false;
  let renewedAtMs = Number.NEGATIVE_INFINITY;
  const timer = setInterval(look, Math.min(LOOK_EVERY_MS, renewEveryMs));
  timer.unref();

  function look(): void {
    const nowMs = clock.monotonicMs();
    const late = [...live.values()].filter((lease) => nowMs >= lease.renewedAtMs + leaseMs - marginMs);
    giveUp(late, 'not_renewed_in_time');
    if (!renewing && live.size > 0 && nowMs >= renewedAtMs + renewEveryMs) void renewAll(nowMs);
  }

  async function renewAll(askedAtMs: number): Promise<void> {
    renewing = true;
    const asked = [...live.values()];
    try {
      const { takenBack, exposed, failed } = await limits.renew(
        asked.map(({ hold }) => hold),
        clock.nowMs(),
      );
      const lapsed = new Set([...exposed, ...failed.flatMap(({ holdIds }) => holdIds)]);
      renewedAtMs = askedAtMs;
      for (const lease of asked) if (!lapsed.has(lease.hold.holdId)) lease.renewedAtMs = askedAtMs;
      // A request that ended while the renewal was under way has no lease to lapse.
      const gone = new Set(exposed);
      const missed = asked.filter(({ hold }) => gone.has(hold.holdId) && live.has(hold.holdId));
      giveUp(missed, 'lapsed');
      // What ended meanwhile was released, perhaps before its renewal took it back in.
      const ended = asked.filter(({ hold }) => takenBack.includes(hold.holdId) && !live.has(hold.holdId));
      await Promise.all(ended.map(({ hold }) => limits.release({ ...hold, nowMs: clock.nowMs(), tokensUsed: 0 })));
    } catch (error) {
      onProblem({ kind: 'renewal_failed', error });
    } finally {
      renewing = false;
    }
  }

  /** They stay among the live ones: a charge in the spool is held for as long as the store can be told so. */
  function giveUp(leases: readonly Lease[], kind: 'lapsed' | 'not_renewed_in_time'): void {
    const lost = leases.filter((lease) => !lease.lost.signal.aborted);
    if (lost.length === 0) return;
    onProblem({ kind, holds: lost.length });
    for (const lease of lost) endNow(lease, 'lease_lost');
  }

  return {
    keep(hold, leasedAtMs) {
      const lease = { hold, lost: new AbortController(), renewedAtMs: leasedAtMs };
      live.set(hold.holdId, lease);
      if (ending) endNow(lease, 'process_ends');
      return lease.lost.signal;
    },
    drop: (holdId) => void live.delete(holdId),
    endAll() {
      ending = true;
      for (const lease of live.values()) endNow(lease, 'process_ends');
    },
    live: () => [...live.values()].map(({ hold }) => hold),
    close: () => clearInterval(timer),
  };
}

function endNow({ lost }: Lease, reason: EndReason): void {
  lost.abort(reason);
}
