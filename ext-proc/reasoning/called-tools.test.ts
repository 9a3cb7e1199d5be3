import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { finish } from '../fairness/steps.ts';
import { calledTools, textOfCalls } from './called-tools.ts';

const call = (input: string, more: object = {}) => ({
  ...{ id: 'call_1', type: 'function', function: { name: 'look', arguments: input } },
  ...more,
});
const textOf = (...calls: readonly object[]) => finish(textOfCalls(calledTools(calls) ?? []));

describe('the text of tool calls', () => {
  it.each([
    ['{"b":1,"a":[1.0,"é"]}', '{ "a": [1, "\\u00e9"], "b": 1e0 }'],
    ['{"2":"x","1":{}}', '{"1": {}, "2": "x"}'],
    ['', '{}'],
    [' ', '{}'],
  ])('is the same for arguments that a client has serialized again: %s', (produced, returned) => {
    expect(textOf(call(produced))).toBe(textOf(call(returned)));
  });

  it('has long arguments unchanged', () => {
    const long = (space: string) => call(`{"a":${space}"${'x'.repeat(16 * 1024)}"}`);
    expect(textOf(long(''))).toBe(textOf(long('')));
    expect(textOf(long(''))).not.toBe(textOf(long(' ')));
  });

  it('is the same for any notation of JSON', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (members) => {
        const turned = Object.fromEntries(Object.entries(members).toReversed());
        expect(textOf(call(JSON.stringify(turned, null, 2)))).toBe(textOf(call(JSON.stringify(members))));
      }),
    );
  });

  it.each([
    ['another value', call('{"a":2}')],
    ['another id', call('{"a":1}', { id: 'call_2' })],
    ['another name', call('{"a":1}', { function: { name: 'see', arguments: '{"a":1}' } })],
    ['a list for an object', call('[["a",1]]')],
    ['a custom tool', { id: 'call_1', type: 'custom', custom: { name: 'look', input: '{"a":1}' } }],
  ])('is different for %s', (_, other) => {
    const text = textOf(call('{"a":1}'));
    expect(textOf(other)).toBeDefined();
    expect(textOf(other)).not.toBe(text);
    expect(textOf(call('{"a":1}'), other)).not.toBe(text);
  });

  it('has the arguments unchanged if they are not JSON, or nested too deeply', () => {
    expect(textOf(call('{"a":'))).not.toBe(textOf(call('{"b":')));
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    expect(textOf(call(deep))).toBe(textOf(call(deep)));
    expect(textOf(call(deep))).not.toBe(textOf(call(`${deep} `)));
  });

  it.each([
    ['no calls', []],
    ['a call without an id', [call('{}', { id: '' })]],
    ['an id that is too long', [call('{}', { id: 'x'.repeat(513) })]],
    ['too many calls', Array.from({ length: 129 }, () => call('{}'))],
    ['too much input', [call(`"${'x'.repeat(300_000)}"`)]],
    ['a call without arguments', [{ id: 'call_1', function: { name: 'look' } }]],
    ['a call of no known form', [null]],
  ])('is missing for %s', (_, calls) => {
    expect(finish(textOfCalls(calledTools(calls) ?? []))).toBeUndefined();
  });
});
