import { byteAt } from './json-bytes.ts';
import { unescapeInto } from './json-text.ts';

/** The fields of a request. */
const FIELDS =
  'model messages max_tokens max_completion_tokens n stream stream_options response_format reasoning_effort tools tool_choice ' +
  'parallel_tool_calls temperature top_p stop seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs user ' +
  'safety_identifier prompt_cache_key verbosity store metadata service_tier prompt_cache_options prompt_cache_retention modalities ' +
  'prediction audio web_search_options moderation functions function_call';

/** Names of nested members in the official API, and of other members that carry media. */
const NESTED =
  'role content type text image_url url detail name function arguments id parameters description strict tool_calls tool_call_id ' +
  'function_call refusal audio input_audio data format file file_data file_id file_url filename video_url audio_url cache_control custom input ' +
  'json_schema schema include_usage include_obfuscation allowed_tools prompt_cache_breakpoint ttl';

/** Values that the rules compare. */
const VALUES =
  'system developer user assistant tool none auto required json_object reasoning_content reasoning_details extra_content index';

/**
 * A name or value that the gateway knows. Words are found without making a string, which is six
 * times as fast. Any other text is only known to be no word.
 */
interface Word {
  readonly text: string;
  readonly bytes: Uint8Array;
  readonly isNested: boolean;
}

/** Returns the string between the quotes at `start` and `end` if it is a word, or else ''. */
export function wordAt(bytes: Uint8Array, start: number, end: number, isEscaped: boolean): string {
  if (isEscaped) {
    if (end - start > LONGEST_WORD * LONGEST_ESCAPE) return '';
    return wordAt(DECODED, 0, unescapeInto(DECODED, 0, bytes, start, end), false);
  }
  const word = places[placeOf(bytes, start, end)];
  return word !== undefined && isAt(word.bytes, bytes, start, end) ? word.text : '';
}

/** Returns the nested member that a parser which ignores case sees in this key, or else ''. */
export function nestedNameBesidesCase(bytes: Uint8Array, start: number, end: number, isEscaped: boolean): string {
  if (end - start > LONGEST_WORD * LONGEST_ESCAPE) return '';
  const length = isEscaped ? unescapeInto(DECODED, 0, bytes, start, end) : end - start;
  const folded = isEscaped ? foldInto(DECODED, 0, length) : foldInto(bytes, start, end);
  const word = places[placeOf(FOLDED, 0, folded)];
  return word?.isNested === true && isAt(word.bytes, FOLDED, 0, folded) ? word.text : '';
}

/** Nested members that make a provider write its prompt cache (Anthropic's, and OpenAI's). */
export const CACHE_MARKERS: ReadonlySet<string> = new Set(['cache_control', 'prompt_cache_breakpoint']);

/** Their lengths in bytes; the last is that of one with U+212A for its K. */
const MARKER_BYTES: ReadonlySet<number> = new Set([13, 23, 25]);

/** True if a key is the name of a marker, in any case. Most keys are excluded by their length. */
export function isCacheMarker(bytes: Uint8Array, start: number, end: number, isEscaped: boolean): boolean {
  if (!isEscaped && !MARKER_BYTES.has(end - start)) return false;
  return CACHE_MARKERS.has(nestedNameBesidesCase(bytes, start, end, isEscaped));
}

/**
 * Writes a key into `FOLDED` in lower case, as Go's encoding/json compares names: U+017F is a small
 * S and U+212A a K. Returns the end of the written bytes.
 */
function foldInto(bytes: Uint8Array, start: number, end: number): number {
  let length = 0;
  for (let pos = start; pos < end; pos++) {
    const byte = bytes[pos] as number;
    if (byte >= 0x41 && byte <= 0x5a) FOLDED[length++] = byte + 0x20;
    else if (byte === 0xc5 && bytes[pos + 1] === 0xbf) {
      FOLDED[length++] = SMALL_S;
      pos++;
    } else if (byte === 0xe2 && bytes[pos + 1] === 0x84 && bytes[pos + 2] === 0xaa) {
      FOLDED[length++] = SMALL_K;
      pos += 2;
    } else FOLDED[length++] = byte;
  }
  return length;
}

const SMALL_K = 0x6b;
const SMALL_S = 0x73;

function isAt(word: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (word.length !== end - start) return false;
  for (let i = 0; i < word.length; i++) {
    if (word[i] !== bytes[start + i]) return false;
  }
  return true;
}

/** A hash whose factors were chosen so that each word has a place of its own. */
function placeOf(bytes: Uint8Array, start: number, end: number): number {
  const middle = byteAt(bytes, (start + end) >> 1);
  return (byteAt(bytes, start) + byteAt(bytes, end - 1) + middle + (end - start) * 97) & 1023;
}

const places: (Word | undefined)[] = Array<undefined>(1024).fill(undefined);
const nested = new Set(NESTED.split(' '));
for (const text of new Set([FIELDS, NESTED, VALUES].join(' ').split(' '))) {
  const bytes = Buffer.from(text);
  const place = placeOf(bytes, 0, bytes.length);
  if (places[place] !== undefined) throw new Error(`${text} and ${places[place].text} fall on one place`);
  places[place] = { text, bytes, isNested: nested.has(text) };
}

const LONGEST_WORD = Math.max(...places.map((word) => word?.text.length ?? 0));
const LONGEST_ESCAPE = 6;
const DECODED = new Uint8Array(LONGEST_WORD * LONGEST_ESCAPE);
const FOLDED = new Uint8Array(LONGEST_WORD * LONGEST_ESCAPE);
