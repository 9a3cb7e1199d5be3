import { gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { envelopeOf, refuse } from '#core/errors/refusal.ts';
import { NO_USAGE } from '#core/pricing.ts';
import { admittedRequest, provider } from '../admitted-request.fixture.ts';
import { type Client, client, deliverTo, openDelivery } from '../client.fixture.ts';
import {
  COMPLETION,
  chunk,
  type ProviderHandler,
  sendJson,
  sendJsonText,
  sendStream,
  USAGE,
} from '../egress.fixture.ts';

const { egress, deliver, another } = await openDelivery();

function bodyOf(to: Client): string {
  expect(to.responses).toHaveLength(1);
  return to.responses[0]?.body.toString() ?? '';
}

function codeOf(to: Client): string {
  return JSON.parse(bodyOf(to)).error.code;
}

describe('a JSON response', () => {
  test("is the provider's with our id, model and cost", async () => {
    egress.respondWith(sendJson(COMPLETION, 200, { 'x-provider-secret': 'org-internal' }));
    const { outcome, charges, to } = await deliver();
    const ours = { id: 'gen-TEST', model: 'public-model', usage: { ...USAGE, cost: 0.25 } };
    expect(JSON.parse(bodyOf(to))).toEqual({ ...COMPLETION, ...ours });
    expect(to.responses[0]).toMatchObject({
      status: 200,
      headers: { 'content-type': 'application/json', 'x-generation-id': 'gen-TEST', 'x-ratelimit-limit-requests': '5' },
    });
    expect(Object.keys(to.responses[0]?.headers ?? {})).not.toContain('x-provider-secret');
    expect(charges).toEqual([
      {
        ...{ provider: 'alpha', providerModel: 'alpha-model', upstreamId: 'chatcmpl-1', finishReason: 'stop' },
        ...{ usage: { ...NO_USAGE, promptTokens: 7, completionTokens: 5 }, usageCounted: false, cancelled: false },
        ...{ firstEventMs: expect.any(Number), generationTimeMs: expect.any(Number) },
      },
    ]);
    expect(outcome).toMatchObject({ status: 200, clientGone: false, attempts: [{ provider: 'alpha', result: 'ok' }] });
  });

  test('keeps numbers and escapes as the provider wrote them', async () => {
    const text =
      '{"id":"c","model":"m","big":12345678901234567890,"f":1.0,"choices":[{"message":{"role":"assistant","content":"\\u00e9"},"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12}}';
    egress.respondWith((response) => response.end(text));
    const { to } = await deliver();
    expect(bodyOf(to)).toBe(
      text.replace('"c"', '"gen-TEST"').replace('"m"', '"public-model"').replace('12}', '12,"cost":0.25}'),
    );
  });

  test('is requested with the provider’s own headers and path, and nothing else', async () => {
    egress.respondWith(sendJson(COMPLETION));
    await deliver({ providers: [provider('alpha', { baseUrl: new URL('http://llm.example:8443/base/v1/') })] });
    expect(egress.asked).toMatchObject([{ path: '/base/v1/chat/completions' }]);
    expect(egress.asked[0]?.headers).toEqual({
      host: 'llm.example:8443',
      connection: 'keep-alive',
      'x-gw-cluster': expect.stringMatching(/^alpha-[0-9a-f]{12}$/),
      'content-type': 'application/json',
      'content-length': String(egress.asked[0]?.body.length),
      accept: 'application/json',
      'accept-encoding': 'identity',
      'user-agent': 'inference-gateway',
      authorization: 'Bearer secret-of-alpha',
    });
    const fields = { model: 'alpha-model', outputLimitField: 'max_tokens', outputLimit: 100 };
    expect(JSON.parse(egress.asked[0]?.body ?? '')).toEqual(fields);
  });

  test('is requested without authorization from a provider without a key', async () => {
    egress.respondWith(sendJson(COMPLETION));
    const { apiKey: _, ...keyless } = provider('local');
    await deliver({ providers: [keyless] });
    expect(egress.asked[0]?.headers.authorization).toBeUndefined();
  });

  test('is counted if its usage is missing or impossible', async () => {
    const { usage: _, ...without } = COMPLETION;
    const impossible = { prompt_tokens: -1, completion_tokens: 2 };
    for (const response of [without, { ...COMPLETION, usage: impossible }, { ...COMPLETION, usage: null }]) {
      egress.respondWith(sendJson(response));
      const { charges, to } = await deliver();
      expect(charges).toMatchObject([{ usageCounted: true, usage: { promptTokens: 3, completionTokens: 2 } }]);
      const counted = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5, cost: 0.25 };
      expect(JSON.parse(bodyOf(to)).usage).toEqual(counted);
    }
  });

  test('counts tool calls, reasoning and refusals as output', async () => {
    const message = {
      content: 'a',
      reasoning_content: ' b c',
      refusal: ' d',
      tool_calls: [{ id: 't', function: { name: ' e', arguments: ' f g' } }],
    };
    egress.respondWith(sendJson({ choices: [{ message }, { message: { content: [{ type: 'text', text: ' h' }] } }] }));
    const { charges } = await deliver();
    expect(charges).toMatchObject([{ usage: { completionTokens: 8 } }]);
  });

  test('is not sent when the charge is refused', async () => {
    egress.respondWith(sendJson(COMPLETION));
    const { outcome, to } = await deliver({}, client(), async () => refuse('no_capacity'));
    expect(outcome).toMatchObject({ status: 503, refusal: { code: 'no_capacity' } });
    expect(JSON.parse(bodyOf(to))).toEqual(envelopeOf(refuse('no_capacity')));
  });

  test('is charged before it is sent', async () => {
    egress.respondWith(sendJson(COMPLETION));
    const to = client();
    let sentBefore = -1;
    await deliver({}, to, async () => {
      await new Promise((resolve) => setTimeout(resolve, 20));
      sentBefore = to.responses.length;
      return undefined;
    });
    expect(sentBefore).toBe(0);
    expect(JSON.parse(bodyOf(to)).usage.cost).toBe(0.25);
  });

  test('may follow interim responses', async () => {
    egress.respondWith((response) => {
      response.writeProcessing();
      setTimeout(() => response.end(JSON.stringify(COMPLETION)), 20);
    });
    const { outcome } = await deliver();
    expect(outcome).toMatchObject({ status: 200, attempts: [{ result: 'ok' }] });
  });

  test('is read to its end and charged when the client leaves', async () => {
    const to = client();
    egress.respondWith(async (response) => {
      to.leave();
      await new Promise((resolve) => setTimeout(resolve, 20));
      response.end(JSON.stringify(COMPLETION));
    });
    const { outcome, charges } = await deliver({ providers: [provider('alpha', { onDisconnect: 'abort' })] }, to);
    expect(charges).toMatchObject([{ cancelled: true, usage: { completionTokens: 5 } }]);
    expect(outcome.clientGone).toBe(true);
  });
});

