import { LONGEST_ECHO } from '#core/errors/refusal.ts';
import type { ChatFacts } from './chat-facts.ts';
import type { JsonCursor } from './json/json-cursor.ts';
import { CACHE_MARKERS } from './json/json-words.ts';
import { NOT_SENT } from './provider-body.ts';

type CacheFacts = Pick<ChatFacts, 'cacheWrites'>;

/** Notes the value at the cursor, which requests cache writes, and steps over it. */
export function noteCacheWrites(facts: CacheFacts, cursor: JsonCursor, param: string): undefined {
  return note(facts, param, asksForLong(cursor) ? param : undefined);
}

/**
 * Notes the cache markers in a field that is sent. Providers and proxies read markers in more
 * places than could be listed, so every member is examined. Called only if the body has a marker.
 */
export function noteCacheMarkers(facts: CacheFacts, cursor: JsonCursor, field: string): undefined {
  if (NOT_SENT.has(field)) return;
  // The marker is itself a field: Anthropic's automatic caching.
  if (CACHE_MARKERS.has(field)) return noteCacheWrites(facts, cursor, field);
  const own = OF_CUSTOMER.get(field) ?? NONE;
  const first = pathOfMarker(cursor.copy(), own, isThere);
  if (first === undefined) return;
  const long = pathOfMarker(cursor, own, asksForLong);
  note(facts, (field + first).slice(0, LONGEST_PATH), long && (field + long).slice(0, LONGEST_PATH));
}

/** Only the first place of each kind is kept. */
function note(facts: CacheFacts, place: string, longPlace: string | undefined): undefined {
  const { param = place, longParam = longPlace } = facts.cacheWrites ?? {};
  facts.cacheWrites = { param, ...(longParam === undefined ? {} : { longParam }) };
}

const LONGEST_PATH = 512;

const NONE: ReadonlySet<string> = new Set();

/** Members whose content has names chosen by the customer, by field: schemas, inputs of calls. */
const OF_CUSTOMER: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['tools', new Set(['parameters', 'input_schema'])],
  ['response_format', new Set(['schema'])],
  ['output_config', new Set(['schema'])],
  ['messages', new Set(['input'])],
]);

/** Path of the first marker whose value `isWanted` accepts. `isWanted` steps over the value. */
function pathOfMarker(
  cursor: JsonCursor,
  ofCustomer: ReadonlySet<string>,
  isWanted: (value: JsonCursor) => boolean,
): string | undefined {
  const kind = cursor.kind();
  if (kind === 'array') {
    return cursor.eachElement((index) => {
      const path = pathOfMarker(cursor, ofCustomer, isWanted);
      return path === undefined ? undefined : `[${index}]${path}`;
    });
  }
  if (kind !== 'object') return void cursor.skip();
  return cursor.eachMember((word) => {
    const isMarker = word === '' ? cursor.isCacheMarker() : CACHE_MARKERS.has(word);
    if (isMarker && cursor.kind() !== 'null') {
      const name = word === '' ? cursor.keyText(LONGEST_ECHO) : word;
      return isWanted(cursor) ? `.${name}` : undefined;
    }
    if (cursor.kind() !== 'object' && cursor.kind() !== 'array') return void cursor.skip();
    const name = word === '' ? cursor.keyText(LONGEST_ECHO) : word;
    if (ofCustomer.has(name)) return void cursor.skip();
    const path = pathOfMarker(cursor, ofCustomer, isWanted);
    return path === undefined ? undefined : `.${name}${path}`;
  });
}

function isThere(value: JsonCursor): boolean {
  value.skip();
  return true;
}

/**
 * False only if the lifetime is at most five minutes, or is not given. An unknown notation counts
 * as longer, because providers have their own: Gemini's `3600s`, OpenAI's `24h`.
 */
function asksForLong(value: JsonCursor): boolean {
  if (value.kind() === 'string') return isLong(value);
  if (value.kind() !== 'object') {
    value.skip();
    return true;
  }
  let isLonger = false;
  value.eachMember((name) => {
    const isTtl = name === 'ttl' || (name === '' && value.nameBesidesCase() === 'ttl');
    if (isTtl && value.kind() === 'string') isLonger ||= isLong(value);
    else {
      if (isTtl && value.kind() !== 'null') isLonger = true;
      value.skip();
    }
    return undefined;
  });
  return isLonger;
}

const MOST_SHORT_SECONDS = 300;
const LONGEST_LIFETIME = 16;

/** The default of OpenAI's older models: some minutes in the memory of a machine. */
const IN_MEMORY: ReadonlySet<string> = new Set(['in_memory', 'in-memory']);

function isLong(value: JsonCursor): boolean {
  const text = value.text(LONGEST_LIFETIME);
  const [, number, unit] = /^(\d{1,4})([sm])$/.exec(text) ?? [];
  if (number === undefined) return !IN_MEMORY.has(text);
  return Number(number) * (unit === 'm' ? 60 : 1) > MOST_SHORT_SECONDS;
}
