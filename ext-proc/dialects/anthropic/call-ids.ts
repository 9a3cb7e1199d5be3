import { hash } from 'node:crypto';

/** Anthropic refuses all other ids, which other models may have made. */
const ACCEPTED = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Makes the ids of tool calls acceptable to Anthropic and unique. Some models number the calls of
 * each turn from the beginning, so a result belongs to the latest call with its id.
 */
export class CallIds {
  readonly #sent = new Map<string, string>();
  readonly #used = new Set<string>();
  /** Id of the latest call of each function by name, for the deprecated form without ids. */
  readonly #unnamed = new Map<unknown, string>();

  call(id: string): string {
    let sent = accepted(id);
    if (this.#used.has(sent)) sent = hash('sha256', `${id} ${this.#used.size}`);
    this.#used.add(sent);
    this.#sent.set(id, sent);
    return sent;
  }

  callUnnamed(name: unknown): string {
    const id = this.call(`function_call_${this.#used.size + 1}`);
    this.#unnamed.set(name, id);
    return id;
  }

  answered(id: string): string {
    return this.#sent.get(id) ?? accepted(id);
  }

  answeredUnnamed(name: unknown): string {
    return this.#unnamed.get(name) ?? this.callUnnamed(name);
  }
}

function accepted(id: string): string {
  return ACCEPTED.test(id) ? id : hash('sha256', id);
}
