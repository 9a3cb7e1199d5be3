import type { RuleProblem } from './problem.ts';
import { type AuthEntry, aws, checkAuth, oauth2 } from './provider-auth-fields.ts';
import { matching, named, section } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Fields of a provider that shape the URL and the headers of its calls. */

/**
 * Headers that the gateway or Envoy sets, that describe the body or the connection, or that Envoy
 * obeys.
 */
const RESERVED =
  'accept|accept-encoding|connection|content-[^:]*|expect|host|keep-alive|proxy-[^:]*|te|trailer|traceparent|tracestate|transfer-encoding|upgrade|x-envoy-[^:]*|x-gw-[^:]*';
const TOKEN = '[A-Za-z0-9][A-Za-z0-9._-]{0,63}';

const HEADER_NAME =
  'the name of a header such as x-team, and none that carries the key or describes the body or the connection';
const headerName = matching(new RegExp(`^(?!(?:authorization|${RESERVED})$)${TOKEN}$`, 'i'), HEADER_NAME);
const headerValue = matching(
  /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/,
  '1 to 4096 visible ASCII characters, without a space at either end',
);

const QUERY_NAME = 'the name of a query parameter such as api-version: 1 to 128 visible ASCII characters';
const queryName = matching(/^[\x21-\x7e]{1,128}$/, QUERY_NAME);
const queryValue = matching(
  /^\P{C}{1,1024}$/u,
  'a text of 1 to 1024 characters without control characters; quote a number',
);

export const headers = named(headerName, headerValue, HEADER_NAME);
export const query = named(queryName, queryValue, QUERY_NAME);

/** Replaces `Authorization: Bearer …`. */
export const auth = section({
  header: matching(
    new RegExp(`^(?!(?:${RESERVED})$)${TOKEN}$`, 'i'),
    'the name of the header that carries the key, such as api-key, and none that describes the body or the connection',
  ).optional(),
  aws: aws.optional(),
  oauth2: oauth2.optional(),
});

const MAX_HEADERS = 32;
const MAX_PARAMETERS = 32;

interface CallEntry {
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly query?: Readonly<Record<string, string>> | undefined;
  readonly auth?: (AuthEntry & { readonly header?: string | undefined }) | undefined;
  readonly api_key?: string | undefined;
}

/** Rules between the fields of one provider. */
export function checkCallFields(path: Path, { headers = {}, query = {}, auth, api_key }: CallEntry): RuleProblem[] {
  const problems = checkAuth(path, auth, api_key !== undefined);
  const names = Object.keys(headers).map((name) => name.toLowerCase());
  for (const [index, name] of Object.keys(headers).entries()) {
    const lower = name.toLowerCase();
    if (names.indexOf(lower) < index)
      problems.push({ path: [...path, 'headers', name], message: 'is given twice but for its case; keep one' });
    if (lower === auth?.header?.toLowerCase())
      problems.push({ path: [...path, 'headers', name], message: 'is the header that carries the key' });
  }
  if (names.length > MAX_HEADERS)
    problems.push({ path: [...path, 'headers'], message: `must have at most ${MAX_HEADERS} headers` });
  if (Object.keys(query).length > MAX_PARAMETERS)
    problems.push({ path: [...path, 'query'], message: `must have at most ${MAX_PARAMETERS} parameters` });
  return problems;
}
