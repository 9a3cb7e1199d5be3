import type { z } from 'zod';
import type { RuleProblem } from './problem.ts';
import { checkAuth, RESERVED, TOKEN } from './provider-auth-fields.ts';
import { matching, named } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Fields of a provider that shape the URL and the headers of its calls. */

const HEADER_NAME =
  'the name of a header such as x-team, and none that carries the key or describes the body or the connection';
const headerName = matching(new RegExp(`^(?!(?:authorization|${RESERVED})$)${TOKEN}$`, 'i'), HEADER_NAME);
const headerValue = matching(
  /^[\x21-\x7e](?:[\x20-\x7e]{0,4094}[\x21-\x7e])?$/,
  '1 to 4096 visible ASCII characters, without a space at either end',
);

const QUERY_NAME = 'the name of a query parameter such as api-version: 1 to 128 visible ASCII characters';
const queryName = matching(/^[\x21-\x7e]{1,128}$/, QUERY_NAME);
const queryValue = matching(/^\P{C}{1,1024}$/u, 'a text of 1 to 1024 characters without control characters');

export const headers = named(headerName, headerValue, HEADER_NAME);
export const query = named(queryName, queryValue, QUERY_NAME);

const MAX_HEADERS = 32;
const MAX_PARAMETERS = 32;

interface CallEntry {
  readonly headers?: z.output<typeof headers> | undefined;
  readonly query?: z.output<typeof query> | undefined;
  readonly auth?: Parameters<typeof checkAuth>[1];
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