describe('a response that cannot be passed on', () => {
  const html: ProviderHandler = (response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sorry</html>');
  const gzipped: ProviderHandler = (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(COMPLETION)));
  const truncated: ProviderHandler = (response) => {
    response.writeHead(200, { 'content-length': '1000' });
    response.write('{"id":"chatcmpl-1","choi');
    setTimeout(() => response.destroy(), 5);
  };
  const NESTED = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  test.each<[string, ProviderHandler, string]>([
    ['HTML', html, 'malformed'],
    ['nothing', (response) => response.end(), 'malformed'],
    ['an array', sendJson([COMPLETION]), 'malformed'],
    ['JSON without choices', sendJson({ id: 'x', usage: USAGE }), 'malformed'],
    ['no choice', sendJson({ ...COMPLETION, choices: [] }), 'malformed'],
    ['a stream', sendStream([chunk({ content: 'a' })]), 'malformed'],
    ['a nesting that cannot be written again', sendJsonText(`{"choices":[{"x":${NESTED}}]}`), 'malformed'],
    ['an error', sendJson({ error: { message: 'overloaded' } }), 'error_body'],
    ['an error beside empty choices', sendJson({ choices: [{ finish_reason: 'error' }] }), 'error_body'],
    ['gzip', gzipped, 'encoded'],
    ['a body above the limit', sendJson({ ...COMPLETION, padding: 'x'.repeat(40_000) }), 'too_large'],
    ['half an answer', truncated, 'reset'],
    ['a redirect', (response) => response.writeHead(302, { location: 'https://x.example/' }).end(), 'status_302'],
    ['oversized headers', (response) => response.writeHead(200, { 'x-big': 'x'.repeat(100_000) }).end('{}'), 'reset'],
  ])('%s', async (_, handler, result) => {
    egress.respondWith(handler);
    const { outcome, charges, to } = await deliver({ retriesPerTarget: 0, responseBodyBytes: 30_000 });
    expect(codeOf(to)).toBe('upstream_error');
    expect(charges).toEqual([]);
    expect(outcome).toMatchObject({ status: 503, refusal: { code: 'upstream_error' }, attempts: [{ result }] });
  });

  test('releases the hold before the client gets the refusal', async () => {
    egress.respondWith(sendJson({}, 500));
    const { responsesAtRelease } = await deliver({ retriesPerTarget: 0 });
    expect(responsesAtRelease).toEqual([0]);
  });

  test('shows no secret of the provider in the error', async () => {
    const error = { message: 'secret-of-alpha is not allowed to use this', param: 'model' };
    egress.respondWith(sendJson({ error }, 400));
    const { to } = await deliver();
    expect(JSON.parse(bodyOf(to)).error).toMatchObject({
      message: '[redacted] is not allowed to use this',
      code: 'invalid_request',
      param: 'model',
    });
  });

  test('is not read any further', async () => {
    egress.respondWith((response) => void response.writeHead(200).write('x'.repeat(10_000)));
    const { to } = await deliver({ responseBodyBytes: 5000 });
    await egress.asked[0]?.cancelled;
    expect(codeOf(to)).toBe('upstream_error');
  });

  test('is no_capacity if Envoy does not accept the call', async () => {
    const nowhere = another({ egressSocketPath: `${egress.socketPath}.none` });
    const to = client();
    await deliverTo(nowhere, to, admittedRequest());
    expect(codeOf(to)).toBe('no_capacity');
  });
});
