import { createHash } from 'node:crypto';

/** Anthropic refuses other ids. Other models made them. */
const ACCEPTED = /^[a-zA-Z0-9_-]{1,64}$/;

/**
 * Ids of tool calls as they are sent: of characters that Anthropic accepts, and each of them once.
 * Some models begin to number their calls again in each turn: a result answers the latest call of
 * its id.
 */
export class CallIds {
  readonly #sent = new Map<string, string>();
  readonly #used = new Set<string>();
  /** Latest call of a function by its name: the deprecated form has no ids. */
  readonly #unnamed = new Map<unknown, string>();

  call(id: string): string {
    let sent = accepted(id);
    if (this.#used.has(sent)) sent = hashOf(`${id} ${this.#used.size}`);
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
  return ACCEPTED.test(id) ? id : hashOf(id);
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex');
}
