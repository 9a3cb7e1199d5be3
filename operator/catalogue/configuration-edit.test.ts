import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { editConfiguration } from './configuration-edit.ts';

const MODEL = {
  context_window: 100,
  usd_per_million_tokens: { input: 1, output: 2 },
  targets: [{ provider: 'p', model: 'm' }],
};
const ENTRIES = {
  providers: { p: { base_url: 'https://p.example/v1', api_key: `\${P_KEY}` } },
  models: { 'a/m': MODEL },
};

function edited(text: string, replace = false): string {
  const edit = editConfiguration(text, ENTRIES, { replace });
  if (!edit.ok) throw new Error(edit.problems.join('\n'));
  return edit.text;
}

const OTHERS = `# the head
listen: {api: 127.0.0.1:8080}      # aligned

providers:
    other:                         # four spaces deep
        base_url: https://o.example/v1   # here

models:
  one:
    context_window: 5
    targets:
      - {provider: other, model: x}     # the last line of one
  # a comment behind all models

demo: true                         # the tail
`;

it('adds entries after the others with their indentation, and keeps every other byte', () => {
  const text = edited(OTHERS);
  expect(parse(text)).toEqual({
    ...parse(OTHERS),
    providers: { ...parse(OTHERS).providers, ...ENTRIES.providers },
    models: { ...parse(OTHERS).models, ...ENTRIES.models },
  });
  const left = OTHERS.split('\n');
  for (const line of text.split('\n')) if (line === left[0]) left.shift();
  expect(left).toEqual([]);
  expect(text).toContain(`\n    p: {base_url: https://p.example/v1, api_key: "\${P_KEY}"}\n`);
});

it.each([
  '',
  '# only a comment\n',
  'demo: true',
  'providers:\nmodels:\n',
  'models: {}   # none\nproviders: null # none\n',
  'models: ~\n',
  'models:   # none yet\nproviders: # nor: {here}\ndemo: true\n',
])('adds the sections to %j', (text) => {
  expect(parse(edited(text))).toEqual({ ...parse(text), ...ENTRIES });
  for (const [comment] of text.matchAll(/#.*/g)) expect(edited(text)).toContain(comment);
  expect(edited(text)).not.toContain('\n\n\n');
});

it('refuses an entry with an existing name, and replaces it only on request', () => {
  const text =
    'providers:\n  p: {base_url: http://127.0.0.1:1/v1} # mine\nmodels:\n  z: {}\n  a/m:\n    context_window: |\n      7\n\n  b: {}\n';
  expect(editConfiguration(text, ENTRIES, { replace: false })).toEqual({
    ok: false,
    problems: [
      'There is a provider p already. --replace replaces it. --provider p uses it as it is.',
      'There is a model a/m already. --replace replaces it.',
    ],
  });
  expect(parse(edited(text, true))).toEqual({ providers: ENTRIES.providers, models: { z: {}, 'a/m': MODEL, b: {} } });
  const again = editConfiguration(edited(text, true), { ...ENTRIES, models: {} }, { replace: false });
  expect(again).toEqual({ ok: true, text: edited(text, true), changes: ['left provider p as it is'] });
});

it.each([['models: [1]\n'], ['models: {a: {}}\n'], ['- 1\n'], ['models: {\n'], ['{demo: true}\n']])(
  'refuses %j',
  (text) => {
    expect(editConfiguration(text, ENTRIES, { replace: true })).toMatchObject({ ok: false });
  },
);

it('leaves a provider unchanged that is to be kept', () => {
  const text = 'providers:\n  p: {base_url: http://127.0.0.1:1/v1} # mine\n';
  const edit = editConfiguration(text, ENTRIES, { replace: true, kept: 'p' });
  expect(edit).toMatchObject({ ok: true, changes: ['left provider p as it is', 'added model a/m'] });
  expect(edit.ok && edit.text.startsWith(text)).toBe(true);
});

it.each([
  [`{base_url: https://p.example/v1, api_key: "\${file:s}", api: chat, request: {drop: [a, b, c], set: {x: 1}}}`, true],
  ['{base_url: https://p.example/v1, request: {drop: [c, a]}, headers: {h: x}}', true],
  [`{base_url: https://q.example/v1, api_key: "\${P_KEY}", request: {drop: [a, c]}}`, false],
  ['{base_url: https://p.example/v1, api: responses, request: {drop: [a, c]}}', false],
  ['{base_url: https://p.example/v1, request: {drop: [a]}}', false],
  ['{base_url: https://p.example/v1}', false],
  ['', false],
])(
  'takes a provider of the file as it is only if it lacks no setting of the catalogue but the key: %s',
  (own, taken) => {
    const providers = { p: { ...ENTRIES.providers.p, request: { drop: ['a', 'c'] } } };
    const text = `providers:\n  p: ${own} # mine\n`;
    const edit = editConfiguration(text, { providers, models: ENTRIES.models }, { replace: false });
    expect(edit.ok).toBe(taken);
    if (taken)
      expect(edit).toMatchObject({
        text: expect.stringContaining(text),
        changes: ['left provider p as it is', 'added model a/m'],
      });
  },
);
