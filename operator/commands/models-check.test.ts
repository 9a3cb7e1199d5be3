import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { runCommandLine } from '../command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-models-check-'));
const file = join(folder, 'gateway.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

/** A model with everything that the catalogue has, and a smaller window. */
const LUNA = `  luna:
    context_window: 20000
    longest_prompt: 1050000
    max_output_tokens: 1000
    capabilities: [files]
    usd_per_million_tokens:
      input: 0.1
      cached_input: 0.01
      cache_write: 0.125
      cache_write_1h: 0.25
      output: 0.5
      above: [{input_tokens: 272000, input: 0.2, cached_input: 0.02, cache_write: 0.25, cache_write_1h: 0.5, output: 0.75}]
      service_tiers:
        flex: {input: 0.1, output: 0.5, cache_write_1h: 0.25, above: [{input_tokens: 272000, input: 0.2, output: 1, cache_write_1h: 1}]}
        fast: {input: 1, cache_write: 1, cache_write_1h: 2, output: 5}
    targets: [{provider: mine, model: gpt-6-luna}]
`;
const luna = async (from: RegExp, to: string) => {
  expect(LUNA).toMatch(from);
  return check(`providers: {mine: {base_url: "https://api.openai.com/v1"}}\nmodels:\n${LUNA.replace(from, to)}`);
};

async function check(config: string) {
  writeFileSync(file, config);
  const result = await runCommandLine(['models', 'check'], { GATEWAY_CONFIG: file });
  if (result.kind === 'usage') throw new Error(result.message);
  const { ok, differences } = result.json as { ok: boolean; differences: Record<string, unknown>[] };
  expect(ok).toBe(result.kind === 'done');
  return differences.map(({ field, configured, catalogue }) => [field, configured, catalogue]);
}
const place = 'usd_per_million_tokens';

it.each<[string, RegExp, string, (readonly unknown[])[]]>([
  ['nothing, and takes fast for priority', /luna/, 'moon', []],
  [
    'steps above the configured window',
    / {6}above: .*\n/,
    '',
    [
      [`${place}.above.272000.input`, 0.1, 0.2],
      [`${place}.above.272000.cached_input`, 0.01, 0.02],
      [`${place}.above.272000.cache_write`, 0.125, 0.25],
      [`${place}.above.272000.cache_write_1h`, 0.25, 0.5],
      [`${place}.above.272000.output`, 0.5, 0.75],
    ],
  ],
  ['steps of a tier', /(fast: \{input: )1/, '$10.3', [[`${place}.service_tiers.fast.above.272000.input`, 0.3, 0.4]]],
  ['a tier', / {8}flex: .*\n/, '', [[`${place}.service_tiers.flex`, null, 'input 0.05, output 0.25']]],
  [
    'a tier under either name',
    / {8}fast: .*\n/,
    '',
    [[`${place}.service_tiers.priority`, null, 'input 0.2, output 1']],
  ],
  [
    'no tier that the target is not asked for',
    / {6}service_tiers:[\s\S]*(?=\}\]\n$)/,
    `    targets: [{provider: mine, model: gpt-6-luna, request: {drop: [service_tier]}`,
    [],
  ],
  [
    'cache writes',
    / {6}cache_write: .*\n {6}cache_write_1h: .*\n/,
    '',
    [
      [`${place}.cache_write`, 0.1, 0.125],
      [`${place}.cache_write_1h`, 0.1, 0.25],
    ],
  ],
  [
    'a prompt that may be longer than a file is held for',
    / {4}longest_prompt: .*\n/,
    '',
    [['longest_prompt', 20_000, 1_050_000]],
  ],
])('finds in a table with everything: %s', async (_, from, to, expected) => {
  expect(await luna(from, to)).toEqual(expected);
});

it('finds costs without steps and tiers', async () => {
  const cost = 'cost_usd_per_million_tokens: {input: 0.1, cached_input: 0.01, cache_write: 0.125, output: 0.5}';
  const places = (await luna(/gpt-6-luna/, `gpt-6-luna, ${cost}`)).map(([field]) => field);
  expect(places).toEqual([
    'cost_usd_per_million_tokens.cache_write_1h',
    ...['input', 'cached_input', 'cache_write', 'cache_write_1h', 'output'].map(
      (kind) => `cost_usd_per_million_tokens.above.272000.${kind}`,
    ),
    'cost_usd_per_million_tokens.service_tiers.flex',
    'cost_usd_per_million_tokens.service_tiers.priority',
  ]);
});

