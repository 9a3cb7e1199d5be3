import { LONGEST_ECHO, type Refusal, refuse } from '#core/errors/refusal.ts';
import type { Steps } from '../fairness/steps.ts';
import { JsonCursor } from './json/json-cursor.ts';
import { JsonScan, type ScannedObject } from './json/json-scan.ts';

/** The accepted top-level fields of a body. */
export interface KnownFields {
  /** `word`: the name as a word of json-words.ts, or empty. `text`: makes the name. */
  has(word: string, text: () => string): boolean;
  /** Fields of other APIs, with the end of the refusal. */
  readonly cures: ReadonlyMap<string, string>;
  readonly mostValues?: number | undefined;
}

/** Checks a body from encoding to unknown fields, in steps. Blanks out replaced members. */
export function* scanBody(
  bytes: Buffer,
  contentEncoding: string | undefined,
  known: KnownFields,
): Steps<ScannedObject | Refusal> {
  if (!isIdentity(contentEncoding)) return COMPRESSED;
  const scan = new JsonScan(bytes, known.mostValues);
  while (!scan.step()) yield;
  const body = scan.result();
  if (body.kind === 'problem') return refuse('invalid_json', { problem: body.problem });
  const unknown = firstUnknownField(body, known);
  if (unknown !== undefined)
    return refuse('unknown_parameter', { name: `${unknown}${known.cures.get(unknown) ?? ''}` }, { param: unknown });
  if (body.hasReplaced) body.tape.blankReplaced(bytes);
  return body;
}

const COMPRESSED = refuse(
  'invalid_request',
  { problem: 'A compressed request body is not accepted; send it without content-encoding.' },
  { param: 'content-encoding' },
);

function isIdentity(contentEncoding = ''): boolean {
  if (contentEncoding === '') return true;
  return contentEncoding.split(',').every((coding) => ['', 'identity'].includes(coding.trim().toLowerCase()));
}

/** Returns the first unknown field of the body. A duplicate counts at its first position. */
function firstUnknownField(body: ScannedObject, known: KnownFields): string | undefined {
  const cursor = new JsonCursor(body);
  const text = () => cursor.keyText(LONGEST_ECHO);
  return cursor.eachKey((word) => (known.has(word, text) ? undefined : text()));
}
