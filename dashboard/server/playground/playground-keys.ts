import type { NanoUsd } from '#core/money.ts';

export const KEY_LIFETIME_MS = 15 * 60_000;
/** The most that a key spends. An expensive request is refused, and a mistake costs no more. */
export const KEY_BUDGET_NANO_USD: NanoUsd = 1_000_000_000n;
/** Secrets that a process remembers. Beyond them the oldest is forgotten, and its key expires. */
const MAX_REMEMBERED = 10_000;

export interface MadeKey {
  readonly id: string;
  readonly secret: string;
}

export interface KeyWish<Refused> {
  /** Names the user and the organization. */
  readonly holder: string;
  /** Equal texts mean equal restrictions. */
  readonly restrictions: string;
  isUsable(id: string): Promise<boolean>;
  make(): Promise<MadeKey | { readonly refused: Refused }>;
}

interface Remembered extends MadeKey {
  readonly restrictions: string;
}

/**
 * Keys of the playground, one for each user and organization. Secrets are in this process's memory
 * and nowhere else.
 */
export class PlaygroundKeys {
  readonly #remembered = new Map<string, Remembered>();
  readonly #making = new Map<string, Promise<unknown>>();

  /** The holder's key, which is made if there is no usable one with these restrictions. */
  async findOrMake<Refused>(wish: KeyWish<Refused>): Promise<MadeKey | { readonly refused: Refused }> {
    const { holder } = wish;
    // Two tabs that begin together use one key. Otherwise each would revoke the other's.
    const before = this.#making.get(holder) ?? Promise.resolve();
    const found = before.then(() => this.#find(wish));
    const settled = found.catch(() => undefined);
    this.#making.set(holder, settled);
    try {
      return await found;
    } finally {
      if (this.#making.get(holder) === settled) this.#making.delete(holder);
    }
  }

  async #find<Refused>({ holder, restrictions, isUsable, make }: KeyWish<Refused>) {
    const known = this.#remembered.get(holder);
    if (known?.restrictions === restrictions && (await isUsable(known.id))) return known;
    const made = await make();
    if ('secret' in made) this.#remember(holder, { ...made, restrictions });
    return made;
  }

  #remember(holder: string, key: Remembered): void {
    this.#remembered.delete(holder);
    this.#remembered.set(holder, key);
    const [oldest] = this.#remembered.keys();
    if (this.#remembered.size > MAX_REMEMBERED && oldest !== undefined) this.#remembered.delete(oldest);
  }
}
