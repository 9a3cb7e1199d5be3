import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#core/clock.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { type Client, client, deliverTo, endsSoonAfter, openDelivery } from '../client.fixture.ts';
import {
  COMPLETION,
  chunk,
  DONE,
  envoyReply,
  event,
  type ProviderHandler,
  sendJson,
  sendStream,
} from '../egress.fixture.ts';

const { egress, deliverStream, another } = await openDelivery();

let to: Client;
beforeEach(() => {
  to = client();
});

const ok = sendJson(COMPLETION);
const reset: ProviderHandler = (response) => response.destroy();
const html = (status: number): ProviderHandler => {
  return (response) => response.writeHead(status, { 'content-type': 'text/html' }).end('<html>');
};
const refusal = (status: number) => sendJson({ error: { message: 'no' } }, status);

/** Returns the called providers, in order, and the code or status of the response. */
async function outcomeOf(options: AdmittedRequestOptions, ...handlers: ProviderHandler[]): Promise<string> {
  egress.respondWith(...handlers);
  // A delivery of its own: rests outlive a request.
  const { outcome } = await deliverTo(another(), to, admittedRequest(options));
  const asked = egress.asked.map(({ headers }) => String(headers['x-gw-cluster']).slice(0, 1)).join('');
  return `${asked} ${outcome.refusal?.code ?? outcome.status}`;
}

const busy = sendJson({}, 429);
const two = { providers: [provider('alpha'), provider('beta')] };

describe('the attempts at one target', () => {
  test.each<[string, string, ProviderHandler[]]>([
    ['429 then 200', 'aa 200', [sendJson({}, 429), ok]],
    ['500 then 200', 'aa 200', [sendJson({}, 500), ok]],
    ['a refused connection, then 200', 'aa 200', [envoyReply('UF,URX'), ok]],
    ['529 twice', 'aa no_capacity', [sendJson({}, 529), sendJson({}, 529), ok]],
    ['HTML 502 twice', 'aa upstream_error', [html(502)]],
    ['401', 'a upstream_config_error', [refusal(401), ok]],
    ['404', 'a upstream_config_error', [sendJson({}, 404), ok]],
    ['400', 'a invalid_request', [refusal(400), ok]],
    ['422', 'a invalid_request', [refusal(422), ok]],
    ['a reset after the request was sent', 'a upstream_error', [reset, ok]],
    ['a reset that Envoy reports', 'a upstream_error', [envoyReply('UC'), ok]],
    ['a target that Envoy has ejected', 'a no_capacity', [envoyReply('UH'), ok]],
    ['a cluster that Envoy does not know', 'a upstream_config_error', [envoyReply('NC'), ok]],
    ['an answer that is no JSON', 'a upstream_error', [(response) => response.end('<html>'), ok]],
    ['an error inside a 200, then an answer', 'aa 200', [sendJson({ error: { message: 'busy' } }), ok]],
  ])('%s', async (_, expected, handlers) => {
    expect(await outcomeOf({ retriesPerTarget: 1 }, ...handlers)).toBe(expected);
  });

  test('are as many as the configuration allows', async () => {
    expect(await outcomeOf({ retriesPerTarget: 0 }, sendJson({}, 500))).toBe('a upstream_error');
    expect(await outcomeOf({ retriesPerTarget: 3 }, sendJson({}, 500))).toBe('aaaa upstream_error');
  });

  test('wait as long as the provider asks', async () => {
    const began = performance.now();
    expect(await outcomeOf({}, sendJson({}, 429, { 'retry-after': '1' }), ok)).toBe('aa 200');
    expect(performance.now() - began).toBeGreaterThan(990);
  });

  test('wait two seconds at most if there is no other target, even if the provider asks for more', async () => {
    const began = performance.now();
    expect(await outcomeOf({}, sendJson({}, 429, { 'retry-after': '60' }), ok)).toBe('aa 200');
    expect(performance.now() - began).toBeGreaterThan(1990);
  });

  test('end with the total time: none begins after the deadline', async () => {
    let passedMs = 0;
    const clock = { ...systemClock, monotonicMs: () => performance.now() + passedMs };
    const late = another({ clock });
    // By the clock one second is left when the answer is there, and the provider asks for two.
    egress.respondWith((response) => {
      passedMs = 59_000;
      response.writeHead(500, { 'retry-after': '2' }).end('{}');
    }, ok);
    const { outcome } = await deliverTo(late, to, admittedRequest());
    expect(outcome.refusal?.code).toBe('upstream_error');
    expect(egress.asked).toHaveLength(1);
  });
});

