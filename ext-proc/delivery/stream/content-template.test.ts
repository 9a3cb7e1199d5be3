import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { asCompletion, textOf } from '../../dialects/completion.ts';
import { hidesInChoices } from '../../dialects/shown-members.ts';
import { SseSplitter } from '../response/sse-splitter.ts';
import { dataEvent } from './chat-stream.ts';
import { ChunkRewriter } from './chunk-rewriter.ts';
import { ContentTemplate } from './content-template.ts';

function learning(...texts: readonly string[]) {
  const template = new ContentTemplate();
  const rewriter = new ChunkRewriter('gen-1', 'public');
  for (const text of texts) {
    const completion = asCompletion(parseObject(text) ?? {});
    if (completion === undefined) throw new Error('not a chunk');
    const isVerbatim = !hidesInChoices(completion);
    template.learn(text, completion, dataEvent(rewriter.rewrite(text, completion)), isVerbatim);
  }
  return template;
}

const chunk = (content: unknown, more: object = {}) =>
  JSON.stringify({ id: 'c-1', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }] });

/** As its client gets it. */
const ours = (text: string) => text.replaceAll('c-1', 'gen-1').replaceAll('"m"', '"public"');
const firstWith = (delta: object, choice: object = {}, more: object = {}) =>
  JSON.stringify({ id: 'c', model: 'm', choices: [{ delta, ...choice }], ...more });

describe('a chunk that differs only in its content', () => {
  test('matches, and gives the same event as editing', () => {
    const template = learning(chunk('one'));
    expect(template.match(chunk(' two é漢👩'))).toEqual({
      content: ' two é漢👩',
      event: dataEvent(ours(chunk(' two é漢👩'))),
    });
  });

  test('matches only what JSON reads as that content', () => {
    const template = learning(chunk('one'));
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', ',', '}', ':', '\u0000', '\u2028') }),
        ),
        (middle) => {
          const [head = '', tail = ''] = chunk('X').split('X');
          const matched = template.match(head + middle + tail);
          if (matched === undefined) return;
          const parsed = parseObject(head + middle + tail);
          expect(parsed).toEqual(parseObject(chunk(matched.content)));
          expect(JSON.parse(matched.event.slice(6))).toEqual({ ...parsed, id: 'gen-1', model: 'public' });
        },
      ),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['with an escape that is none', chunk('X').replace('X', '\\x')],
    ['with half an escape', chunk('X').replace('X', '\\u00g0')],
    ['that ends within an escape', chunk('X').replace('X"', '\\"')],
    ['that is cut short', chunk('one').slice(0, -3)],
    ['with another id', chunk('one').replace('c-1', 'c-2')],
    ['that finishes', chunk('one', { finish_reason: 'stop' })],
    ['with a field more', chunk('one', { logprobs: {} })],
    ['whose content ends early', chunk('one').replace('one', 'one","role":"x')],
  ])('does not match %s', (_, text) => {
    expect(learning(chunk('one')).match(text)).toBeUndefined();
  });

  test.each([
    ['finishes', chunk('one', { finish_reason: 'stop' })],
    ['has no content', chunk('')],
    ['has other text beside it', firstWith({ content: 'one', refusal: 'no' })],
    [
      'has two choices',
      JSON.stringify({ id: 'c', model: 'm', choices: [{ delta: { content: 'one' } }, { delta: {} }] }),
    ],
    ['has a usage', firstWith({ content: 'one' }, {}, { usage: {} })],
    ['has the field twice', firstWith({ content: 'one' }, { x: { content: 'one' } })],
    [
      'has the field in another name',
      '{"id":"c","model":"m","choices":[{"delta":{"a\\"content":"one","content" : "one"}}]}',
    ],
  ])('is not learnt from a chunk that %s', (_, text) => {
    expect(learning(text).match(text)).toBeUndefined();
  });

  test('matches with escapes, even with those of servers that write only ASCII', () => {
    const template = learning(asciiJson(chunk('é\n')));
    const [line, quoted] = [chunk('a\n"b"\\'), asciiJson(chunk('漢👩'))];
    expect(template.match(line)?.content).toBe('a\n"b"\\');
    expect(template.match(quoted)).toEqual({ content: '漢👩', event: dataEvent(ours(quoted)) });
  });

  test('matches only without escapes if its choices are edited', () => {
    const priced = (content: string) => chunk(content, { cost: 1 });
    const template = learning(priced('one'));
    expect(template.match(priced('two'))?.event).toBe(dataEvent(ours(chunk('two'))));
    expect(template.match(asciiJson(priced('é')))).toBeUndefined();
  });

  test('is learnt again when the stream changes', () => {
    const other = (content: string) => chunk(content).replace('c-1', 'c-2');
    const template = learning(chunk('one'), other('one'));
    expect(template.match(other('two'))?.content).toBe('two');
    expect(template.match(chunk('two'))).toBeUndefined();
  });
});

