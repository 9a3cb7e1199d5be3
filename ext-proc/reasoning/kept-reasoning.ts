import { setImmediate } from 'node:timers/promises';
import type { JsonObject } from '#core/json-object.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { CalledMessage, ReasoningMember } from '../chat/called-messages.ts';
import { settlesWithin } from '../fairness/wait.ts';
import type { KeptReasoningResult, ReasoningStore } from '../limits/reasoning/reasoning-store.ts';
import { calledTools, textOfCalls } from './called-tools.ts';
import type { ProducedReasoning } from './produced-message.ts';
import type { ReasoningSeal } from './reasoning-seal.ts';

/** Reasoning that a message of a request lacks, and the target that it came from. */
export interface FoundReasoning extends ReasoningOrigin {
  /** Index among the request's messages. */
  readonly message: number;
  readonly member: ReasoningMember;
  /** Value of the member. */
  readonly json: Buffer;
}

/**
 * Encrypted reasoning can be read by the account and the model that made it alone: OpenAI refuses
 * a request with another's.
 */
export interface ReasoningOrigin {
  readonly provider: string;
  readonly model: string;
}

export interface KeptReasoning {
  /** Keeps the reasoning of a response. Never rejects, and never takes long. */
  keep(
    seal: ReasoningSeal,
    organizationId: string,
    origin: ReasoningOrigin,
    produced: ProducedReasoning,
  ): Promise<void>;
  /** Finds the reasoning of messages that lack this member. Never rejects, and never takes long. */
  find(
    seal: ReasoningSeal,
    organizationId: string,
    member: ReasoningMember,
    messages: readonly CalledMessage[],
  ): Promise<readonly FoundReasoning[]>;
}

export interface KeptReasoningOptions {
  readonly store: ReasoningStore;
  readonly onResult: (result: KeptReasoningResult, messages: number) => void;
  /** Called with what is no outage. */
  readonly onFault: (error: unknown) => void;
  /** A request goes on without the store after this long. Longer only in tests. */
  readonly waitMs?: number;
}

/** Redis replies in about 1 ms. Without it the model reasons once more. */
const WAIT_MS = 100;

/**
 * Bound on the sealed reasoning of one request, enough for a long loop of an agent. The newest
 * messages come first.
 */
const MOST_FOUND_BYTES = 1024 * 1024;

/** Calls of so many bytes are compared without a pause, which takes about 2 ms. */
const BYTES_AT_ONCE = 64 * 1024;
/** A message takes as long as so many bytes of calls, to be named and to be opened. */
const NAMED_BYTES = 512;
const OPENED_BYTES = 1024;

/** Work of the event loop, with pauses for other work. */
class PausedWork {
  #bytes = 0;

  async done(bytes: number): Promise<void> {
    this.#bytes += bytes;
    if (this.#bytes < BYTES_AT_ONCE) return;
    this.#bytes = 0;
    await setImmediate();
  }
}

/** Calls beyond so many bytes are not compared. */
const MOST_COMPARED_BYTES = 2 * 1024 * 1024;

export function createKeptReasoning(options: KeptReasoningOptions): KeptReasoning {
  const { store, onResult, onFault, waitMs = WAIT_MS } = options;

  /** `undefined`: it took too long or failed. */
  async function inTime<Result>(work: Promise<Result>): Promise<Result | undefined> {
    try {
      if (await settlesWithin(work, waitMs)) return await work;
      // A process that stood still finds the reply only now.
      return await Promise.race([work, setImmediate(undefined)]);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFault(error);
      return undefined;
    }
  }

  return {
    async keep(seal, organizationId, origin, { calls, member, value }) {
      const text = textOfCalls(calls);
      if (text === undefined) return onResult('full', 1);
      const name = seal.nameOf(text);
      const { provider, model } = origin;
      const sealed = await seal.seal(
        name,
        Buffer.from(JSON.stringify({ provider, model, [SEALED_AS[member]]: value })),
      );
      onResult((await inTime(store.keep({ organizationId, name, sealed }))) ?? 'unavailable', 1);
    },
    async find(seal, organizationId, member, messages) {
      const named = await namesOf(seal, messages);
      if (named.length === 0) return [];
      const names = named.map(({ name }) => name);
      const found = await inTime(store.find(organizationId, names, MOST_FOUND_BYTES));
      if (found === undefined) {
        onResult('unavailable', named.length);
        return [];
      }
      const opened: FoundReasoning[] = [];
      const work = new PausedWork();
      for (const [at, { name, message }] of named.entries()) {
        const sealed = found[at];
        const reasoning = sealed && read(seal.open(name, sealed), member);
        if (reasoning !== undefined) opened.push({ ...reasoning, member, message });
        await work.done(OPENED_BYTES + (sealed?.length ?? 0));
      }
      if (opened.length > 0) onResult('found', opened.length);
      if (opened.length < named.length) onResult('missing', named.length - opened.length);
      return opened;
    },
  };
}

interface NamedMessage {
  readonly message: number;
  readonly name: string;
}

/** Computes the names of messages, the newest first. */
async function namesOf(seal: ReasoningSeal, messages: readonly CalledMessage[]): Promise<readonly NamedMessage[]> {
  const byName = new Map<string, NamedMessage>();
  const work = new PausedWork();
  let comparedBytes = 0;
  for (const { message, toolCalls } of messages.toReversed()) {
    comparedBytes += toolCalls.length;
    if (comparedBytes > MOST_COMPARED_BYTES) break;
    const calls = calledTools(JSON.parse(toolCalls.toString()));
    const text = calls && textOfCalls(calls);
    const name = text && seal.nameOf(text);
    if (name !== undefined && !byName.has(name)) byName.set(name, { message, name });
    await work.done(NAMED_BYTES + toolCalls.length);
  }
  return [...byName.values()];
}

/** How the members are called in the sealed text. */
const SEALED_AS = { reasoning_details: 'details', reasoning_content: 'content' } as const;

function read(
  text: Buffer | undefined,
  member: ReasoningMember,
): (ReasoningOrigin & Pick<FoundReasoning, 'json'>) | undefined {
  if (text === undefined) return undefined;
  const { provider, model, ...sealed } = JSON.parse(text.toString()) as ReasoningOrigin & JsonObject;
  const value = sealed[SEALED_AS[member]];
  return value === undefined ? undefined : { provider, model, json: Buffer.from(JSON.stringify(value)) };
}
