import { CUTTING_MS } from '#core/config/drain-timeout.ts';
import type { Log } from '#core/log/log.ts';
import { within } from '#core/within.ts';
import type { Transport } from '../transport/start.ts';
import type { OpenAccounting } from './open-accounting.ts';
import type { EnvoyDrain } from './open-envoy-drain.ts';

export interface ClosingParts {
  readonly transport: Pick<Transport, 'drain' | 'endUploads' | 'close'>;
  readonly envoy: Pick<EnvoyDrain, 'handedOut' | 'close'>;
  readonly money: Pick<OpenAccounting, 'accounting' | 'openHolds' | 'waiting' | 'close' | 'closeLog'>;
  readonly tokens: { estimateAfter(delayMs: number): void };
  readonly log: Log;
  /** Refuses new requests. */
  refuse(): void;
  /** Closes the parts that only requests need. */
  closeServing(): Promise<unknown>;
  /** Records for the limits' next owner that nothing is held or left to charge. */
  leaveLimits(): Promise<unknown>;
  /** Closes the parts that charges need. */
  closeStores(): Promise<unknown>;
}

/** Time after the drain to count responses without usage, and to wait for PostgreSQL. */
const COUNTING_MS = CUTTING_MS * 0.3;
const COMMITTING_MS = CUTTING_MS * 0.6;
/** Time for clients that still read the end of their responses. */
const HANDING_OUT_MS = 2_000;
/** Time for handlers whose clients no longer read. Their responses are charged already. */
const UNREAD_MS = 1_000;
const CLOSING_MS = 3_500;

/**
 * Ends a gateway process without loss, even while a store is unavailable. Requests in flight end by
 * themselves, or are cut when the time to drain is over. Both are charged. Then the parts that they
 * need are closed, the charge log last. Resolves with the exit status: 1 if a hold was neither
 * charged nor released.
 */
export async function closeGateway(parts: ClosingParts, drainMs: number): Promise<0 | 1> {
  const { transport, envoy, money, tokens, log } = parts;
  const deadlineMs = performance.now() + drainMs;
  const restMs = () => Math.max(0, deadlineMs - performance.now());
  // If Envoy is about to end, it accepts no new connections, and ends old ones with their next
  // response. Requests are not refused yet, so a client with an idle connection loses none.
  await envoy.handedOut(restMs());
  parts.refuse();
  const left = await transport.drain(restMs());
  if (left > 0) {
    log.warn({ left }, 'requests are cut: the time to drain is over');
    tokens.estimateAfter(COUNTING_MS);
    money.accounting.end(COMMITTING_MS);
    transport.endUploads();
    await transport.drain(CUTTING_MS);
  }
  await envoy.handedOut(Math.max(HANDING_OUT_MS, restMs()));
  await envoy.close();
  await transport.close();
  await transport.drain(UNREAD_MS);
  const leave = async () => {
    if (money.openHolds() === 0 && money.waiting() === 0) await parts.leaveLimits();
  };
  const closed = [parts.closeServing, money.close, leave, parts.closeStores];
  for (const close of closed)
    if (!(await within(close(), CLOSING_MS))) log.warn({ waitedMs: CLOSING_MS }, 'a part does not close');
  const holds = money.openHolds();
  const charges = money.waiting();
  await money.closeLog();
  if (charges > 0) log.warn({ charges }, 'charges wait in the log for the next start');
  if (holds === 0) return 0;
  log.error({ holds }, 'the process ends although something is held that was neither charged nor given back');
  return 1;
}
