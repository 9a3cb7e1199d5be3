import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ChunkRewriter } from './chunk-rewriter.ts';
import { asCompletion } from './completion.ts';
import { ContentTemplate } from './content-template.ts';
import { dataEvent } from './final-event.ts';
import { parseObject } from './json-object.ts';

function learning(...texts: readonly string[]) {
  const template = new ContentTemplate();
  const rewriter = new ChunkRewriter('gen-1', 'public');
  for (const text of texts) {
    const completion = asCompletion(parseObject(text) ?? {});
    if (completion === undefined) throw new Error('not a chunk');
    template.learn(text, completion, dataEvent(rewriter.rewrite(text, completion)));
  }
  return template;
}

const chunk = (content: unknown, more: object = {}) =>
  JSON.stringify({ id: 'c-1', model: 'm', choices: [{ index: 0, delta: { content }, finish_reason: null, ...more }] });

describe('a chunk that differs in its content only', () => {
  test('matches, and gives the event that editing it would give', () => {
    const template = learning(chunk('one'));
    expect(template.match(chunk(' two é漢👩'))).toBe(' two é漢👩');
    expect(template.eventWith(' two')).toBe(
      dataEvent(chunk(' two').replace('c-1', 'gen-1').replace('"m"', '"public"')),
    );
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
          expect(parsed).toEqual(parseObject(chunk(matched)));
          expect(JSON.parse(template.eventWith(matched).slice(6))).toEqual({ ...parsed, id: 'gen-1', model: 'public' });
        },
      ),
      { numRuns: 2000 },
    );
  });

  test.each([
    ['with an escape in it', chunk('a\nb')],
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
    ['has an escape', chunk('o\tne')],
    [
      'has other text beside it',
      JSON.stringify({ id: 'c', model: 'm', choices: [{ delta: { content: 'one', refusal: 'no' } }] }),
    ],
    [
      'has two choices',
      JSON.stringify({ id: 'c', model: 'm', choices: [{ delta: { content: 'one' } }, { delta: {} }] }),
    ],
    ['has a usage', JSON.stringify({ id: 'c', model: 'm', choices: [{ delta: { content: 'one' } }], usage: {} })],
    [
      'has the field twice',
      JSON.stringify({ id: 'c', model: 'm', choices: [{ delta: { content: 'one' }, x: { content: 'one' } }] }),
    ],
    [
      'has the field in another name',
      '{"id":"c","model":"m","choices":[{"delta":{"a\\"content":"one","content" : "one"}}]}',
    ],
  ])('is not learnt from a chunk that %s', (_, text) => {
    expect(learning(text).match(text)).toBeUndefined();
  });

  test('is learnt anew when the stream goes on differently', () => {
    const other = (content: string) => chunk(content).replace('c-1', 'c-2');
    const template = learning(chunk('one'), other('one'));
    expect(template.match(other('two'))).toBe('two');
    expect(template.match(chunk('two'))).toBeUndefined();
  });
});
