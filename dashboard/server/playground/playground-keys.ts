import type { NanoUsd } from '#core/money.ts';

export const KEY_LIFETIME_MS = 15 * 60_000;
/** Most that a key can spend. An expensive request is refused, and a mistake costs no more. */
export const KEY_BUDGET_NANO_USD: NanoUsd = 1_000_000_000n;
/** Number of cached secrets. Beyond this the oldest is dropped, and its key expires. */
const MAX_REMEMBERED = 10_000;

export interface PlaygroundKey {
  readonly id: string;
  readonly secret: string;
  /** Equal texts mean equal restrictions. */
  readonly restrictions: string;
}

/** Playground keys, one per user in an organization. Secrets are only in this process's memory. */
export class PlaygroundKeys {
  readonly #remembered = new Map<string, PlaygroundKey>();
  readonly #working = new Map<string, Promise<unknown>>();

  /** Runs `work` after the holder's earlier work: else two tabs would revoke each other's key. */
  async inTurn<T>(holder: string, work: () => Promise<T>): Promise<T> {
    const before = this.#working.get(holder) ?? Promise.resolve();
    const result = before.then(work);
    const settled = result.catch(() => undefined);
    this.#working.set(holder, settled);
    try {
      return await result;
    } finally {
      if (this.#working.get(holder) === settled) this.#working.delete(holder);
    }
  }

  find(holder: string): PlaygroundKey | undefined {
    return this.#remembered.get(holder);
  }

  remember(holder: string, key: PlaygroundKey): void {
    this.#remembered.delete(holder);
    this.#remembered.set(holder, key);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MAX_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
  }
}