it('requires no tier from a provider that never receives the field', async () => {
  const differences = await check(
    `providers: {openai: {base_url: "https://api.openai.com/v1", request: {set: {service_tier: default}}}}
models: {a: {context_window: 1000, max_output_tokens: 100, usd_per_million_tokens: {input: 2, output: 8}, targets: [{provider: openai, model: gpt-4.1}]}}
`,
  );
  expect(differences.filter(([field]) => field !== 'shutdown_date')).toEqual([]);
});

const google = (id: string, table: string) =>
  `providers: {google: {base_url: "https://generativelanguage.googleapis.com/v1beta/openai"}}
models: {a: {context_window: 1000, max_output_tokens: 100, usd_per_million_tokens: ${table}, targets: [{provider: google, model: ${id}}]}}
`;

describe('on 24 November 2026', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-24T12:00:00Z') });
  });
  afterEach(() => vi.useRealTimers());

  it('announces a price change within 30 days', async () => {
    const now = 'input: 2, cached_input: 0.1, output: 10';
    expect(await check(google('gemini-4-argon', `{${now}}`))).toEqual([
      [`${place}.from.2026-12-01`, null, 'input 4, output 20'],
    ]);
    const later = (input: number) => `{${now}, from: {2026-12-01: {input: ${input}, cached_input: 0.2, output: 20}}}`;
    expect(await check(google('gemini-4-argon', later(3)))).toEqual([[`${place}.from.2026-12-01.input`, 3, 4]]);
    expect(await check(google('gemini-4-argon', later(4)))).toEqual([]);
    // 1 January is 38 days away.
    expect(await check(google('gemini-3.8-flash', '{input: 0.75, cached_input: 0.075, output: 3.75}'))).toEqual([]);
  });
});

it('compares scheduled prices with the current ones once they apply', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-12-01T00:00:00Z') });
  const differences = await check(google('gemini-4-argon', '{input: 2, cached_input: 0.1, output: 10}'));
  vi.useRealTimers();
  expect(differences).toEqual([
    [`${place}.input`, 2, 4],
    [`${place}.cached_input`, 0.1, 0.2],
    [`${place}.output`, 10, 20],
  ]);
});

it('finds hours without prices or costs', async () => {
  const peak = '{input: 1.32, cached_input: 0.044, output: 3.96}';
  const differences = await check(
    `providers: {deepseek: {base_url: "https://api.deepseek.com/v1", request: {drop: [service_tier]}}}
models: {a: {context_window: 1000, max_output_tokens: 100, usd_per_million_tokens: ${peak}, targets: [{provider: deepseek, model: deepseek-v4-pro, cost_usd_per_million_tokens: ${peak}}]}}
`,
  );
  const hours = ['00:00-01:00', '04:00-06:00', '10:00-24:00', '00:00-24:00'];
  expect(differences).toEqual(
    [place, `cost_${place}`].flatMap((table) =>
      hours.map((utc) => [`${table}.hours.${utc}`, null, 'input 0.66, output 1.98']),
    ),
  );
});

it('lists disputed prices, which are no differences', async () => {
  writeFileSync(
    file,
    `providers: {mistral: {base_url: "https://api.mistral.ai/v1"}}
models: {a: {context_window: 1000, max_output_tokens: 100, usd_per_million_tokens: {input: 5, output: 5}, targets: [{provider: mistral, model: open-mistral-nemo}]}}
`,
  );
  const result = await runCommandLine(['models', 'check'], { GATEWAY_CONFIG: file });
  expect(result).toMatchObject({
    kind: 'done',
    json: {
      ok: true,
      disputed: [
        { model: 'a', field: 'input', catalogue: 0.15, other: 0.3 },
        { model: 'a', field: 'output', catalogue: 0.15, other: 0.3 },
      ],
    },
    text: expect.stringContaining(
      'a: the sources of the catalogue disagree about input: it has 0.15, the other source says 0.3.',
    ),
  });
});
