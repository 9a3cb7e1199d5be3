import { afterAll, beforeAll, expect, test } from 'vitest';
import { type GatewayClient, gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { PROVIDER_SECRET, type TestConfig } from '../../harness/test-config.ts';
import { type SeenSpan, startTraceCollector, type TraceCollector } from '../../harness/trace-collector.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, streamAnswer } from '../../provider/acts.ts';

const SOON = { interval: 50 };
const COLLECTOR_SECRET = 'collector-secret-77aa';
const PROMPT = 'a prompt that nobody else may read';
const CLIENT_TRACE = 'c'.repeat(32);
const CLIENT_SPAN = 'd'.repeat(16);

let collector: TraceCollector;
let client: GatewayClient;
let key: string;

/** Two providers, the first of which always fails; the second is the operator's own. */
function configWith(more: Partial<TestConfig>): TestConfig {
  return {
    retries: { per_target: 0 },
    providers: {
      outside: { base_url: gateway.provider.baseUrl },
      own: { base_url: gateway.provider.baseUrl, send_traceparent: true },
    },
    models: {
      chosen: {
        targets: [
          { provider: 'outside', model: 'broken' },
          { provider: 'own', model: 'good' },
        ],
      },
    },
    ...more,
  };
}

const tracing = (sample: number) => ({
  tracing: { otlp_url: collector.url, headers: { authorization: `Bearer ${COLLECTOR_SECRET}` }, sample },
});

const gateway = withGateway(async () => {
  collector = await startTraceCollector();
  return { config: configWith(tracing(1)) };
});

beforeAll(async () => {
  gateway.provider.script('broken', errorAnswer(500, 'oops'));
  ({ key } = await gateway.stack.operator.customer());
  client = gatewayClient(gateway.stack.origin, key);
});
afterAll(async () => {
  client?.close();
  await collector?.close();
});

const chat = (body: Readonly<Record<string, unknown>>, headers: Readonly<Record<string, string>> = {}) =>
  client.chat({ model: 'chosen', messages: [{ role: 'user', content: PROMPT }], ...body }, { headers });

/** The spans of the request with this id, beginning with the root. */
async function traceOf(requestId: unknown): Promise<SeenSpan[]> {
  const root = () => collector.spans().find(({ attributes }) => attributes['request.id'] === requestId);
  await expect.poll(root, SOON).toBeDefined();
  return collector.spans().filter(({ traceId }) => traceId === root()?.traceId);
}

async function reload(config: TestConfig): Promise<void> {
  const applied = () => metric(gateway.stack.metricsOrigin, 'gateway_configuration_reads_total', { result: 'applied' });
  const before = await applied();
  gateway.stack.writeConfig(config);
  await expect.poll(applied, SOON).toBeGreaterThan(before);
}

/** The trace id in the request's log line. */
const loggedTrace = (requestId: unknown): string | undefined =>
  new RegExp(`"request_id":"${requestId}","trace_id":"([0-9a-f]{32})"`).exec(gateway.stack.logs())?.[1];

test('a stream whose first target fails has a span for each step, and no text of its messages', async () => {
  gateway.provider.script('good', streamAnswer());
  const answer = await chat({ stream: true }, { 'idempotency-key': 'one' });
  expect(outcome(answer)).toBe('200');
  const spans = await traceOf(answer.headers['x-request-id']);
  const [root, ...steps] = spans;
  expect(root).toMatchObject({ name: 'POST /v1/chat/completions', kind: 2, parentId: '', failed: false });
  expect(root?.service).toBe('inference-gateway');
  expect(root?.attributes).toMatchObject({
    'http.route': '/v1/chat/completions',
    'http.response.status_code': 200,
    'gateway.generation.id': answer.headers['x-generation-id'],
    'gen_ai.request.model': 'chosen',
  });
  const names = ['authenticate', 'read_body', 'validate', 'claim', 'admit', 'chat broken', 'chat good', 'settle'];
  expect(steps.map(({ name }) => name)).toEqual(names);
  const [failed, served, settled] = steps.slice(-3);
  expect(failed).toMatchObject({ kind: 3, failed: true, attributes: { 'error.type': 'status_500' } });
  expect(served).toMatchObject({ kind: 3, failed: false, events: ['first_event'] });
  expect(served?.attributes).toMatchObject({
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'own',
    'gen_ai.request.model': 'good',
    'gen_ai.request.stream': true,
    'gen_ai.response.model': 'good',
    'gen_ai.response.finish_reasons': ['stop'],
    'gen_ai.response.time_to_first_chunk': expect.any(Number),
    'gen_ai.usage.input_tokens': expect.any(Number),
    'gen_ai.usage.output_tokens': expect.any(Number),
    'server.address': '127.0.0.1',
    'server.port': gateway.provider.port,
  });
  expect(settled?.attributes).toMatchObject({ 'gateway.settlement.outcome': 'charged' });
  // The steps follow each other within the root span.
  let endNs = root?.startNs ?? 0n;
  for (const step of steps) {
    expect(step.parentId).toBe(root?.id);
    expect(step.startNs).toBeGreaterThanOrEqual(endNs);
    expect(step.endNs).toBeGreaterThanOrEqual(step.startNs);
    endNs = step.endNs;
  }
  expect(root?.endNs).toBeGreaterThanOrEqual(endNs);
  expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);

  const told = JSON.stringify(spans, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
  for (const secret of [PROMPT, key, PROVIDER_SECRET, COLLECTOR_SECRET]) expect(told).not.toContain(secret);
  expect(collector.headers.at(-1)).toMatchObject({
    authorization: `Bearer ${COLLECTOR_SECRET}`,
    'content-type': 'application/x-protobuf',
  });
  expect(gateway.stack.logs()).not.toContain(COLLECTOR_SECRET);
  await expect.poll(() => loggedTrace(answer.headers['x-request-id']), SOON).toBe(root?.traceId);

  const replayed = await chat({ stream: true }, { 'idempotency-key': 'one' });
  const again = await traceOf(replayed.headers['x-request-id']);
  expect(again.map(({ name }) => name).slice(3)).toEqual(['validate', 'claim', 'replay']);
});

test('a JSON response and a refusal have spans for the steps that ran', async () => {
  const usage = {
    ...{ prompt_tokens: 9, completion_tokens: 4, completion_tokens_details: { reasoning_tokens: 3 } },
    prompt_tokens_details: { cached_tokens: 5, cache_write_tokens: 2 },
  };
  gateway.provider.script('good', jsonAnswer({ usage }));
  const answer = await chat({});
  const spans = await traceOf(answer.headers['x-request-id']);
  expect(spans.map(({ name }) => name).slice(-2)).toEqual(['chat good', 'settle']);
  expect(spans.at(-2)?.attributes).toMatchObject({
    'gen_ai.response.model': 'good',
    'gen_ai.usage.input_tokens': 9,
    'gen_ai.usage.cache_read.input_tokens': 5,
    'gen_ai.usage.cache_write.input_tokens': 2,
    'gen_ai.usage.cache_creation.input_tokens': 2,
    'gen_ai.usage.output_tokens': 4,
    'gen_ai.usage.reasoning.output_tokens': 3,
  });
  expect(spans.at(-2)?.attributes).not.toHaveProperty('gen_ai.request.stream');
  expect(spans[0]?.attributes['gateway.cost_usd']).toBeGreaterThan(0);

  const refused = await chat({ temperature: 7 });
  expect(outcome(refused)).toBe('400 invalid_request');
  const short = await traceOf(refused.headers['x-request-id']);
  expect(short.map(({ name }) => name).slice(1)).toEqual(['authenticate', 'read_body', 'validate']);
  // An error of the caller does not mark the spans as failed.
  for (const span of [short[0], short.at(-1)])
    expect(span).toMatchObject({ failed: false, attributes: { 'error.type': 'invalid_request' } });
});

test("a client's trace is continued here, and passed on to the operator's own provider", async () => {
  const traceparent = `00-${CLIENT_TRACE}-${CLIENT_SPAN}-00`;
  const answer = await chat({}, { traceparent, tracestate: 'vendor=1' });
  const [root, ...steps] = await traceOf(answer.headers['x-request-id']);
  expect(root).toMatchObject({ traceId: CLIENT_TRACE, parentId: CLIENT_SPAN, state: 'vendor=1' });
  const served = steps.find(({ name }) => name === 'chat good');
  expect(gateway.provider.requests('good').at(-1)?.headers).toMatchObject({
    traceparent: `00-${CLIENT_TRACE}-${served?.id}-01`,
    tracestate: 'vendor=1',
  });
  const outside = gateway.provider.requests('broken').at(-1)?.headers ?? {};
  expect(Object.keys(outside)).not.toContain('traceparent');
  expect(Object.keys(outside)).not.toContain('tracestate');
});

test('only trusted proxies decide whether a trace is recorded', async () => {
  const asks = (flags: string) => chat({}, { traceparent: `00-${CLIENT_TRACE}-${CLIENT_SPAN}-${flags}` });
  await reload(configWith(tracing(0)));
  const pushed = await asks('01');
  // The provider is told not to record either.
  expect(gateway.provider.requests('good').at(-1)?.headers.traceparent).toMatch(/-00$/);
  await reload(configWith({ ...tracing(0), trusted_proxies: ['127.0.0.1'] }));
  const silent = await asks('00');
  const asked = await asks('01');
  const [root] = await traceOf(asked.headers['x-request-id']);
  expect(root).toMatchObject({ traceId: CLIENT_TRACE, parentId: CLIENT_SPAN });
  // Spans of the earlier requests would have arrived before those of this one.
  const told = new Set(collector.spans().map(({ attributes }) => attributes['request.id']));
  for (const { headers } of [pushed, silent]) expect(told).not.toContain(headers['x-request-id']);
});

test('a busy collector delays no request, and gets the waiting spans once it responds', async () => {
  await reload(configWith(tracing(1)));
  collector.answerWith(503);
  const exports = collector.headers.length;
  const answer = await chat({});
  expect(outcome(answer)).toBe('200');
  await expect.poll(() => collector.headers.length, SOON).toBeGreaterThan(exports);
  await expect.poll(() => metric(gateway.stack.metricsOrigin, 'gateway_trace_spans_waiting'), SOON).toBeGreaterThan(0);
  await expect.poll(gateway.stack.logs, SOON).toContain('traces cannot be exported now');
  collector.answerWith(200);
  expect(await traceOf(answer.headers['x-request-id'])).toHaveLength(8);
  await expect.poll(() => metric(gateway.stack.metricsOrigin, 'gateway_trace_spans_waiting'), SOON).toBe(0);
  expect(await metric(gateway.stack.metricsOrigin, 'gateway_trace_spans_dropped_total')).toBe(0);
});

test('spans that wait when the process ends are sent before it exits', async () => {
  const answer = await chat({});
  await gateway.stack.restartGateway('SIGTERM');
  const found = collector.spans().some(({ attributes }) => attributes['request.id'] === answer.headers['x-request-id']);
  expect(found).toBe(true);
});

test('without tracing there is no trace in provider calls and log lines; once it is on, the first request has one', async () => {
  gateway.stack.writeConfig(configWith({}));
  await gateway.stack.restartGateway('SIGTERM');
  const answer = await chat({}, { traceparent: `00-${CLIENT_TRACE}-${CLIENT_SPAN}-01` });
  expect(outcome(answer)).toBe('200');
  const { headers } = gateway.provider.requests('good').at(-1) ?? {};
  expect(Object.keys(headers ?? {})).not.toContain('traceparent');
  const line = () =>
    gateway.stack.logs().match(new RegExp(`.*"request_id":"${answer.headers['x-request-id']}".*`))?.[0];
  await expect.poll(line, SOON).toBeDefined();
  expect(line()).not.toContain('trace_id');

  await reload(configWith(tracing(1)));
  const first = await chat({});
  await expect.poll(() => loggedTrace(first.headers['x-request-id']), SOON).toBeDefined();
});
