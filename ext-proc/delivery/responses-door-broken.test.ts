import { expect, test } from 'vitest';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import { admittedRequest, provider } from './admitted-request.fixture.ts';
import { ANSWERS, responsesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';

const { egress, delivery } = await openDelivery();

/** Cases in all, over all answers of all APIs. */
const CASES = 2000;
const streams = ANSWERS.map(({ api, name, stream }) => ({ api, name, bytes: Buffer.from(stream) }));
const allBytes = streams.reduce((sum, { bytes }) => sum + bytes.length, 0);

interface SentEvent {
  readonly type: string;
  readonly sequence_number: number;
  readonly code?: string;
  readonly error?: { readonly code: string };
  readonly response?: {
    readonly status: string;
    readonly error: { readonly code: string } | null;
    readonly usage: unknown;
  };
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
      const ofChat = { ...admittedRequest({ stream: true, providers: [provider('alpha', { api })] }) };
      const { chat, ...asked } = await responsesRequest(api, {}, { stream: true });
      const chatClient = client();
      const expected = await deliverTo(delivery, chatClient, { ...ofChat, chat: { ...chat, includeUsage: true } });
      const to = client();
      const { outcome, charges } = await deliverTo(delivery, to, { ...asked, chat });
      expect(outcome.refusal?.code).toBe(expected.outcome.refusal?.code);
      const untimed = ({ latencyMs, generationTimeMs, ...charge }: ProviderOutput) => charge;
      expect(charges.map(untimed)).toEqual(expected.charges.map(untimed));
      if (charges.length === 0) {
        expect(JSON.parse(String(to.responses[0]?.body))).toMatchObject({ error: { code: 'upstream_error' } });
        continue;
      }
      const events = eventsIn(to.text());
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, number) => number));
      expect(events[0]?.type).toBe('response.created');
      const [error, last] = events.slice(-2);
      const total = (charges[0]?.usage.promptTokens ?? 0) + (charges[0]?.usage.completionTokens ?? 0);
      expect(last?.response?.usage).toMatchObject({ total_tokens: total, cost: 0.25 });
      if (outcome.refusal === undefined) {
        expect(last?.type).toMatch(/^response\.(completed|incomplete)$/);
        continue;
      }
      expect(error).toMatchObject({ type: 'error', code: 'upstream_error', error: { code: 'upstream_error' } });
      expect(last).toMatchObject({
        type: 'response.failed',
        response: { status: 'failed', error: { code: 'upstream_error', message: expect.any(String) } },
      });
    }
  },
);
