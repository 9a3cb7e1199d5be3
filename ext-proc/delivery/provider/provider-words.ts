import { isObject, type JsonObject } from '#core/json-object.ts';

/** Error text and names of a provider's response. Secrets are not redacted yet. */
export interface ProviderWords {
  /** Message for people; empty without one. */
  readonly text: string;
  readonly param?: string;
  /** Names of the error: its code, type, status and reason in lower case, joined by `_`. */
  readonly names: readonly string[];
}

/** The text is cut to this length. The client sees far less, and classification must stay cheap. */
const MAX_CHARACTERS = 4000;
const MAX_ENTRIES = 8;
const MAX_DEPTH = 4;

const SILENT: ProviderWords = { text: '', names: [] };

/**
 * Reads an error from OpenAI's envelope, from an array of errors (Gemini), and from `message` or
 * `detail` as text, object or list (Mistral, FastAPI). A body that is not JSON is its own text.
 */
export function wordsOf(body: unknown): ProviderWords {
  if (typeof body === 'string') return { text: body.slice(0, MAX_CHARACTERS), names: [] };
  if (Array.isArray(body)) {
    const first = body.find(isObject);
    return first === undefined ? { text: textIn(body).slice(0, MAX_CHARACTERS), names: [] } : wordsOf(first);
  }
  if (!isObject(body)) return SILENT;
  const error = isObject(body.error) ? body.error : Array.isArray(body.error) ? body.error.find(isObject) : undefined;
  const about = error ?? body;
  const places = [about.message, body.error, body.message, body.detail, about.detail, body.errors, about.msg];
  const text = places.map((place) => textIn(place)).find((found) => found !== '') ?? '';
  const param = typeof about.param === 'string' && about.param !== '' ? about.param : fieldIn(places);
  return {
    text: text.slice(0, MAX_CHARACTERS),
    ...(param === undefined ? {} : { param: param.slice(0, MAX_CHARACTERS) }),
    names: [...new Set([...namesIn(body), ...(about === body ? [] : namesIn(about))])],
  };
}

function textIn(value: unknown, depth = 0): string {
  if (typeof value === 'string') return value.trim();
  if (depth === MAX_DEPTH) return '';
  if (Array.isArray(value)) {
    const texts = value.slice(0, MAX_ENTRIES).map((entry) => textIn(entry, depth + 1));
    return texts.filter((text) => text !== '').join('; ');
  }
  if (!isObject(value)) return '';
  const text = [value.message, value.msg, value.detail, value.error, value.text, value.reason, value.description]
    .map((place) => textIn(place, depth + 1))
    .find((found) => found !== '');
  if (text === undefined) return '';
  const field = fieldOf(value);
  return field === undefined ? text : `${field}: ${text}`;
}

/** FastAPI's place of an error, `["body", "stream_options"]`, as a field. */
function fieldOf({ loc }: JsonObject): string | undefined {
  if (!Array.isArray(loc)) return undefined;
  const path = loc.filter((step) => (typeof step === 'string' && step !== 'body') || typeof step === 'number');
  return path.length === 0 ? undefined : path.slice(0, MAX_ENTRIES).join('.');
}

function fieldIn(places: readonly unknown[], depth = 0): string | undefined {
  if (depth === MAX_DEPTH) return undefined;
  for (const place of places) {
    if (Array.isArray(place)) return fieldIn(place.slice(0, MAX_ENTRIES), depth + 1);
    if (!isObject(place)) continue;
    const field = fieldOf(place) ?? fieldIn([place.detail, place.message], depth + 1);
    if (field !== undefined) return field;
  }
  return undefined;
}

const NAMED = ['code', 'type', 'status', 'reason', 'quotaId', '__type'] as const;
/** Members with nested errors. Without `input` and `ctx`, which repeat the client's words. */
const INSIDE = ['details', 'detail', 'message', 'violations', 'innererror', 'errors'] as const;

function namesIn(value: unknown, depth = 0): string[] {
  if (depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.slice(0, MAX_ENTRIES).flatMap((entry) => namesIn(entry, depth + 1));
  if (!isObject(value)) return [];
  const own = NAMED.map((name) => value[name]).filter((name) => typeof name === 'string' || typeof name === 'number');
  const names = own.map(nameFrom).filter((name) => name !== '');
  return [...names, ...INSIDE.flatMap((place) => namesIn(value[place], depth + 1))];
}

const MAX_NAME_CHARACTERS = 200;

/** Writes a name in lower case with `_`: `AccessDeniedException` is `access_denied_exception`. */
function nameFrom(name: string | number): string {
  return String(name)
    .slice(0, MAX_NAME_CHARACTERS)
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_');
}
