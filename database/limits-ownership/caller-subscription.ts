import type pg from 'pg';
import { type Clock, elapsedMs, type Instant, instantOf } from '#core/clock.ts';
import { PROVED_FOR_MS } from '../connection/in-force.ts';

/** A new proof is asked for while the last one still holds, so that steady requests never wait. */
const PROVE_AGAIN_AFTER_MS = 100;

type OnChanged = (organizationId: string | undefined) => void;

/** What a process must know before it uses a caller that it has read earlier. */
export interface CallerChanges {
  /**
   * True if every change that was answered 250 ms ago or earlier has been told. To be asked for
   * each request: it also asks for the next proof.
   */
  isProved(): boolean;
  /** Tells that callers of an organization have changed; `undefined`: perhaps any. */
  onChanged(changed: OnChanged): void;
}

/**
 * Hears of changes of callers on the connection that has the lock on the limits
 * (tell_caller_changed.sql). PostgreSQL sends notifications before it ends the answer to a
 * statement that was sent after the change was answered. So the proof that nothing is missing is a
 * statement on that connection, and counts from the moment it was sent. Without requests there are
 * none.
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
   * Begins with a connection that listens. `prove`: a statement on it, with false if it proves
   * nothing; never rejects.
   */
  begin(connection: Pick<pg.Client, 'on'>, prove: () => Promise<boolean>): void {
    this.end();
    const session = { prove };
    this.#session = session;
    connection.on('notification', ({ payload }) => {
      if (this.#session === session) this.#changed(payload || undefined);
    });
  }

  /** The connection is lost, and so may be what it had told. */
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
