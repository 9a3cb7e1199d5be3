import { describe, expect, test } from 'vitest';
import { provider } from '../admitted-request.fixture.ts';
import { openDelivery } from '../client.fixture.ts';
import { COMPLETION, DONE, event, HELLO, type ProviderHandler, sendJson, sendStream } from '../egress.fixture.ts';
import { CONTENT_REFUSALS, CONTEXT_ERRORS, RATE_LIMITS, REQUEST_ERRORS } from '../request-errors.fixture.ts';
import { ACCOUNT_ERRORS } from './provider-errors.fixture.ts';
import { bodyFailure, statusFailure } from './provider-failure.ts';

const { egress, deliver } = await openDelivery();

/** Answers to a client with one provider, and with two. */
async function answered(handlers: readonly ProviderHandler[], stream = false, names = ['alpha']) {
  egress.respondWith(...handlers);
  const providers = names.map((name) => provider(name));
  const { outcome, charges, to } = await deliver({ providers, stream, retriesPerTarget: 3 });
  const body = to.responses[0]?.body?.toString() ?? '';
  return { outcome, charges, body, to, asked: egress.asked.length };
}

const send = ({ status, body }: { status: number; body: unknown }): ProviderHandler =>
  typeof body === 'string' ? (response) => response.writeHead(status).end(body) : sendJson(body ?? {}, status);

/** The provider's own words of a body, all that could show. */
function wordsOf(body: unknown): string[] {
  if (typeof body === 'string') return body.includes(' ') ? [body] : [];
  return typeof body === 'object' && body !== null ? Object.values(body).flatMap(wordsOf) : [];
}

const CODE = { credentials: 'upstream_config_error', funds: 'no_capacity' } as const;
const STATUS = { credentials: 500, funds: 503 } as const;

describe("an error of the operator's account is shown only to the operator", () => {
  test.each(ACCOUNT_ERRORS)('$from, $status: $kind: $body', async ({ status, body, kind }) => {
    const alone = await answered([send({ status, body })]);
    expect(alone.outcome).toMatchObject({ status: STATUS[kind], refusal: { code: CODE[kind] } });
    expect(alone.outcome.attempts).toMatchObject([{ account: kind }]);
    expect(JSON.parse(alone.body).error).toMatchObject({ code: CODE[kind], metadata: {} });
    for (const words of wordsOf(body)) expect(alone.body).not.toContain(words);
    expect(alone).toMatchObject({ asked: 1, charges: [] });
    const two = await answered([send({ status, body }), sendJson(COMPLETION)], false, ['alpha', 'beta']);
    expect(two.outcome).toMatchObject({ status: 200, attempts: [{ account: kind }, { result: 'ok' }] });
  });

  test.each([
    [400, 'credentials', 'status_400_auth'],
    [422, 'credentials', 'status_422_auth'],
    [429, 'credentials', 'status_429_auth'],
    [401, 'credentials', 'status_401'],
    [403, 'credentials', 'status_403'],
    [400, 'funds', 'status_400_funds'],
    [403, 'funds', 'status_403_funds'],
    [429, 'funds', 'status_429_funds'],
    [402, 'funds', 'status_402'],
  ] as const)('%i about %s has the result %s', (status, kind, result) => {
    const code = kind === 'funds' ? 'insufficient_quota' : 'invalid_api_key';
    const failure = { result, account: kind, retry: 'next' };
    expect(statusFailure(status, { error: { message: 'x', code } })).toMatchObject(failure);
  });

  test('also inside a 200, and before or within a stream', async () => {
    const error = { message: 'Your credit balance is too low.', type: 'invalid_request_error' };
    expect(bodyFailure({ error })).toMatchObject({ code: 'no_capacity', retry: 'next', account: 'funds' });
    const list = [{ error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT' } }];
    for (const [handler, stream] of [
      [sendJson(list), false],
      [sendJson(list), true],
      [sendStream([event(list)]), true],
    ] as const) {
      const { outcome } = await answered([handler], stream);
      const ofKey = { refusal: { code: 'upstream_config_error' }, attempts: [{ account: 'credentials' }] };
      expect(outcome).toMatchObject(ofKey);
    }
    const broken = await answered([sendStream([...HELLO, event({ error }), DONE])], true);
    expect(broken.outcome).toMatchObject({ refusal: { code: 'upstream_error' }, attempts: [{ account: 'funds' }] });
    expect(broken.to.text()).not.toContain('credit');
  });
});

describe('an error of the request is shown to the client', () => {
  test.each(REQUEST_ERRORS)('$from', async ({ shown, param, ...error }) => {
    const { outcome, body, asked } = await answered([send(error)]);
    expect(outcome.status).toBe(400);
    const told = JSON.parse(body).error;
    expect(told.code).toBe('invalid_request');
    expect(told.message).toContain(shown);
    expect(told.param).toBe(param);
    expect(outcome.attempts[0]?.account).toBeUndefined();
    expect(asked).toBe(1);
  });

  test.each(CONTENT_REFUSALS)("a 403 about the request's content is not an account error: $from", async (error) => {
    const two = await answered([send(error), sendJson(COMPLETION)], false, ['alpha', 'beta']);
    expect(two.outcome).toMatchObject({ status: 400, attempts: [{ result: 'status_403_content' }] });
    expect(two.outcome.attempts[0]?.account).toBeUndefined();
    expect(two.asked).toBe(1);
    const told = JSON.parse(two.body).error;
    expect(told.code).toBe('invalid_request');
    expect(told.message).toBe("The model's provider refused the content of the request.");
  });

  test.each(CONTEXT_ERRORS)('is recognized as a prompt that is too long: $from', async (error) => {
    const { outcome, body } = await answered([send(error)]);
    expect(outcome.status).toBe(400);
    const { error: told } = JSON.parse(body);
    expect(told).toMatchObject({ code: 'context_length_exceeded', param: 'messages' });
    const [needed = 0, window = 0] = told.message.match(/\d+/g).map(Number);
    expect(needed).toBeGreaterThan(window);
    for (const words of wordsOf(error.body)) expect(body).not.toContain(words);
  });
});

test.each(RATE_LIMITS)('a rate limit is retried: $from', async (error) => {
  const failure = statusFailure(error.status, error.body);
  expect(failure).toMatchObject({ code: 'no_capacity', retry: 'same', result: 'status_429' });
  expect(failure.account).toBeUndefined();
});