describe('padding', () => {
  const padded = (content: string, padding: string) => chunk(content).replace(/}$/, `,"obfuscation":"${padding}"}`);

  test('of any length is passed on, and the chunk matches', () => {
    const template = learning(padded('one', 'aB3'));
    for (const padding of ['', 'x', 'aB3dE5fG7hI9']) {
      expect(template.match(padded('two', padding))).toEqual({
        content: 'two',
        event: dataEvent(ours(padded('two', padding))),
      });
    }
    expect(template.match(padded('two', 'a\\x'))).toBeUndefined();
    expect(template.match(chunk('two'))).toBeUndefined();
    expect(template.match(padded('two', 'x').replace('}', ',"usage":{}}'))).toBeUndefined();
  });

  test('is matched in sequences, each event with its own', () => {
    const template = learning(padded('one', 'aB3'));
    const alike = [padded('two', ''), padded('', 'xyz'), padded(' é', 'q')].map((text) => `data: ${text}\n\n`).join('');
    expect(template.matchSequence(`${alike}data: ${padded('end', 'a\\x')}\n\n`, 0)).toEqual({
      end: alike.length,
      content: 'two é',
      events: ours(alike),
    });
  });
});

describe('a sequence of events', () => {
  /** Output for the client, and produced text, for a stream in these pieces. */
  function relayed(pieces: readonly string[], inSequences: boolean) {
    const splitter = new SseSplitter(1e6);
    const template = new ContentTemplate();
    const rewriter = new ChunkRewriter('gen-1', 'public');
    const result = { sent: '', produced: '', sequences: 0 };
    const takeAll = () => {
      for (;;) {
        const sequence = inSequences ? splitter.takeSequence(template.matchSequence) : undefined;
        if (sequence !== undefined) {
          result.sent += sequence.events;
          result.produced += sequence.content;
          result.sequences++;
        }
        const event = splitter.next();
        if (event === undefined) return;
        const completion = asCompletion(parseObject(event.data) ?? {});
        if (event.type !== '' || completion === undefined) continue;
        const sent = dataEvent(rewriter.rewrite(event.data, completion));
        template.learn(event.data, completion, sent, !hidesInChoices(completion));
        result.sent += sent;
        result.produced += textOf(completion.choices[0] as object as Record<string, unknown>);
      }
    };
    for (const piece of pieces) {
      splitter.push(Buffer.from(piece, 'latin1'));
      takeAll();
    }
    splitter.finish();
    takeAll();
    return result;
  }

  const plain = fc.string({ unit: fc.constantFrom('a', ' ', 'é', '漢', '👩', '}', '{', ':', ','), maxLength: 6 });
  const quoted = fc.string({ unit: fc.constantFrom('a', '"', '\\', '\n', '\u2028', '\u0000'), maxLength: 4 });
  const word = fc.oneof({ weight: 4, arbitrary: plain }, quoted);
  const padded = fc
    .tuple(word, word)
    .map(([content, padding]) => chunk(content).replace(/}$/, `,"obfuscation":${JSON.stringify(padding)}}`));
  const text = fc.oneof(
    { weight: 12, arbitrary: word.map((content) => chunk(content)) },
    { weight: 6, arbitrary: word.map((content) => asciiJson(chunk(content))) },
    { weight: 6, arbitrary: word.map((content) => asciiJson(chunk(content, { cost: 1 }))) },
    { weight: 12, arbitrary: padded },
    word.map((content) => chunk(content).replace('c-1', 'c-2')),
    word.map((content) => chunk(content, { finish_reason: 'stop' })),
    fc.constantFrom(
      chunk('one').replace('{', '{\ndata: '),
      chunk('one').replace('one', 'one","content":"two'),
      '[DONE]',
    ),
  );
  const event = fc.tuple(
    fc.constantFrom('', '', '', '', ': ping\n', 'id: 7\n', 'event: error\n', '\n', 'data\n'),
    fc.constantFrom('data: ', 'data: ', 'data: ', 'data:'),
    text,
    fc.constantFrom('\n\n', '\n\n', '\n\n', '\n: pong\n\n', '\n'),
  );
  const stream = fc.tuple(fc.array(event, { maxLength: 30 }), fc.boolean()).map(([events, crlf]) => {
    const joined = events.map((parts) => parts.join('')).join('');
    return Buffer.from(crlf ? joined.replaceAll('\n', '\r\n') : joined).toString('latin1');
  });

  test('gives the same as single events, however the stream is cut', () => {
    let runs = 0;
    fc.assert(
      fc.property(stream, fc.array(fc.nat({ max: 3000 }), { maxLength: 4 }), (bytes, points) => {
        const cuts = [0, ...points.map((point) => point % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
        const pieces = cuts.slice(1).map((cut, index) => bytes.slice(cuts[index], cut));
        const { sent, produced } = relayed([bytes], false);
        const inSequences = relayed(pieces, true);
        expect(inSequences).toMatchObject({ sent, produced });
        runs += inSequences.sequences;
      }),
      { numRuns: 1000 },
    );
    expect(runs).toBeGreaterThan(50);
  });

  test('is matched up to the first event that is different', () => {
    const template = learning(chunk('one'));
    const alike = [' two', '', ' é漢👩'].map((content) => `data: ${chunk(content)}\n\n`).join('');
    const text = `data: x\n\n${alike}data: ${chunk('end', { finish_reason: 'stop' })}\n\n`;
    expect(template.matchSequence(text, 0)).toBeUndefined();
    expect(template.matchSequence(text, 9)).toEqual({
      end: 9 + alike.length,
      content: ' two é漢👩',
      events: ours(alike),
    });
  });
});
