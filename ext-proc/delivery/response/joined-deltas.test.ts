import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { messagesStream, responsesStream } from '#test/load/api-streams.ts';
import { MessageStream } from '../../dialects/anthropic/message-stream.ts';
import { asCompletion, textOf } from '../../dialects/completion.ts';
import type { StreamTranslator } from '../../dialects/dialect.ts';
import { ResponsesStream } from '../../dialects/responses/responses-stream.ts';
import type { MemoryReservation } from '../../fairness/shared-budget.ts';
import { END, type ProviderCall, type Read } from '../provider/provider-call.ts';
import { dataEvent } from '../stream/chat-stream.ts';
import { ChunkRewriter } from '../stream/chunk-rewriter.ts';
import { ContentTemplate } from '../stream/content-template.ts';
import { meaningOf } from './stream-event.ts';
import { StreamSource } from './stream-source.ts';

interface Relayed {
  sent: string;
  produced: string;
  joined: number;
}

/** Output for the client, and produced text, of a stream that comes in these pieces. */
async function relayed(pieces: readonly Buffer[], translator: StreamTranslator, isJoined: boolean): Promise<Relayed> {
  const reads: Read[] = [...pieces.filter(({ length }) => length > 0), END];
  const call = { read: async () => reads.shift() } as unknown as ProviderCall;
  const memory = { heldBytes: 1e9 } as MemoryReservation;
  const source = new StreamSource(call, 1e9, { translator, memory, isPassed: false });
  const template = new ContentTemplate();
  const rewriter = new ChunkRewriter('gen-1', 'public');
  const result = { sent: '', produced: '', joined: 0 };
  while (source.end === undefined) {
    await source.read();
    for (let event = source.next(); event !== undefined; event = source.next()) {
      const alike = isJoined ? template.match(event.data) : undefined;
      if (alike !== undefined) {
        const deltas = source.takeDeltas();
        const { content, events } = template.join(deltas);
        result.sent += alike.event + events;
        result.produced += alike.content + content;
        result.joined += deltas.length;
        continue;
      }
      const meaning = meaningOf(event);
      if (meaning?.kind !== 'chunk') {
        result.sent += event.data;
        continue;
      }
      const { completion } = meaning;
      const sent = dataEvent(rewriter.rewrite(event.data, completion));
      template.learn(event.data, completion, sent, true);
      result.sent += sent;
      result.produced += asCompletion(completion)
        ?.choices.map((choice) => textOf(choice as object as never))
        .join('');
    }
  }
  return result;
}

const plain = fc.string({ unit: fc.constantFrom('a', ' ', 'é', '漢', '👩', '}', '{', ':'), maxLength: 6 });
const quoted = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u2028', '\u0000'), maxLength: 4 });
const word = fc.oneof({ weight: 4, arbitrary: plain }, quoted);
/** Changes of an event, or text behind it. */
const oddity = fc.constantFrom<(event: string) => string>(
  ...Array.from({ length: 12 }, () => (event: string) => event),
  (event) => `${event}: ping\n\n`,
  (event) => `${event}event: ping\ndata: {"type":"ping"}\n\n`,
  (event) => event.replace(/}\n\n$/, '   }\n\n'),
  (event) => event.replace('\ndata: ', '\ndata:'),
  (event) => event.replace(/^event: .*\n/, ''),
  (event) => event.replace(/^event: .*\n/, 'event: error\n'),
  (event) => event.replace('index":0', 'index":1'),
  (event) => event.replace('delta', 'd\\u0065lta'),
  (event) => event + event,
  (event) => event.slice(0, -3),
  () => 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"no"}}\n\n',
);

/** Both ways have one `created`, also where a second ends between them. */
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

test.each<[string, (pieces: readonly string[]) => Buffer[], () => StreamTranslator]>([
  ['Responses', responsesStream, () => new ResponsesStream()],
  ['Messages', messagesStream, () => new MessageStream()],
])('joined deltas of %s give the same as single ones, however they are cut', async (_, stream, translator) => {
  let joined = 0;
  const runs = propertyRuns(500);
  const cuts = fc.array(fc.nat({ max: 20_000 }), { maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(
      fc.array(word, { minLength: 4, maxLength: 30 }),
      fc.array(oddity),
      cuts,
      async (words, odd, points) => {
        const events = stream(words).map((event, index) => odd[index]?.(event.toString()) ?? event.toString());
        const bytes = Buffer.from(events.join(''));
        const at = [0, ...points.map((point) => point % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const pieces = at.slice(1).map((cut, index) => bytes.subarray(at[index], cut));
        const { sent, produced } = await relayed([bytes], translator(), false);
        const fast = await relayed(pieces, translator(), true);
        expect(fast).toMatchObject({ sent, produced });
        joined += fast.joined;
      },
    ),
    { numRuns: runs },
  );
  // Otherwise nothing was compared. On average five deltas a run are joined.
  expect(joined).toBeGreaterThan(runs);
});
