import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Completion } from './completion.ts';
import { editObject, type Member, type MemberEdits, membersOf } from './json-members.ts';

/**
 * Members of a provider's response that the client may see. Prices, accounts and routes of the
 * operator are hidden. Of a usage only known members are shown, because providers add their prices
 * there; elsewhere only known members about the operator are hidden.
 */
const OFFICIAL: ReadonlySet<string> = new Set([
  ...['id', 'object', 'created', 'model', 'choices', 'usage', 'service_tier', 'system_fingerprint', 'obfuscation'],
]);
const HIDDEN =
  /^(?:provider|x_|_)|cost|price|pricing|billing|byok|account|organi[sz]ation|credits|balance|upstream|usd/i;
/** Hidden in a choice, its message or delta. All other members there are the model's output. */
const HIDDEN_INSIDE = /^(?:usage|provider|provider_?metadata|is_?byok)$|cost|price|pricing|billing/i;

export const OF_USAGE: ReadonlySet<string> = new Set([
  ...['prompt_tokens', 'completion_tokens', 'total_tokens', 'input_tokens', 'output_tokens', 'reasoning_tokens'],
  // Caches, as DeepSeek, Moonshot and Anthropic's family report them at the top.
  ...['cached_tokens', 'prompt_cache_hit_tokens', 'prompt_cache_miss_tokens', 'cache_read_input_tokens'],
  ...['cache_creation_input_tokens', 'cost'],
]);
export const OF_DETAILS: ReadonlySet<string> = new Set([
  ...['cached_tokens', 'cache_write_tokens', 'cache_creation_tokens', 'cache_read_tokens', 'text_tokens'],
  ...['audio_tokens', 'image_tokens', 'video_tokens', 'file_tokens', 'reasoning_tokens'],
  ...['accepted_prediction_tokens', 'rejected_prediction_tokens'],
]);
export const DETAILS: ReadonlySet<string> = new Set([
  ...['prompt_tokens_details', 'completion_tokens_details', 'input_tokens_details', 'output_tokens_details'],
]);

/**
 * Members about a cache in the usage of another API. They keep their names in chat's form: known
 * ones are charged, unknown ones are counted by a metric.
 */
export function cacheCountsIn(usage: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(usage).filter(([name]) => /cache/i.test(name)));
}

/** True for a top-level member that is about the operator. */
export function isHidden(name: string): boolean {
  return !OFFICIAL.has(name) && HIDDEN.test(name);
}

/**
 * Returns edits that remove what clients may not see. `undefined`, nearly always: there is nothing
 * to remove. Takes 0.15 us; parsing the chunk takes 1 us.
 */
export function hidingEdits(completion: Completion): MemberEdits | undefined {
  let edits: Record<string, string | undefined> | undefined;
  for (const name in completion) {
    if (!isHidden(name)) continue;
    edits ??= noEdits();
    edits[name] = undefined;
  }
  if (!hidesInChoices(completion)) return edits;
  return { ...edits, choices: JSON.stringify(completion.choices.map(shownChoice)) };
}

export function hidesInChoices({ choices }: Completion): boolean {
  return choices.some(hidesInside);
}

function hidesInside(choice: unknown): boolean {
  if (!isObject(choice)) return false;
  return hidesMember(choice) || hidesMember(choice.delta) || hidesMember(choice.message);
}

function hidesMember(value: unknown): boolean {
  if (!isObject(value)) return false;
  for (const name in value) if (HIDDEN_INSIDE.test(name)) return true;
  return false;
}

function shownChoice(choice: unknown): unknown {
  if (!isObject(choice)) return choice;
  const { delta, message } = choice;
  return {
    ...shownInside(choice),
    ...(isObject(delta) ? { delta: shownInside(delta) } : {}),
    ...(isObject(message) ? { message: shownInside(message) } : {}),
  };
}

/** Elements without the members that are hidden in a choice. `undefined`: they have none. */
export function shownElements(elements: readonly unknown[]): readonly unknown[] | undefined {
  if (!elements.some(hidesMember)) return undefined;
  return elements.map((element) => (isObject(element) ? shownInside(element) : element));
}

/** Members that the model writes. The names inside them are the model's own. */
const SAID: ReadonlySet<string> = new Set(['input', 'arguments']);

/** A value without what a choice hides, at any depth. `undefined`, nearly always: it had none. */
export function shownWithin(value: unknown): unknown {
  return hidesWithin(value) ? withoutHidden(value) : undefined;
}

function hidesWithin(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hidesWithin);
  if (!isObject(value)) return false;
  for (const name in value) if (HIDDEN_INSIDE.test(name) || (!SAID.has(name) && hidesWithin(value[name]))) return true;
  return false;
}

function withoutHidden(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutHidden);
  if (!isObject(value)) return value;
  const shown = Object.entries(shownInside(value));
  return Object.fromEntries(shown.map(([name, member]) => [name, SAID.has(name) ? member : withoutHidden(member)]));
}

/** Edits that hide members of an event, its `model`, and members at any depth within `deep`. */
export function hidingWithin(event: JsonObject, deep: readonly string[]): MemberEdits | undefined {
  let edits: Record<string, string | undefined> | undefined;
  for (const name in event) {
    const shown = deep.includes(name) ? shownWithin(event[name]) : undefined;
    if (shown === undefined && !HIDDEN_INSIDE.test(name) && name !== 'model') continue;
    edits ??= noEdits();
    edits[name] = shown === undefined ? undefined : JSON.stringify(shown);
  }
  return edits;
}

function shownInside(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !HIDDEN_INSIDE.test(name)));
}

/** Edits that keep only the members of a usage that count tokens. Callers may add edits. */
export function shownUsage(text: string, members: readonly Member[]): Record<string, string | undefined> {
  const edits = noEdits();
  // The last member of a name counts, as in all known readers.
  for (const { name, valueStart, valueEnd } of members) {
    const value = text.slice(valueStart, valueEnd);
    edits[name] = DETAILS.has(name) ? shownDetails(value) : count(name, value, OF_USAGE);
  }
  return edits;
}

function shownDetails(text: string): string {
  if (!text.startsWith('{')) return 'null';
  const members = membersOf(text);
  const edits = noEdits();
  for (const { name, valueStart, valueEnd } of members) {
    edits[name] = count(name, text.slice(valueStart, valueEnd), OF_DETAILS);
  }
  return editObject(text, edits, members);
}

/** Without a prototype: a member may be called `__proto__`. */
function noEdits(): Record<string, string | undefined> {
  return Object.create(null) as Record<string, string | undefined>;
}

function count(name: string, value: string, known: ReadonlySet<string>): string | undefined {
  return known.has(name) && COUNT.test(value) ? value : undefined;
}

const COUNT = /^(?:[-\d]|null$)/;
