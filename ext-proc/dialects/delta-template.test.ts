import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isObject, parseObject } from '#core/json-object.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { DeltaTemplate } from './delta-template.ts';

const EVENT = { type: 'text.delta', sequence_number: 4, delta: 'one', item: 'msg_1', logprobs: [], obfuscation: 'aB' };

function learning(data: string, delta = 'one'): DeltaTemplate {
  const template = new DeltaTemplate('delta');
  template.learn(data, delta);
  return template;
}

const like = (more: object) => JSON.stringify({ ...EVENT, ...more });

describe('an event that differs only in its delta, padding and number', () => {
  test('matches', () => {
    const template = learning(like({}));
    expect(template.match(like({ delta: ' "zwei"\né 漢👩', sequence_number: 5, obfuscation: '' }))).toBe(true);
    expect(template).toMatchObject({
      delta: ' \\"zwei\\"\\né 漢👩',
      padding: '',
    });
    expect(template.match(like({ delta: '', sequence_number: 0 }))).toBe(true);
    expect(template).toMatchObject({ delta: '', padding: 'aB' });
  });

  test('matches without padding and number too', () => {
    const template = learning('{"delta":"one","item":"msg_1"}');
    expect(template.match('{"delta":"t\\u00e9\\ud83d\\ude00","item":"msg_1"}')).toBe(true);
    expect(template).toMatchObject({ delta: 't\\u00e9\\ud83d\\ude00', padding: undefined });
  });

  test('matches only valid JSON, and reads the same values', () => {
    const [head = '', middle = '', tail = ''] = like({ delta: 'X', obfuscation: 'X' }).split('X');
    const units = ['a', '"', '\\', '\n', ',', '}', ':', '\u0000', '\u2028', 'u', '0', 'e', 'n', '/'];
    const raw = fc.string({ unit: fc.constantFrom(...units), maxLength: 8 });
    const written = fc.string({ unit: 'binary' }).map((text) => JSON.stringify(text).slice(1, -1));
    fc.assert(
      fc.property(fc.oneof(raw, written), raw, (delta, padding) => {
        const template = learning(like({}));
        const data = head + delta + middle + padding + tail;
        const parsed = parseObject(data);
        if (!template.match(data)) {
          // A text as JSON.stringify writes it is recognized in any case.
          const isPlain = isObject(parsed) && JSON.stringify(parsed) === data && parsed.item === EVENT.item;
          expect(isPlain && typeof parsed.delta === 'string' && Object.keys(parsed).length === 6).toBe(false);
          return;
        }
        expect(parsed).toEqual({
          ...EVENT,
          delta: JSON.parse(`"${template.delta}"`),
          obfuscation: parsed?.obfuscation,
        });
        expect(JSON.parse(`"${template.padding}"`)).toBe(parsed?.obfuscation);
      }),
      { numRuns: propertyRuns(3000) },
    );
  });

  test.each<[string, string]>([
    ['of another item', like({ item: 'msg_2' })],
    ['with a member more', like({ x: 1 })],
    ['that is cut', like({}).slice(0, -1)],
    ['with more behind it', `${like({})} `],
    ['with a number that is none', like({}).replace('4', '04')],
    ['without its number', like({}).replace('4', '')],
    ['with a wrong escape', like({ delta: 'X' }).replace('X', '\\x')],
    ['with half an escape', like({ delta: 'X' }).replace('X', '\\u00g0')],
  ])('does not match one %s', (_, data) => {
    expect(learning(like({})).match(data)).toBe(false);
  });

  test.each<[string, string]>([
    ['that has no delta', '{"text":"one"}'],
    ['that has it twice', '{"delta":"one","x":{"delta":"one"}}'],
    ['that has it in another name', '{"a\\"delta":"one"}'],
    ['that has it inside another member', '{"delta" :"one","x":{"delta":"two"}}'],
    ['whose delta is no text', '{"delta":7}'],
    ['whose number is none', '{"delta":"one","sequence_number":-1}'],
  ])('is not learnt from one %s', (_, data) => {
    expect(learning(data).match(data)).toBe(false);
  });

  test('is learnt again when the stream changes', () => {
    const template = learning(like({}));
    template.learn(like({ item: 'msg_2' }), 'one');
    expect(template.match(like({}))).toBe(false);
    expect(template.match(like({ item: 'msg_2', delta: 'two' }))).toBe(true);
  });
});
