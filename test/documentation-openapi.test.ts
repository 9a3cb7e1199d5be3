import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isApi } from '#core/config/apis.ts';
import { ERROR_CODES, type ErrorEntry } from '#core/errors/error-codes.ts';
import { ROUTES } from '#ext-proc/access/route.ts';
import { CHAT_FIELDS } from '#ext-proc/chat/chat-fields.ts';
import { DETAILS, OF_DETAILS, OF_USAGE } from '#ext-proc/dialects/shown-members.ts';
import { rateLimitHeaders } from '#ext-proc/requests/admit.ts';
import { ON_EVERY_RESPONSE } from '#ext-proc/transport/ext-proc/replies.ts';
import { withErrors } from '#scripts/openapi-errors.ts';
import { API_DOCUMENT, apiDocument, compileSchema, responseAt } from './fixtures/api-document.ts';

/** Compares docs/openapi.yaml with the lists in the code. */
const { paths, components } = apiDocument;
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, operation })),
);
const responses = operations.flatMap(({ name, operation }) =>
  Object.entries(operation.responses).map(([status, given]) => {
    const [pointer, response] = responseAt('', given);
    return { name, status: Number(status), pointer, response };
  }),
);

/** Codes of an error response. */
function codesOf(response: unknown): string[] {
  return [...JSON.stringify(response).matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, code = '']) => code);
}

const propertiesOf = (schema: string) => Object.keys(components.schemas[schema]?.properties ?? {}).sort();

it('has every error code; if not: npm run generate', () => {
  const text = readFileSync(API_DOCUMENT, 'utf8');
  expect(withErrors(text)).toBe(text);
});

it('has every error under its status, in an operation or as RouteNotFound', () => {
  const named = responses
    .filter(({ status }) => status !== 200)
    .flatMap(({ status, response }) => codesOf(response).map((code) => `${code} ${status}`));
  const elsewhere = codesOf(components.responses.RouteNotFound).map((code) => `${code} 404`);
  expect([...new Set([...named, ...elsewhere])].sort()).toEqual(
    Object.entries<ErrorEntry>(ERROR_CODES)
      .map(([code, { status }]) => `${code} ${status}`)
      .sort(),
  );
});

it('has the endpoints of the gateway, with their scopes', () => {
  expect(operations.map(({ name }) => name)).toEqual([...ROUTES.keys()]);
  for (const { name, operation } of operations)
    expect([name, /`([\w:]+)`/.exec(operation.description)?.[1]]).toEqual([name, ROUTES.get(name)?.scope]);
});

it('has the fields of a chat request, and no other; how: CONTRIBUTING.md, "a request field"', () => {
  expect(propertiesOf('ChatCompletionRequest')).toEqual([...CHAT_FIELDS.keys()].sort());
});

it('has the members of a usage that clients see', () => {
  expect(propertiesOf('Usage')).toEqual([...OF_USAGE, ...DETAILS].sort());
  expect(propertiesOf('TokenDetails')).toEqual([...OF_DETAILS].sort());
});

it('has the headers of every response, as the gateway sends them', () => {
  const always = ON_EVERY_RESPONSE.filter((_, at) => at % 2 === 0);
  for (const [at, name] of always.entries()) {
    const header = components.headers[name];
    expect(header).toMatchObject({ required: true, schema: { const: ON_EVERY_RESPONSE[2 * at + 1] } });
  }
  const everywhere = ['x-request-id', ...always];
  for (const { name, status, response } of responses)
    expect([name, status, Object.keys(response.headers)]).toEqual([name, status, expect.arrayContaining(everywhere)]);
});

it('has the rate limit headers on completions and their 429 responses', () => {
  const window = { limit: 1, remaining: 0, resetsAtMs: 60_000 };
  const sent = rateLimitHeaders({ requests: window, tokens: window }, 0);
  for (const { status, response } of responses.filter(
    ({ name, status }) => isApi(ROUTES.get(name)?.name ?? 'models') && [200, 429].includes(status),
  ))
    expect([status, Object.keys(response.headers)]).toEqual([status, expect.arrayContaining(Object.keys(sent))]);
  const { 'x-ratelimit-reset-requests': reset } = sent;
  expect(compileSchema('/components/headers/x-ratelimit-reset-requests/schema')(reset)).toBe(true);
});

it('has retry-after where the error code has it', () => {
  for (const { name, status, response } of responses.filter((each) => each.status !== 200)) {
    const retried = codesOf(response).filter((code) => code in ERROR_CODES && 'retryAfter' in entryOf(code));
    expect([name, status, 'retry-after' in response.headers]).toEqual([name, status, retried.length > 0]);
  }
});

function entryOf(code: string): ErrorEntry {
  return ERROR_CODES[code as keyof typeof ERROR_CODES];
}
