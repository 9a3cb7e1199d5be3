import type { Clock } from '../domain/clock.ts';
import type { LimitStore, LiveHold } from '../stores/limit-store.ts';

/**
 * Keeps the leases of this process's holds alive while their requests live. A lease lapses by itself when the process dies, so that what
 * it held is free again within 30 s (INTERFACE 5).
 */
export interface HoldKeeper {
  keep(hold: LiveHold): void;
  drop(holdId: string): void;
  close(): void;
}

export interface HoldKeeperOptions {
  readonly limits: LimitStore;
  readonly clock: Clock;
  readonly renewEveryMs: number;
  /** A lease ran out under a live request, or could not be renewed. */
  readonly onProblem: (problem: { readonly lapsed: number } | { readonly error: unknown }) => void;
}

export function createHoldKeeper({ limits, clock, renewEveryMs, onProblem }: HoldKeeperOptions): HoldKeeper {
  const live = new Map<string, LiveHold>();
  let renewing = false;
  const timer = setInterval(renewAll, renewEveryMs);
  timer.unref();

  async function renewAll(): Promise<void> {
    if (renewing || live.size === 0) return;
    renewing = true;
    try {
      const lapsed = await limits.renew([...live.values()], clock.nowMs());
      // A request that ended while the renewal was under way has no lease to lapse.
      const missed = lapsed.filter((id) => live.has(id));
      if (missed.length > 0) onProblem({ lapsed: missed.length });
    } catch (error) {
      onProblem({ error });
    } finally {
      renewing = false;
    }
  }

  return {
    keep: (hold) => void live.set(hold.holdId, hold),
    drop: (holdId) => void live.delete(holdId),
    close: () => clearInterval(timer),
  };
}
