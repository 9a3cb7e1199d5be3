import { describe, expect, test } from 'vitest';
import { parseObject } from '#core/json-object.ts';
import { asCompletion, type Completion } from '../../dialects/completion.ts';
import { ChunkRewriter } from './chunk-rewriter.ts';

function parsed(text: string): Completion {
  const completion = asCompletion(parseObject(text) ?? {});
  if (completion === undefined) throw new Error('not a chunk');
  return completion;
}

function rewriteAll(...texts: readonly string[]): string[] {
  const rewriter = new ChunkRewriter('gen-1', 'public');
  return texts.map((text) => rewriter.rewrite(text, parsed(text)));
}

describe('rewriting chunks', () => {
  test('changes id and model and nothing else, even in chunks with the same beginning', () => {
    const one =
      '{"id":"c-1","object":"chat.completion.chunk","created":12345678901234567890,"model":"m","choices":[{"delta":{"content":"a"}}]}';
    const two = one.replace('"a"', '"\\u00e9 \\"id\\":\\"c-1\\""');
    const edit = (text: string) => text.replace('"c-1"', '"gen-1"').replace('"model":"m"', '"model":"public"');
    expect(rewriteAll(one, two, two)).toEqual([edit(one), edit(two), edit(two)]);
  });

  test('follows a provider that changes its id, model or order of members midway', () => {
    const texts = [
      '{"id":"a","model":"m","choices":[1]}',
      '{"id":"b","model":"m","choices":[2]}',
      '{"choices":[{"id":"inner","model":"inner"}],"model":"m","id":"b"}',
      '{"id":"b","model":"m","choices":[3]}',
    ];
    expect(rewriteAll(...texts).map((text) => JSON.parse(text))).toEqual([
      { id: 'gen-1', model: 'public', choices: [1] },
      { id: 'gen-1', model: 'public', choices: [2] },
      { id: 'gen-1', model: 'public', choices: [{ id: 'inner', model: 'inner' }] },
      { id: 'gen-1', model: 'public', choices: [3] },
    ]);
  });

  test('leaves no second id in a chunk with a known beginning', () => {
    const [, second] = rewriteAll(
      '{"id":"a","model":"m","choices":[]}',
      '{"id":"a","model":"m","choices":[],"id":"secret"}',
    );
    expect(second).not.toContain('secret');
  });

  test('adds missing members, and replaces ids of another type', () => {
    expect(
      rewriteAll('{"choices":[]}', '{"id":7,"choices":[],"model":null}', '{"id":7,"choices":[],"model":null}'),
    ).toEqual([
      '{"choices":[],"id":"gen-1","model":"public"}',
      '{"id":"gen-1","choices":[],"model":"public"}',
      '{"id":"gen-1","choices":[],"model":"public"}',
    ]);
  });

  test('removes the usage', () => {
    const rewriter = new ChunkRewriter('gen-1', 'public');
    const text = '{"id":"a","usage":{"x":[1,"}"]},"model":"m","choices":[]}';
    expect(rewriter.rewriteWithoutUsage(text, parsed(text))).toBe('{"id":"gen-1","model":"public","choices":[]}');
  });
});
