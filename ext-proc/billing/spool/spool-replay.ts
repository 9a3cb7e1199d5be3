import type { Log } from '#core/log/log.ts';
import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import type { Spool } from './spool.ts';
import type { SpooledCharge } from './spool-lines.ts';

/** Charges what waits in the spool: on request, and by itself every second while anything waits. */
export interface SpoolReplay {
  /** Charges everything in the spool. Rejects if that is impossible now. */
  replay(): Promise<void>;
  close(): Promise<void>;
}

export interface SpoolReplayOptions {
  readonly spool: Spool;
  /** Charges a settlement. Rejects if it has to be tried again; it stays in the spool then. */
  readonly charge: (settlement: Settlement | ClaimedSettlement) => Promise<void>;
  /** Called for a charge that the disk lost: it is never charged. */
  readonly forget: (generationId: string) => Promise<void>;
  readonly log: Log;
}

const REPLAY_EVERY_MS = 1000;
/**
 * So many charges are replayed together. They share commits, and all of them are in memory with
 * their responses.
 */
const REPLAYED_AT_ONCE = { charges: 100, bytes: 16 * 1024 * 1024 };

export function createSpoolReplay({ spool, charge, forget, log }: SpoolReplayOptions): SpoolReplay {
  let replaying: Promise<void> | undefined;
  const timer = setInterval(() => {
    if (spool.pending().length > 0)
      replay().catch((error: unknown) => log.warn({ err: error }, 'the spool could not be replayed yet'));
  }, REPLAY_EVERY_MS);
  timer.unref();

  function replay(): Promise<void> {
    replaying ??= replayAll().finally(() => {
      replaying = undefined;
    });
    return replaying;
  }

  async function replayAll(): Promise<void> {
    for (let group = firstOf(spool.pending()); group.length > 0; group = firstOf(spool.pending())) {
      const results = await Promise.allSettled(group.map(({ generationId }) => replayOne(generationId)));
      for (const result of results) if (result.status === 'rejected') throw result.reason;
    }
  }

  async function replayOne(generationId: string): Promise<void> {
    const settlement = await spool.read(generationId);
    if (settlement === undefined) return forget(generationId);
    await charge(settlement);
    await spool.remove(generationId);
  }

  return {
    replay,
    async close() {
      clearInterval(timer);
      await replaying?.catch(() => undefined);
    },
  };
}

/** Selects as many from the front as the bound allows, at least one. */
function firstOf(pending: readonly SpooledCharge[]): readonly SpooledCharge[] {
  let bytes = 0;
  const over = pending.findIndex((charge) => {
    bytes += charge.bytes;
    return bytes > REPLAYED_AT_ONCE.bytes;
  });
  return pending.slice(0, Math.min(REPLAYED_AT_ONCE.charges, over === -1 ? pending.length : Math.max(1, over)));
}
