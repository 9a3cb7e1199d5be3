import fc from 'fast-check';
import { encode as encodeCl100k } from 'gpt-tokenizer/encoding/cl100k_base';
import { encode as encodeO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { describe, expect, it } from 'vitest';
import { asciiJson } from '#test/fixtures/ascii-json.ts';
import { acceptedChat } from '#test/fixtures/chat-request.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';

const tokensOf = (text: string) => Math.max(encodeO200k(text).length, encodeCl100k(text).length);
const ceilingOf = (body: string | object) => acceptedChat(body).inputTokens.ceiling;
const USER = { role: 'user', content: '' };

/** The ceiling of the arguments of a call, without those of the frames around them. */
function ceilingOfArguments(json: string): number {
  const bodyOf = (given: string) => {
    const call = { id: 'c', type: 'function', function: { name: 'f', arguments: given } };
    return { model: 'm', messages: [USER, { role: 'assistant', tool_calls: [call] }] };
  };
  return ceilingOf(bodyOf(json)) - ceilingOf(bodyOf(''));
}

/** JSON as it is sent, and as Python's `json.dumps`, or jinja2's `tojson`, writes it again. */
interface Value {
  readonly sent: string;
  readonly dumped: string;
}

/** The longest forms in which languages write numbers: Python's, and of 1e20 and 1e-6 Go's. */
const NUMBERS: readonly Value[] = [
  { sent: '0', dumped: '0' },
  { sent: '1e15', dumped: '1000000000000000.0' },
  { sent: '-1.5E15', dumped: '-1500000000000000.0' },
  { sent: '1e20', dumped: '100000000000000000000' },
  { sent: '1e-4', dumped: '0.0001' },
  { sent: '1e-6', dumped: '0.000001' },
  { sent: '1E+7', dumped: '10000000.0' },
  { sent: '12345678901234567.0', dumped: '1.2345678901234568e+16' },
];

const escaped = (literal: string) =>
  asciiJson(literal).replace(/[<>&']/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`);
const text = fc
  .string({
    unit: fc.constantFrom('a', 'é', '中', '😀', '<', "'", '"', '\\', ',', ':', '[', '\n', '1', 'e'),
    maxLength: 8,
  })
  .map((value): Value => ({ sent: JSON.stringify(value), dumped: escaped(JSON.stringify(value)) }));
const { value } = fc.letrec<{ value: Value; list: Value; object: Value }>((tie) => ({
  value: fc.oneof({ maxDepth: 6 }, fc.constantFrom(...NUMBERS), text, tie('list'), tie('object')),
  list: fc.array(tie('value'), { maxLength: 6 }).map((values) => ({
    sent: `[${values.map(({ sent }) => sent).join(',')}]`,
    dumped: `[${values.map(({ dumped }) => dumped).join(', ')}]`,
  })),
  object: fc.array(fc.tuple(text, tie('value')), { maxLength: 6 }).map((members) => ({
    sent: `{${members.map(([name, each]) => `${name.sent}:${each.sent}`).join(',')}}`,
    dumped: `{${members.map(([name, each]) => `${name.dumped}: ${each.dumped}`).join(', ')}}`,
  })),
}));

const listOf = (json: string) => `[${Array(120).fill(json).join(',')}]`;
const manyOf = ({ sent, dumped }: Value): Value => ({
  sent: listOf(sent),
  dumped: `[${Array(120).fill(dumped).join(', ')}]`,
});
const DEEP: readonly [string, number][] = [20, 40, 60, 100].flatMap((depth) =>
  ['0', '[0]', '[[[[0]]]]', '{"":0}'].map((json): [string, number] => [listOf(json), depth]),
);

describe('the ceiling of arguments', () => {
  it('is not below their bytes when a template has parsed them and writes them again', () => {
    fc.assert(
      fc.property(value, ({ sent, dumped }) => {
        expect(ceilingOfArguments(sent)).toBeGreaterThanOrEqual(Buffer.byteLength(dumped));
      }),
      { numRuns: propertyRuns(1000), examples: NUMBERS.map(({ sent, dumped }) => [manyOf({ sent, dumped })]) },
    );
  });

  it('covers templates that write each member as tags', () => {
    const letters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ'];
    const names = letters.flatMap((first) => letters.map((second) => first + second));
    const ceiling = ceilingOfArguments(JSON.stringify(Object.fromEntries(names.map((name) => [name, 1]))));
    const qwen = names.map((name) => `<parameter=${name}>\n1\n</parameter>\n`).join('');
    expect(ceiling).toBeGreaterThanOrEqual(tokensOf(qwen));
    // Before each of the two tags comes a mark that is one token.
    const deepSeek = names.map((name) => `<parameter name="${name}" string="false">1</parameter>\n`).join('');
    expect(ceiling).toBeGreaterThanOrEqual(tokensOf(deepSeek) + 2 * names.length);
  });

  it('is little above their bytes for ordinary calls', () => {
    const code = 'export const area = (width: number, height: number): number => width * height;\n'.repeat(20);
    const json = JSON.stringify({ path: 'src/area.ts', overwrite: true, content: code });
    expect(ceilingOfArguments(json)).toBeLessThan(Buffer.byteLength(json) * 1.1);
  });

  it('is less than twice their bytes for small numbers', () => {
    const json = listOf('1.5e-7');
    expect(ceilingOfArguments(json)).toBeLessThan(Buffer.byteLength(json) * 2);
  });
});

describe('the ceiling of a tool', () => {
  const toolOf = (list: string) => `{"type":"function","function":{"name":"f","parameters":{"enum":${list}}}}`;
  const nested = (json: string, depth: number) => '['.repeat(depth) + json + ']'.repeat(depth);

  it('covers indented definitions of any depth, and numbers without exponents', () => {
    fc.assert(
      fc.property(value, fc.integer({ min: 0, max: 100 }), ({ sent }, depth) => {
        const tool = toolOf(nested(sent, depth));
        const ceiling = ceilingOf(`{"model":"m","messages":[${JSON.stringify(USER)}],"tools":[${tool}]}`);
        expect(ceiling).toBeGreaterThanOrEqual(tokensOf(JSON.stringify(JSON.parse(tool), null, 4)));
      }),
      { numRuns: propertyRuns(500), examples: DEEP.map(([json, depth]) => [{ sent: json, dumped: '' }, depth]) },
    );
  });
});

describe.each([
  ['arguments', ceilingOfArguments],
  ['a tool', (json: string) => ceilingOf(`{"model":"m","messages":[${JSON.stringify(USER)}],"tools":[${json}]}`)],
])('the ceiling of %s', (_, ceiling) => {
  it.each([...`<>&'é中😀`])('covers %s as the escape that templates and Go write', (character) => {
    const literal = JSON.stringify(character.repeat(1000));
    for (const sent of [literal, escaped(literal)]) {
      expect(ceiling(`{"type":"function","function":{"name":"f","description":${sent}}}`)).toBeGreaterThanOrEqual(
        escaped(literal).length,
      );
    }
  });

  it.each(['\\\\', '\\"', '\\n'])('knows that %s does not end a string', (pair) => {
    const jsonOf = (more: string) =>
      `{"type":"function","function":{"name":"f","description":"${(pair + more).repeat(1000)}"}}`;
    expect(ceiling(jsonOf(',:[{'))).toBe(ceiling(jsonOf('abcd')));
  });
});
