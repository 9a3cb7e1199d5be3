import { expect, test } from 'vitest';
import { cpuMsOf } from '#test/fixtures/cpu-time.ts';
import { blocksOf, inlineOf, partsOf } from './markdown-blocks.ts';

const blocks = (text: string) => blocksOf(text.split('\n'));
const plain = (text: string) => [{ kind: 'text', text }];

test('an answer has paragraphs, headings, lists, quotes, tables, rules and code', () => {
  expect(
    blocks(
      '# One\nText\nmore\n\n- a\n- b\n  - c\n\n3. d\n\n> said\n\n| x | y |\n|---|:-:|\n| 1 | 2 |\n\n---\n```ts\n# no\n```',
    ),
  ).toEqual([
    { kind: 'heading', level: 1, text: 'One' },
    { kind: 'text', text: 'Text\nmore' },
    {
      ...{ kind: 'list', start: undefined },
      items: [plain('a'), [...plain('b'), { kind: 'list', start: undefined, items: [plain('c')] }]],
    },
    { kind: 'list', start: 3, items: [plain('d')] },
    { kind: 'quote', blocks: plain('said') },
    {
      kind: 'table',
      rows: [
        ['x', 'y'],
        ['1', '2'],
      ],
    },
    { kind: 'rule', text: '' },
    { kind: 'code', language: 'ts', text: '# no' },
  ]);
});

test('code that has not ended is code, and a longer fence contains a shorter one', () => {
  expect(blocks('```py\nprint(1)')).toEqual([{ kind: 'code', language: 'py', text: 'print(1)' }]);
  expect(blocks('````\n```\n````')).toEqual([{ kind: 'code', language: '', text: '```' }]);
});

test('an item contains its code and its paragraphs', () => {
  expect(blocks('1. Run:\n\n   ```sh\n   ls\n   ```\n2. Done')).toEqual([
    {
      kind: 'list',
      start: 1,
      items: [[...plain('Run:'), { kind: 'code', language: 'sh', text: 'ls' }], plain('Done')],
    },
  ]);
});

test.each([
  [
    '**a *b* c**',
    [
      {
        kind: 'strong',
        parts: [
          { kind: 'plain', text: 'a ' },
          { kind: 'emphasis', parts: [{ kind: 'plain', text: 'b' }] },
          { kind: 'plain', text: ' c' },
        ],
      },
    ],
  ],
  [
    '_a_ snake_case_name',
    [
      { kind: 'emphasis', parts: [{ kind: 'plain', text: 'a' }] },
      { kind: 'plain', text: ' snake_case_name' },
    ],
  ],
  ['`**x**`', [{ kind: 'code', text: '**x**' }]],
  ['2 * 3 * 4', [{ kind: 'plain', text: '2 * 3 * 4' }]],
  ['[a](https://b.example/c)', [{ kind: 'link', url: 'https://b.example/c', parts: [{ kind: 'plain', text: 'a' }] }]],
])('%s', (text, expected) => {
  expect(inlineOf(text)).toEqual(expected);
});

test.each(['[a](javascript:alert(1))', '[a](data:text/html,x)', '<b>x</b>', '<img src=x onerror=alert(1)>', '![a](x)'])(
  '%s is plain text',
  (text) => expect(inlineOf(text)).toEqual([{ kind: 'plain', text }]),
);

test('a growing text is split into parts that no longer change', () => {
  const text = 'One\n\nTwo\n\n- a\n\n- b\n\n  more\n\n```\nx\n\ny\n```\n\nThree';
  expect(partsOf(text).map((part) => part.trim())).toEqual([
    'One',
    'Two',
    '- a\n\n- b\n\n  more',
    '```\nx\n\ny\n```',
    'Three',
  ]);
});

test('parses any text in bounded time, whatever a model writes', () => {
  const hostile = ['*', '`', '[', '_a', '**a ', '> ', '- ', '|', '~~~', '1. '];
  const tookMs = cpuMsOf(() => {
    for (const piece of hostile) {
      const text = piece.repeat(100_000 / piece.length);
      blocks(text);
      inlineOf(text.slice(0, 10_000));
      for (const part of partsOf(text)) expect(part).toBeDefined();
    }
  });
  expect(tookMs).toBeLessThan(5_000);
});

test('parses any single line in bounded time, and drops closing marks of a heading', () => {
  const spaces = ' '.repeat(50_000);
  const tookMs = cpuMsOf(() => {
    blocks(`a | b\n-${spaces}x`);
    blocks(`# a ${spaces}x${'#'.repeat(20_000)}y`);
  });
  expect(tookMs).toBeLessThan(1_000);
  expect(blocks('## Two ##\n# C#')).toEqual([
    { kind: 'heading', level: 2, text: 'Two' },
    { kind: 'heading', level: 1, text: 'C#' },
  ]);
});
