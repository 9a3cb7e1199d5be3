import { setImmediate } from 'node:timers/promises';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { CalledMessage, ReasoningMember } from '../chat/called-messages.ts';
import type { Steps } from '../fairness/steps.ts';
import type { ValidationTurns } from '../fairness/validation-turns.ts';
import { settlesWithin } from '../fairness/wait.ts';
import type { KeptReasoningResult, ReasoningStore } from '../limits/reasoning/reasoning-store.ts';
import { calledTools, textOfCalls } from './called-tools.ts';
import { missingDetails } from './missing-details.ts';
import type { ProducedCalls } from './produced-message.ts';
import type { ReasoningSeal } from './reasoning-seal.ts';
import { type ReasoningTokens, tokensOf } from './reasoning-tokens.ts';

/** Reasoning that a message of a request lacks, and the target that it came from. */
export interface FoundReasoning extends ReasoningOrigin {
  /** Index among the request's messages. */
  readonly message: number;
  readonly member: ReasoningMember;
  readonly json: Buffer;
  readonly phase?: string | undefined;
  readonly tokens: ReasoningTokens;
}

/** Only the account and model of encrypted reasoning can read it. OpenAI refuses any other's. */
export interface ReasoningOrigin {
  readonly provider: string;
  readonly model: string;
}

/** Calls of a message, with the digest of the message that it answers. */
export interface CallsAfter extends ProducedCalls, Pick<CalledMessage, 'heard'> {}

export interface KeptReasoning {
  /** Keeps the reasoning of tool calls, or that there is none. Never slow, never rejects. */
  keep(seal: ReasoningSeal, organizationId: string, origin: ReasoningOrigin, answer: CallsAfter): Promise<void>;
  /** Finds missing reasoning. Never rejects; slow only if the organization looks up much. */
  find(seal: ReasoningSeal, organizationId: string, lookup: ReasoningLookup): Promise<readonly FoundReasoning[]>;
}

export interface ReasoningLookup {
  readonly messages: readonly CalledMessage[];
  /** Reserves memory. False: there is none, so nothing is opened. */
  readonly takeMemory: (bytes: number) => boolean;
  /** Aborts when the client leaves. Then nothing is found. */
  readonly gone: () => AbortSignal;
}

export interface KeptReasoningOptions {
  readonly store: ReasoningStore;
  /** Refused requests look up reasoning too, so organizations take turns. */
  readonly turns: ValidationTurns;
  readonly onResult: (result: KeptReasoningResult, messages: number) => void;
  /** Called with errors that are not an outage of the store. */
  readonly onFault: (error: unknown) => void;
  /** A request goes on without the store after this long. Longer only in tests. */
  readonly waitMs?: number;
}

/** Redis replies in about 1 ms. Without kept reasoning the model reasons again. */
const WAIT_MS = 100;

/** Bound on a request's sealed reasoning, enough for a long agent loop. Newest come first. */
const MOST_FOUND_BYTES = 1024 * 1024;

/** Calls beyond this many bytes in one request are not compared. */
const MOST_COMPARED_BYTES = 256 * 1024;

/** Reasoning is kept even if the client has left. */
const nobodyLeaves = () => new AbortController().signal;

const NOTHING = Buffer.alloc(0);

