import { expect, test } from 'vitest';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import { admittedRequest, provider } from './admitted-request.fixture.ts';
import { ANSWERS, messagesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';

const { egress, delivery } = await openDelivery();

/** Cases in all, over all answers of all APIs. */
const CASES = 2000;
const streams = ANSWERS.map(({ api, name, stream }) => ({ api, name, bytes: Buffer.from(stream) }));
const allBytes = streams.reduce((sum, { bytes }) => sum + bytes.length, 0);

interface SentEvent {
  readonly type: string;
  readonly usage?: Readonly<Record<string, number>>;
}

/** The events of a stream, of which each is named for its type. */
function eventsIn(text: string): SentEvent[] {
  const events = text.split('\n\n');
  expect(events.pop()).toBe('');
  return events.map((event) => {
    const [name = '', data = ''] = event.split('\ndata: ');
    const parsed = JSON.parse(data) as SentEvent;
    expect(name).toBe(`event: ${parsed.type}`);
    return parsed;
  });
}

test.each(streams)(
  'of $api, $name, broken at any byte: the stream has its end, and is charged as the one of chat is',
  { timeout: 240_000 },
  async ({ api, bytes }) => {
    const step = allBytes / CASES;
    for (let at = step / 2; at < bytes.length; at += step) {
      const cut = bytes.subarray(0, Math.floor(at));
      egress.respondWith((response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(cut, () => response.destroy());
      });
      const ofChat = admittedRequest({ stream: true, providers: [provider('alpha', { api })] });
      const { chat, ...asked } = await messagesRequest(api, {}, { stream: true });
      const expected = await deliverTo(delivery, client(), { ...ofChat, chat });
      const to = client();
      const { outcome, charges } = await deliverTo(delivery, to, { ...asked, chat });
      expect(outcome.refusal?.code).toBe(expected.outcome.refusal?.code);
      const untimed = ({ latencyMs, generationTimeMs, ...charge }: ProviderOutput) => charge;
      expect(charges.map(untimed)).toEqual(expected.charges.map(untimed));
      if (charges.length === 0) {
        expect(JSON.parse(String(to.responses[0]?.body))).toMatchObject({
          ...{ type: 'error', error: { code: 'upstream_error' }, request_id: expect.any(String) },
        });
        continue;
      }
      const events = eventsIn(to.text());
      expect(events[0]?.type).toBe('message_start');
      const [usage, last] = events.slice(-2);
      const { input_tokens = 0, cache_creation_input_tokens = 0, cache_read_input_tokens = 0 } = usage?.usage ?? {};
      const prompt = input_tokens + cache_creation_input_tokens + cache_read_input_tokens;
      expect(prompt).toBe(charges[0]?.usage.promptTokens);
      expect(usage?.usage).toMatchObject({ output_tokens: charges[0]?.usage.completionTokens, cost: 0.25 });
      if (outcome.refusal === undefined) expect(last).toEqual({ type: 'message_stop' });
      else expect(last).toMatchObject({ type: 'error', error: { code: 'upstream_error', type: 'api_error' } });
    }
  },
);
