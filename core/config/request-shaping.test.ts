import { expect, test } from 'vitest';
import { configFolder, oneModel } from './load.fixture.ts';

const folder = configFolder();

test('a target has the shaping of its provider, then its own, with numbers and text as written', async () => {
  const request = `{drop: [seed], rename: {user: end_user}, set: {a: 1.0, b: [12345678901234567890, 0x10, "\${TEXT}"], c: null}}`;
  const { config } = await folder.loaded(
    oneModel(
      '[{provider: p, model: x, request: {set_with_tools: {reasoning_effort: none}, roles: {developer: system}}}, {provider: q, model: x}]',
      `  p: {base_url: "http://127.0.0.1:9/", stream_options: false, request: ${request}}\n  q: {base_url: "http://127.0.0.1:9/", request: {drop: []}}`,
    ),
    { TEXT: 'of a variable' },
  );
  const [first, second] = config.models.get('m')?.targets ?? [];
  const none = new Map();
  expect(first?.shaping).toEqual([
    {
      drop: new Set(['seed']),
      rename: new Map([['user', 'end_user']]),
      set: new Map([
        ['a', '1.0'],
        ['b', '[12345678901234567890,16,"of a variable"]'],
        ['c', 'null'],
      ]),
      setWithTools: none,
      roles: none,
    },
    {
      drop: new Set(),
      rename: none,
      set: none,
      setWithTools: new Map([['reasoning_effort', '"none"']]),
      roles: new Map([['developer', 'system']]),
    },
  ]);
  expect([first?.provider.streamOptions, second?.shaping, second?.provider.streamOptions]).toEqual([
    false,
    undefined,
    undefined,
  ]);
});

test('a value is bounded', async () => {
  const long = `"${'x'.repeat(70_000)}"`;
  const messages = await folder.messages(
    oneModel('[{provider: p, model: x}]', `  p: {base_url: "http://127.0.0.1:9/", request: {set: {a: ${long}}}}`),
  );
  expect(messages).toEqual([
    'gateway.yaml:2:59: providers.p.request.set.a: must be a JSON value of at most 65536 bytes',
  ]);
});