export function createKeptReasoning(options: KeptReasoningOptions): KeptReasoning {
  const { store, turns, onResult, onFault, waitMs = WAIT_MS } = options;

  /** `undefined`: it took too long or failed. */
  async function inTime<Result>(work: Promise<Result>): Promise<Result | undefined> {
    try {
      if (await settlesWithin(work, waitMs)) return await work;
      // If the process was blocked, the reply may have arrived but is not read yet.
      return await Promise.race([work, setImmediate(undefined)]);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) onFault(error);
      return undefined;
    }
  }

  return {
    async keep(seal, organizationId, origin, answer) {
      const { reasoning } = answer;
      const prepared = await turns.run(organizationId, prepare(seal, origin, answer), nobodyLeaves);
      if (prepared === undefined) {
        if (reasoning !== undefined) onResult('full', 1);
        return;
      }
      const { name, text } = prepared;
      // Empty: an older message with the same name must not be found for this one.
      const sealed = text === undefined ? NOTHING : await seal.seal(name, text);
      const result = (await inTime(store.keep({ organizationId, name, sealed }))) ?? 'unavailable';
      if (reasoning === 'too_much') onResult('full', 1);
      else if (reasoning !== undefined || result === 'unavailable') onResult(result, 1);
    },
    async find(seal, organizationId, { messages, takeMemory, gone }) {
      if (messages.length === 0) return [];
      const named = (await turns.run(organizationId, namesOf(seal, messages), gone)) ?? [];
      if (named.length === 0) return [];
      const names = named.map(({ name }) => name);
      const found = await inTime(store.find(organizationId, names, MOST_FOUND_BYTES));
      if (found === undefined) {
        onResult('unavailable', named.length);
        return [];
      }
      const foundBytes = found.reduce((sum, sealed) => sum + (sealed?.length ?? 0), 0);
      const opening = takeMemory(foundBytes) ? turns.run(organizationId, open(seal, named, found), gone) : [];
      const opened = (await opening) ?? [];
      if (opened.length > 0) onResult('found', opened.length);
      if (opened.length < named.length) onResult('missing', named.length - opened.length);
      return opened;
    },
  };
}

interface PreparedReasoning {
  readonly name: string;
  /** Absent: there is nothing to keep. */
  readonly text?: Buffer;
}

/** First line of the sealed text. The value follows as it is inserted into requests. */
type SealedHead = Omit<FoundReasoning, 'message' | 'json'>;

/** `undefined`: the calls cannot be compared. */
function* prepare(
  seal: ReasoningSeal,
  { provider, model }: ReasoningOrigin,
  { calls, heard, reasoning }: CallsAfter,
): Steps<PreparedReasoning | undefined> {
  const callsText = yield* textOfCalls(calls);
  if (callsText === undefined) return undefined;
  const name = seal.nameOf(heard + callsText);
  if (reasoning === undefined || reasoning === 'too_much') return { name };
  const { member, value, phase } = reasoning;
  const json = Buffer.from(JSON.stringify(value));
  const head: SealedHead = { provider, model, member, phase, tokens: yield* tokensOf(json) };
  return { name, text: Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), json]) };
}

interface NamedMessage extends Pick<CalledMessage, 'message' | 'lacks' | 'details'> {
  readonly name: string;
}

/** Computes the names of messages, the newest first. */
function* namesOf(seal: ReasoningSeal, messages: readonly CalledMessage[]): Steps<readonly NamedMessage[]> {
  const byName = new Map<string, NamedMessage>();
  let comparedBytes = 0;
  for (const { toolCalls, heard, ...message } of messages.toReversed()) {
    const bytes = toolCalls.length + (message.details?.length ?? 0);
    if (comparedBytes + bytes > MOST_COMPARED_BYTES) continue;
    comparedBytes += bytes;
    const calls = calledTools(JSON.parse(toolCalls.toString()));
    const text = calls && (yield* textOfCalls(calls));
    const name = text && seal.nameOf(heard + text);
    if (name !== undefined && !byName.has(name)) byName.set(name, { ...message, name });
    yield;
  }
  return [...byName.values()];
}

function* open(
  seal: ReasoningSeal,
  named: readonly NamedMessage[],
  found: readonly (Buffer | undefined)[],
): Steps<readonly FoundReasoning[]> {
  const opened: FoundReasoning[] = [];
  for (const [at, { name, message, lacks, details }] of named.entries()) {
    const sealed = found[at];
    const text = sealed && seal.open(name, sealed);
    if (text === undefined) continue;
    const headEnd = text.indexOf('\n');
    const head = JSON.parse(text.toString('utf8', 0, headEnd)) as SealedHead;
    const kept = text.subarray(headEnd + 1);
    const isPart = details !== undefined && head.member === 'reasoning_details';
    const json = isPart ? missingDetails(kept, details) : kept;
    if (lacks.includes(head.member) && json !== undefined)
      opened.push({ ...head, message, json, tokens: isPart ? yield* tokensOf(json) : head.tokens });
    yield;
  }
  return opened;
}
