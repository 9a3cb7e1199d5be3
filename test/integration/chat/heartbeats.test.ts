import { describe, expect, test } from 'vitest';
import { balanceOf, eventsOf, type GatewayClient, jsonOf, settledGeneration } from '../../harness/gateway-client.ts';
import type { Received } from '../../harness/http-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { errorAnswer, jsonAnswer, stall, streamAnswer } from '../../provider/acts.ts';
import type { Act } from '../../provider/call.ts';
import { createGate } from '../../provider/gate.ts';

const BEAT = ': heartbeat\n\n';
const USAGE = { prompt_tokens: 100, completion_tokens: 50 };
/** A thousand nano-dollars a token. */
const COST = 0.00015;

const gateway = withGateway({
  config: {
    models: {
      one: {},
      late: { timeouts: { first_byte: '1s' } },
      two: {
        targets: [
          { provider: 'fake', model: 'first' },
          { provider: 'fake', model: 'second' },
        ],
      },
    },
    timeouts: { heartbeat: '100ms' },
    retries: { per_target: 0 },
  },
});

const beatsIn = (text: string): number => text.split(BEAT).length - 1;
const eventsAlone = (received: Received): string[] =>
  eventsOf({ ...received, text: received.text.replaceAll(BEAT, '') });

/** Asks for a stream. `onText` gets all of the text each time that more came. */
function stream(
  client: GatewayClient,
  body: { readonly model: string; readonly stream_options?: object },
  onText: (text: string) => void,
  headers: Readonly<Record<string, string>> = {},
): Promise<Received> {
  let text = '';
  const onPiece = (piece: string) => {
    text += piece;
    onText(text);
  };
  return client.chat({ ...body, stream: true }, { onPiece, headers });
}

describe.each(['http1', 'http2'] as const)('%s: a stream whose provider is silent', (protocol) => {
  test('gets heartbeats, before its first event and later, and is charged as any', async () => {
    const client = await gateway.openClient({}, { protocol });
    const [first, later] = [createGate(), createGate()];
    const onEvent = (index: number) => (index === 2 ? later.pass() : undefined);
    gateway.provider.script('one', first.before(streamAnswer({ usage: USAGE, onEvent })));
    const body = { model: 'one', stream_options: { include_usage: true } };
    const received = await stream(client, body, (text) => {
      if (beatsIn(text) >= 2) first.open();
      if (/data: .*: heartbeat\n\n$/s.test(text)) later.open();
    });
    expect(received.status).toBe(200);
    expect(received.text.startsWith(BEAT + BEAT)).toBe(true);
    const events = eventsAlone(received);
    expect(events.at(-1)).toBe('[DONE]');
    expect(JSON.parse(events.at(-2) ?? '')).toMatchObject({ usage: { ...USAGE, cost: COST } });
    expect(received.headers).toMatchObject({ 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    const id = String(received.headers['x-generation-id']);
    expect(await settledGeneration(client, id)).toMatchObject({ total_cost: COST, finish_reason: 'stop' });
    expect(await balanceOf(client)).toBe(100 - COST);
  });

  test('ends with the final event at the time limit of its model', async () => {
    const client = await gateway.openClient({}, { protocol });
    gateway.provider.script('late', stall);
    const received = await stream(client, { model: 'late' }, () => undefined);
    expect(beatsIn(received.text)).toBeGreaterThan(0);
    expect(JSON.parse(eventsAlone(received)[0] ?? '')).toMatchObject({ error: { code: 'request_timeout' } });
    expect(await balanceOf(client)).toBe(100);
  });
});

test('with an Idempotency-Key a failure after a heartbeat frees the key, and a replay has no heartbeat', async () => {
  const client = await gateway.openClient();
  const headers = { 'idempotency-key': 'with-heartbeats' };
  const attempt = (act: Act) => {
    const gate = createGate();
    gateway.provider.script('one', gate.before(act));
    return stream(client, { model: 'one' }, gate.open, headers);
  };
  expect((await attempt(errorAnswer(500, 'oops'))).text).toContain('"code":"upstream_error"');
  const first = await attempt(streamAnswer({ usage: USAGE }));
  expect(first.text).toContain(BEAT);
  expect(first.headers['idempotent-replayed']).toBeUndefined();
  const asked = gateway.provider.requests('one').length;
  const again = await stream(client, { model: 'one' }, () => undefined, headers);
  expect(again.headers['idempotent-replayed']).toBe('true');
  expect(again.text).toBe(first.text.replaceAll(BEAT, ''));
  expect(gateway.provider.requests('one').length).toBe(asked);
  expect(await balanceOf(client)).toBe(100 - COST);
});

test('a JSON response has none, however long it takes', async () => {
  const client = await gateway.openClient();
  const [json, beaten] = [createGate(), createGate()];
  gateway.provider.script('second', json.before(jsonAnswer({ usage: USAGE })));
  gateway.provider.script('first', errorAnswer(500, 'oops'));
  const answer = client.chat({ model: 'two' });
  await json.waitFor(1);
  gateway.provider.script('one', beaten.before(streamAnswer()));
  await stream(client, { model: 'one' }, (text) => beatsIn(text) >= 3 && beaten.open());
  json.open();
  expect(jsonOf(await answer)).toMatchObject({ usage: { cost: COST } });
});