describe('the targets', () => {
  test.each<[string, string, ProviderHandler[]]>([
    ['500, 500, then the next', 'aab 200', [sendJson({}, 500), sendJson({}, 500), ok]],
    ['reset, then the next at once', 'ab 200', [reset, ok]],
    ['401, then the next at once', 'ab 200', [sendJson({}, 401), ok]],
    ['400 ends at once', 'a invalid_request', [sendJson({}, 400), ok]],
    ['ejected, then the next at once', 'ab 200', [envoyReply('UH'), ok]],
    ['a long Retry-After is not waited for', 'ab 200', [sendJson({}, 429, { 'retry-after': '20' }), ok]],
    ['all misconfigured', 'ab upstream_config_error', [sendJson({}, 401), sendJson({}, 403)]],
    ['a body that is too large for the first', 'ab 200', [sendJson({}, 413), ok]],
    ['a body that is too large for all', 'ab invalid_request', [sendJson({}, 413), html(413)]],
    ['too large, then failing: it may work later', 'abb upstream_error', [sendJson({}, 413), sendJson({}, 500)]],
    ['failing, then too large: it may work later', 'aab upstream_error', [html(500), html(500), sendJson({}, 413)]],
    ['misconfigured, then failing', 'abb upstream_error', [sendJson({}, 401), sendJson({}, 500)]],
    ['busy, then misconfigured: it may work later', 'aba no_capacity', [busy, sendJson({}, 401), busy]],
    ['failing, then ejected', 'aab no_capacity', [sendJson({}, 500), sendJson({}, 500), envoyReply('UH')]],
  ])('%s', async (_, expected, handlers) => {
    expect(await outcomeOf(two, ...handlers)).toBe(expected);
  });

  test('of embeddings are not asked again for a response above its limit, which each of them would send', async () => {
    const large = sendJson({ object: 'list', data: [], padding: 'x'.repeat(10_000) });
    const options = { ...two, responseBodyBytes: 5000 };
    expect(await outcomeOf({ ...options, inputs: 2048 }, large, ok)).toBe('a upstream_error');
    expect(await outcomeOf(options, large, ok)).toBe('ab 200');
    const manyLists: ProviderHandler = (response) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end('['.repeat(4_000_001));
    const roomy = { ...two, responseBodyBytes: 5_000_000 };
    expect(await outcomeOf({ ...roomy, inputs: 2048 }, manyLists, ok)).toBe('a upstream_error');
    expect(await outcomeOf(roomy, manyLists, ok)).toBe('ab 200');
  });

  test('are each called with their own model', async () => {
    await outcomeOf(two, reset, ok);
    expect(
      egress.asked.map(({ body, headers }) => [JSON.parse(body).model, headers.host, headers.authorization]),
    ).toEqual([
      ['alpha-model', 'alpha.example', 'Bearer secret-of-alpha'],
      ['beta-model', 'beta.example', 'Bearer secret-of-beta'],
    ]);
  });
});

describe('a stream that fails before its first event', () => {
  const stream = sendStream([chunk({ content: 'hi' }, 'stop'), DONE]);
  const error = (error: object) => sendStream([event({ error })]);
  test.each<[string, string, ProviderHandler[]]>([
    ['error event first, then another attempt', 'aa 200', [error({ message: 'busy' }), stream]],
    ['an `event: error`', 'aa 200', [sendStream(['event: error\ndata: {"message":"busy"}\n\n']), stream]],
    ['error events only', 'aabb upstream_error', [error({ message: 'x' })]],
    ['an error event that is a 429', 'abab no_capacity', [error({ code: 429 })]],
    ['an error event that is a 400', 'a invalid_request', [error({ code: 400, message: 'no' })]],
    ['a finish reason of error', 'aa 200', [sendStream([chunk({}, 'error')]), stream]],
    ['an error as JSON with status 200', 'aa 200', [sendJson({ error: { message: 'busy' } }), stream]],
    ['a whole answer instead of a stream', 'ab 200', [ok, stream]],
    ['HTML with status 200', 'ab 200', [html(200), stream]],
    ['garbage first', 'ab 200', [sendStream(['data: {oops\n\n']), stream]],
    ['an empty stream', 'ab 200', [sendStream([]), stream]],
    ['[DONE] only', 'ab 200', [sendStream([DONE]), stream]],
    ['comments and pings only', 'ab 200', [sendStream([': hi\n\n', event({ type: 'ping' })]), stream]],
    ['a reset after the head', 'ab 200', [sendStream([': hi\n\n'], (response) => response.destroy()), stream]],
  ])('%s', async (_, expected, handlers) => {
    expect(await outcomeOf({ ...two, stream: true }, ...handlers)).toBe(expected);
    expect(to.heads).toHaveLength(expected.endsWith(' 200') ? 1 : 0);
    expect(to.responses).toHaveLength(expected.endsWith(' 200') ? 0 : 1);
  });

  test('is not requested if the client has left already', async () => {
    egress.respondWith(stream);
    to.leave();
    const { outcome, charges } = await deliverStream({}, to);
    expect(outcome).toMatchObject({ status: 499, clientGone: true });
    expect(charges).toEqual([]);
    expect(egress.asked).toEqual([]);
  });

  test('is not retried if the client leaves between attempts', async () => {
    egress.respondWith((response) => {
      response.writeHead(429, { 'retry-after': '2' }).end();
      setTimeout(() => to.leave(), 50);
    });
    const delivering = deliverStream({}, to);
    expect(await endsSoonAfter(to.exchange.gone, delivering)).toBe(true);
    const { outcome, charges } = await delivering;
    expect(outcome).toMatchObject({ status: 499, clientGone: true });
    expect(charges).toEqual([]);
    expect(egress.asked).toHaveLength(1);
  });
});
