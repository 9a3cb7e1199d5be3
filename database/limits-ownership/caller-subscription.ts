import type pg from 'pg';
import { type Clock, elapsedMs, type Instant, instantOf } from '#core/clock.ts';
import { PROVED_FOR_MS } from '../connection/in-force.ts';

/** The next proof is requested while the last one is still valid, so steady requests never wait. */
const PROVE_AGAIN_AFTER_MS = 100;

type OnChanged = (organizationId: string | undefined) => void;

/** Shows whether a process may use a caller that it has read earlier. */
export interface CallerChanges {
  /**
   * True if this process has heard of every change whose commit was confirmed at least 250 ms ago.
   * To be called for each request, because it also requests the next proof.
   */
  isProved(): boolean;
  /** Calls back when callers of an organization have changed. `undefined`: perhaps those of any. */
  onChanged(changed: OnChanged): void;
}

/**
 * Listens for changes of callers on the connection that holds the lock on the limits
 * (tell_caller_changed.sql). Once a commit is confirmed, PostgreSQL sends its notification before
 * the reply to any statement that was sent later. So the reply to a statement on this connection
 * proves that no earlier notification is missing. The proof counts from the moment the statement
 * was sent. Without requests no proofs are made.
 */
export class CallerSubscription implements CallerChanges {
  readonly #clock: Clock;
  #changed: OnChanged = () => undefined;
  #session: { readonly prove: () => Promise<boolean> } | undefined;
  #provedAt: Instant | undefined;
  #proving = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  onChanged(changed: OnChanged): void {
    this.#changed = changed;
  }

  /**
   * Begins with a connection that listens. `prove` runs a statement on it and never rejects. It
   * resolves with false if nothing is proved.
   */
  begin(connection: Pick<pg.Client, 'on'>, prove: () => Promise<boolean>): void {
    this.end();
    const session = { prove };
    this.#session = session;
    connection.on('notification', ({ payload }) => {
      if (this.#session === session) this.#changed(payload || undefined);
    });
  }

  /** Ends with the connection. Notifications may be lost, so all callers count as changed. */
  end(): void {
    this.#session = undefined;
    this.#provedAt = undefined;
    this.#proving = false;
    this.#changed(undefined);
  }

  isProved(): boolean {
    const ageMs = this.#provedAt === undefined ? Number.POSITIVE_INFINITY : elapsedMs(this.#provedAt, this.#clock);
    if (ageMs >= PROVE_AGAIN_AFTER_MS) void this.#prove();
    return ageMs < PROVED_FOR_MS;
  }

  async #prove(): Promise<void> {
    const session = this.#session;
    if (session === undefined || this.#proving) return;
    this.#proving = true;
    const sentAt = instantOf(this.#clock);
    const isProof = await session.prove();
    if (this.#session !== session) return;
    this.#proving = false;
    this.#provedAt = isProof ? sentAt : undefined;
  }
}
