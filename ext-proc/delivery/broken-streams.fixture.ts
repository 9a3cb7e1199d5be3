import type { ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import type { ProviderOutput } from '../hold/delivery-hold.ts';
import { admittedRequest, provider } from './admitted-request.fixture.ts';
import { ANSWERS, type messagesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';

/** Cases in all, over all streams of a file. */
const CASES = propertyRuns(2000);

interface NamedStream<Api> {
  readonly api: Api;
  readonly name: string;
  readonly stream: string;
}

/** Streams with beginnings of them, the next of which is always the same number of bytes longer. */
export function cutStreams<Api>(streams: readonly NamedStream<Api>[]) {
  const step = streams.reduce((sum, { stream }) => sum + Buffer.byteLength(stream), 0) / CASES;
  return streams.map(({ api, name, stream }) => {
    const bytes = Buffer.from(stream);
    const cuts: Buffer[] = [];
    for (let at = step / 2; at < bytes.length; at += step) cuts.push(bytes.subarray(0, Math.floor(at)));
    return { api, name, cuts };
  });
}

/** A provider that breaks its stream after these bytes. */
export function breakingAfter(bytes: Buffer) {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(bytes, () => response.destroy());
  };
}

const outputTokens = (charge?: ProviderOutput) => charge?.usage.completionTokens ?? 0;

/** Checks of what a client at a door gets. */
interface ChecksAtDoor<Event> {
  /** An error before the stream began. */
  refused(body: unknown): void;
  /** The events of a stream. `isBroken`: they end with an error. */
  delivered(events: readonly Event[], charge: ProviderOutput, isBroken: boolean): void;
}

/** A stream that is broken at any byte has its end, and is charged as the one of chat is. */
export async function testBrokenStreams<Event extends { readonly type: string }>(
  requestAt: typeof messagesRequest,
  { refused, delivered }: ChecksAtDoor<Event>,
): Promise<void> {
  const { egress, delivery } = await openDelivery();
  test.each(cutStreams(ANSWERS))(
    'of $api, $name, broken at any byte: the stream has its end, and is charged as the one of chat is',
    { timeout: 240_000 },
    async ({ api, name, cuts }) => {
      for (const cut of cuts) {
        egress.respondWith(breakingAfter(cut));
        const ofChat = admittedRequest({ stream: true, providers: [provider('alpha', { api })] });
        const { chat, ...asked } = await requestAt(api, {}, { stream: true });
        const expected = await deliverTo(delivery, client(), { ...ofChat, chat });
        const to = client();
        const { outcome, charges } = await deliverTo(delivery, to, { ...asked, chat });
        expect(outcome.refusal?.code).toBe(expected.outcome.refusal?.code);
        // In chat a call waits until those before it are whole. Here it is passed on as it comes.
        const comesEarlier = name === 'PARALLEL_CALLS' && asked.atDoor.passesTo({ api });
        const compared = ({ firstEventMs, generationTimeMs, usage, ...charge }: ProviderOutput) =>
          comesEarlier ? { ...charge, usage: { ...usage, completionTokens: 'no fewer' } } : { ...charge, usage };
        expect(charges.map(compared)).toEqual(expected.charges.map(compared));
        const [charge] = charges;
        expect(outputTokens(charge)).toBeGreaterThanOrEqual(outputTokens(expected.charges[0]));
        if (charge === undefined) refused(JSON.parse(String(to.responses[0]?.body)));
        else delivered(eventsIn(to.text()), charge, outcome.refusal !== undefined);
      }
    },
  );
}

/** The events of a stream, of which each is named for its type. */
function eventsIn<Event extends { readonly type: string }>(text: string): Event[] {
  const events = text.split('\n\n');
  expect(events.pop()).toBe('');
  return events.map((event) => {
    const [name = '', data = ''] = event.split('\ndata: ');
    const parsed = JSON.parse(data) as Event;
    expect(name).toBe(`event: ${parsed.type}`);
    return parsed;
  });
}
