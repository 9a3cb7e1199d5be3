import { describe, expect, it } from 'vitest';
import { type Refusal, refuse, renderRefusal } from '#core/errors/refusal.ts';
import { checkDocumented } from './harness/documented-response.ts';
import type { Received } from './harness/http-client.ts';
import { chunkBody, completionBody } from './provider/chat-format.ts';

/** Responses that checkDocumented() must accept, and responses that it must report. */
const CHAT = { method: 'POST', path: '/v1/chat/completions' };
const ALWAYS = { 'x-request-id': 'r', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
const ID = 'gen-01KAHZ5N8Q4W3E6R7T9Y2V5B1C';
const OF_COMPLETION = { ...ALWAYS, 'x-generation-id': ID, 'content-type': 'application/json' };
const OF_STREAM = { ...OF_COMPLETION, 'content-type': 'text/event-stream' };
const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, cost: 0.1 };
const COMPLETION = { ...JSON.parse(completionBody({ model: 'm' })), id: ID, usage: USAGE };
const CHUNK = { ...JSON.parse(chunkBody({ model: 'm', delta: { content: 'a' } })), id: ID };
const FAILURE = {
  error: JSON.parse(renderRefusal(refuse('upstream_error')).body.toString()).error,
  ...{ id: ID, object: 'chat.completion.chunk', created: 1, model: 'm' },
  choices: [{ index: 0, delta: { role: 'error', content: '' }, finish_reason: 'error' }],
};

function check(headers: Record<string, string>, body: unknown, request = CHAT, status = 200): () => void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const received: Received = { status, headers, text, body: Buffer.from(text), pieces: [] };
  return () => checkDocumented(request, received);
}

function checkRefusal(refusal: Refusal, request: { method: string; path: string }, headers = {}): () => void {
  const rendered = renderRefusal(refusal);
  return check({ ...ALWAYS, ...rendered.headers, ...headers }, rendered.body.toString(), request, rendered.status);
}

const stream = (...events: readonly unknown[]) => events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
const DONE = 'data: [DONE]\n\n';

describe('a completion', () => {
  it("may have the provider's members and rate limit headers", () => {
    check(OF_COMPLETION, COMPLETION)();
    check({ ...OF_COMPLETION, 'x-ratelimit-reset-tokens': '5s', date: 'now' }, { ...COMPLETION, any: 1 })();
  });

  it('is reported if a header is unknown, missing or malformed', () => {
    expect(check({ ...OF_COMPLETION, 'x-provider': 'p' }, COMPLETION)).toThrow('no such header: x-provider');
    expect(check({ ...OF_COMPLETION, 'x-ratelimit-limit-tokens': 'a' }, COMPLETION)).toThrow(
      'x-ratelimit-limit-tokens',
    );
    expect(check({ ...ALWAYS, 'content-type': 'application/json' }, COMPLETION)).toThrow('without x-generation-id');
    expect(check({ ...OF_COMPLETION, 'content-type': 'text/plain' }, COMPLETION)).toThrow('content-type: text/plain');
  });

  it('is reported if it shows what clients must not see, or if its usage is not the charged one', () => {
    for (const more of [{ provider: 'x' }, { x_groq: {} }, { total_price: 1 }, { choices: [{ message: {}, cost: 1 }] }])
      expect(check(OF_COMPLETION, { ...COMPLETION, ...more })).toThrow('schema is false');
    expect(check(OF_COMPLETION, { ...COMPLETION, usage: { ...USAGE, is_byok: true } })).toThrow('is_byok');
    expect(check(OF_COMPLETION, { ...COMPLETION, usage: { ...USAGE, cost: undefined } })).toThrow('cost');
    expect(check(OF_COMPLETION, { ...COMPLETION, id: 'chatcmpl-1' })).toThrow('/id must match pattern');
  });
});

describe('a stream', () => {
  it('has chunks, comments, at most one failure, and its end', () => {
    check(OF_STREAM, stream(CHUNK, CHUNK) + DONE)();
    check(OF_STREAM, `: heartbeat\n\n${stream(CHUNK, FAILURE)}${DONE}`)();
    check(OF_STREAM, stream({ ...CHUNK, choices: [], usage: USAGE }) + DONE)();
  });

  it('has nothing else', () => {
    expect(check(OF_STREAM, stream(CHUNK))).toThrow('the last event is not [DONE]');
    expect(check(OF_STREAM, stream(FAILURE, CHUNK) + DONE)).toThrow('events after the final event');
    expect(check(OF_STREAM, stream({ error: FAILURE.error }) + DONE)).toThrow('required');
    expect(check(OF_STREAM, `event: x\n${stream(CHUNK)}${DONE}`)).toThrow('not one line of data');
    expect(check(OF_STREAM, `data: {\n\n${DONE}`)).toThrow('no JSON');
  });
});

describe('an error', () => {
  it('has a code, headers and metadata that its operation and status permit', () => {
    checkRefusal(refuse('no_capacity'), CHAT)();
    checkRefusal(refuse('route_not_found', { method: 'GET', path: '/', hint: 'Check' }), {
      method: 'GET',
      path: '/',
    })();
    const metadata = { available_usd: 0, estimated_usd: 0.5, affordable_output_tokens: 0 };
    const values = { funds: 'balance', estimated_usd: '1', available_usd: '0' };
    checkRefusal(refuse('insufficient_credits', values, { metadata }), CHAT)();
    const more = { ...metadata, price: 1 };
    expect(checkRefusal(refuse('insufficient_credits', values, { metadata: more }), CHAT)).toThrow('price');
    expect(checkRefusal(refuse('generation_not_found'), CHAT)).toThrow('generation_not_found');
    expect(checkRefusal(refuse('missing_model'), { method: 'GET', path: '/v1/models' })).toThrow('missing_model');
    expect(checkRefusal(refuse('missing_model'), { method: 'GET', path: '/v1/embeddings' })).toThrow('missing_model');
    expect(checkRefusal(refuse('internal_error'), CHAT, { 'retry-after': '1' })).toThrow('no such header: retry-after');
    expect(checkRefusal(refuse('upstream_error'), { method: 'GET', path: '/v1/usage' })).toThrow('upstream_error');
    expect(check({ ...ALWAYS, 'content-type': 'application/json' }, {}, CHAT, 418)).toThrow('no such response');
  });
});
