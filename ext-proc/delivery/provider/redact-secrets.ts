import type { Provider, ProviderCredentials } from '#core/config/gateway-config.ts';

const REDACTED = '[redacted]';

/** A part of a key is recognized by this many consecutive characters. */
const PIECE_CHARACTERS = 8;
/** Characters of a key's beginning or end that providers show beside a mask, or alone. */
const SHOWN_CHARACTERS = 4;
/** The ends of shorter keys are not redacted: they are ordinary words. */
const LEAST_KEY_CHARACTERS = 12;
/** Fewer matching characters beside a mask are a coincidence. */
const LEAST_SHOWN_CHARACTERS = 2;

/**
 * Shapes of known providers' keys and of tokens that Envoy fetches (JWT, AWS), which are unknown
 * here, and of OpenAI's ids of organizations, projects and users.
 */
const SECRET_SHAPES =
  /\b(?:sk|pk|rk|xai|gsk|pplx|fw|nvapi|csk)[-_][\w-]{8,}|\bAIza[\w-]{16,}|\bya29\.[\w.-]{8,}|\b(?:AKIA|ASIA)[A-Z0-9]{8,}|\beyJ[\w.-]{16,}|\bBearer\s+[!#-[\]-~]{8,}|\borg-[A-Za-z0-9]{6,}|\bproj_[A-Za-z0-9]{6,}|\buser-[A-Za-z0-9]{16,}|\bproject(?:s\/|_number:|[ #:]+)\d{6,}/g;

/** A word with a mask: stars, bullets, an ellipsis, dots or a row of `x`. */
const MASKED = /([\w-]{0,100})(?:\*{2,}|•{2,}|…|\.{3,}|(?<=[\w-])[xX]{4,})[*•….]*([\w-]{0,100})/g;
const REDACTED_IN_PARTS = /(?:\[redacted\](?:[*•…]+|\.{3,})?)+/g;
const STARS = /\*{3,}|•{2,}/;
const KEY_BEGINS = /^(?:sk|pk|rk|xai|gsk|pplx|nvapi|csk)[-_]|^AIza/;

/** Secrets of a call to a provider. Shorter values of headers and query count as ordinary words. */
export function secretsOf({ apiKey, headers = {}, query = {}, credentials }: Provider): readonly string[] {
  const values = Object.values(query);
  const configured = [
    ...Object.values(headers),
    ...values,
    ...values.map(encodeURIComponent),
    ...(credentials === undefined ? [] : secretsIn(credentials)),
  ];
  // A header may have a scheme before its secret.
  const words = configured.flatMap((value) => [value, ...value.split(' ')]);
  const secrets = words.filter((value) => value.length >= PIECE_CHARACTERS);
  if (apiKey !== undefined && apiKey !== '') secrets.push(apiKey);
  return [...new Set(secrets)];
}

function secretsIn(credentials: ProviderCredentials): readonly string[] {
  if (credentials.kind === 'oauth2') return [credentials.secret];
  const { accessKeyId, secretAccessKey, sessionToken = '' } = credentials;
  return [accessKeyId, secretAccessKey, sessionToken];
}

/**
 * Redacts secrets of a provider in its text: whole, in parts and masked (`sk-…abcd`, `xa***9Q`),
 * and other secrets of a known shape. Call it before a text is cut, or the beginning of a key would
 * remain.
 */
export function redactSecrets(text: string, secrets: readonly string[]): string {
  let redacted = text;
  // Whole ones first: a secret may contain another.
  for (const secret of secrets.toSorted((a, b) => b.length - a.length))
    redacted = redacted.replaceAll(secret, REDACTED);
  for (const secret of secrets) redacted = withoutPieces(redacted, secret);
  redacted = redacted.replace(MASKED, (word, before: string, after: string) =>
    isMasked(word, before, after, secrets) ? REDACTED : word,
  );
  for (const secret of secrets) redacted = withoutEnds(redacted, secret);
  return redacted.replace(SECRET_SHAPES, REDACTED).replace(REDACTED_IN_PARTS, REDACTED);
}

/**
 * Redacts each run of characters that also occurs in the key, with the whole word around it: after
 * a common beginning such as `sk-proj-`, the rest of the word may be another key.
 */
function withoutPieces(text: string, key: string): string {
  if (key.length < PIECE_CHARACTERS || text.length < PIECE_CHARACTERS) return text;
  const pieces = new Set<string>();
  for (let at = 0; at + PIECE_CHARACTERS <= key.length; at++) pieces.add(key.slice(at, at + PIECE_CHARACTERS));
  let kept = '';
  let keptTo = 0;
  for (let at = 0; at + PIECE_CHARACTERS <= text.length; at++) {
    if (!pieces.has(text.slice(at, at + PIECE_CHARACTERS))) continue;
    let end = at + PIECE_CHARACTERS;
    while (end < text.length && pieces.has(text.slice(end - PIECE_CHARACTERS + 1, end + 1))) end++;
    let start = at;
    while (start > keptTo && isOfWord(text, start - 1)) start--;
    while (end < text.length && isOfWord(text, end)) end++;
    kept += text.slice(keptTo, start) + REDACTED;
    keptTo = end;
    at = end - 1;
  }
  return kept + text.slice(keptTo);
}

function isOfWord(text: string, at: number): boolean {
  return /[\w-]/.test(text.charAt(at));
}

function isMasked(word: string, before: string, after: string, secrets: readonly string[]): boolean {
  if (before === '' && after === '') return false;
  if (STARS.test(word) || KEY_BEGINS.test(before)) return true;
  const isBeginning = before.length >= LEAST_SHOWN_CHARACTERS && secrets.some((secret) => secret.startsWith(before));
  return isBeginning || (after.length >= LEAST_SHOWN_CHARACTERS && secrets.some((secret) => secret.endsWith(after)));
}

/** Redacts the first or last characters of a key where they are a word of their own. */
function withoutEnds(text: string, key: string): string {
  if (key.length < LEAST_KEY_CHARACTERS) return text;
  const ends = [key.slice(0, SHOWN_CHARACTERS), key.slice(-SHOWN_CHARACTERS)].filter((end) => /^[\w-]+$/.test(end));
  if (ends.length === 0) return text;
  return text.replace(new RegExp(`(?<![\\w-])(?:${ends.join('|')})(?![\\w-])`, 'g'), REDACTED);
}
