import type { ReasoningBounds } from './reasoning-store.ts';

export interface KeptMessage<Value> {
  readonly organizationId: string;
  readonly name: string;
  readonly value: Value;
  readonly bytes: number;
  readonly expiresAtMs: number;
}

/** Memory for a message's name, time and map entries. Counting it bounds their number too. */
const BESIDES_BYTES = 512;

interface OrganizationMessages<Value> {
  bytes: number;
  /** Oldest first. */
  readonly messages: Set<KeptMessage<Value>>;
}

/**
 * Messages that a process has kept, within bounds. An organization above its own bound loses its
 * oldest messages. Above the total bound, the organization that has kept the most loses its oldest
 * ones. So no organization loses anything to one that has kept more.
 */
export class KeptMessages<Value> {
  readonly #bounds: ReasoningBounds;
  /** By name, oldest first. That is the order in which they expire. */
  readonly #messages = new Map<string, KeptMessage<Value>>();
  readonly #organizations = new Map<string, OrganizationMessages<Value>>();
  #bytes = 0;

  constructor(bounds: ReasoningBounds) {
    this.#bounds = bounds;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get(name: string, nowMs: number): Value | undefined {
    this.expire(nowMs);
    return this.#messages.get(name)?.value;
  }

  /** Adds a message, or replaces the one of the same name. Returns the evicted messages. */
  add(
    { organizationId, name, value, bytes }: Omit<KeptMessage<Value>, 'expiresAtMs'>,
    nowMs: number,
  ): readonly KeptMessage<Value>[] {
    this.expire(nowMs);
    const { organizationBytes, totalBytes, expiresAfterMs } = this.#bounds;
    const former = this.#messages.get(name);
    if (former !== undefined) this.#delete(former);
    const message = {
      ...{ organizationId, name, value },
      bytes: bytes + BESIDES_BYTES,
      expiresAtMs: nowMs + expiresAfterMs,
    };
    const own = this.#organizations.get(organizationId) ?? { bytes: 0, messages: new Set() };
    this.#organizations.set(organizationId, own);
    this.#messages.set(name, message);
    own.messages.add(message);
    own.bytes += message.bytes;
    this.#bytes += message.bytes;
    const evicted: KeptMessage<Value>[] = [];
    while (own.bytes > organizationBytes) evicted.push(this.#evictOldest(own));
    while (this.#bytes > totalBytes) evicted.push(this.#evictOldest(this.#largest(own)));
    return evicted;
  }

  expire(nowMs: number): void {
    for (const message of this.#messages.values()) {
      if (message.expiresAtMs > nowMs) return;
      this.#delete(message);
    }
  }

  clear(): void {
    this.#messages.clear();
    this.#organizations.clear();
    this.#bytes = 0;
  }

  #evictOldest({ messages }: OrganizationMessages<Value>): KeptMessage<Value> {
    const [oldest] = messages;
    if (oldest === undefined) throw new Error('an organization without messages has bytes');
    this.#delete(oldest);
    return oldest;
  }

  #largest(writer: OrganizationMessages<Value>): OrganizationMessages<Value> {
    let largest = writer;
    for (const one of this.#organizations.values()) if (one.bytes > largest.bytes) largest = one;
    return largest;
  }

  #delete(message: KeptMessage<Value>): void {
    this.#messages.delete(message.name);
    this.#bytes -= message.bytes;
    const own = this.#organizations.get(message.organizationId);
    if (own === undefined) return;
    own.bytes -= message.bytes;
    own.messages.delete(message);
    if (own.messages.size === 0) this.#organizations.delete(message.organizationId);
  }
}
