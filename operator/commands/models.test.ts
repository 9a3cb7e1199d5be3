import { chmodSync, chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { loadConfig } from '#core/config/load.ts';
import { NO_USAGE, priced } from '#core/pricing.ts';
import { runCommandLine } from '../command-line.ts';

type Json = Record<string, unknown>;

let folder = '';
let file = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gw-models-'));
  file = join(folder, 'gateway.yaml');
  writeFileSync(file, '# mine\ndemo: false\n');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]) => runCommandLine(args, { GATEWAY_CONFIG: file });
async function done(...args: string[]): Promise<{ json: Json; text: string }> {
  const result = await run(...args);
  if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
  return { json: result.json as Json, text: result.text };
}
async function refusal(kind: 'refused' | 'usage', ...args: string[]): Promise<string> {
  const result = await run(...args);
  if (result.kind !== kind) throw new Error(`${args.join(' ')}: ${result.kind} instead of ${kind}`);
  return result.message;
}
const config = () => readFileSync(file, 'utf8');

const TEN = [
  ...['openai/gpt-6-luna', 'openai/gpt-6-sol', 'anthropic/claude-haiku-5-5', 'anthropic/claude-sonnet-5-5'],
  ...['google/gemini-3.8-flash', 'google/gemini-2.5-pro', 'mistral/mistral-large-4', 'mistral/codestral-2508'],
  ...['deepseek/deepseek-v4-pro', 'xai/grok-4.7'],
];

describe('models import', () => {
  it('writes ten models of six providers that the configuration accepts, with the prices of the catalogue', async () => {
    const { json, text } = await done('models', 'import', ...TEN, '--write');
    expect(json.changes).toHaveLength(16);
    expect(text).toContain('added provider openai');
    expect(config().startsWith('# mine\ndemo: false\n\nproviders:\n')).toBe(true);
    const names = ['OPENAI', 'ANTHROPIC', 'GEMINI', 'MISTRAL', 'DEEPSEEK', 'XAI'];
    const loaded = await loadConfig(file, Object.fromEntries(names.map((name) => [`${name}_API_KEY`, 'key'])));
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
    expect(loaded.warnings).toEqual([]);
    expect([...loaded.config.models.keys()].sort()).toEqual(TEN.map((id) => id.replace(/^\w+\//, '')).sort());
    const charge = (id: string, promptTokens: number, cacheWriteTokens: number, askedTier?: string) => {
      const model = loaded.config.models.get(id);
      if (model === undefined) throw new Error(`${id} is missing`);
      const usage = { ...NO_USAGE, promptTokens, cacheWriteTokens, completionTokens: 10 };
      return priced({ priceTable: model.priceTable, askedTier, sentTier: askedTier }, { usage }).costNanoUsd;
    };
    // 1,000 prompt tokens, 400 of them written to the cache, and 10 tokens of output.
    expect(charge('gpt-6-sol', 1000, 400)).toBe(600n * 2000n + 400n * 2500n + 10n * 10_000n);
    expect(charge('gpt-6-sol', 1000, 400, 'flex')).toBe(600n * 1000n + 400n * 1250n + 10n * 5000n);
    expect(charge('gpt-6-sol', 272_001, 0)).toBe(272_001n * 4000n + 10n * 15_000n);
    expect(charge('claude-haiku-5-5', 100_001, 1)).toBe(100_000n * 500n + 625n + 10n * 2500n);
    expect(charge('grok-4.7', 200_000, 0)).toBe(200_000n * 2000n + 10n * 6000n);
    expect(charge('deepseek-v4-pro', 1000, 0)).toBe(1000n * 1320n + 10n * 3960n);
  });

  it('prints the entries under the requested names, raised by the markup', async () => {
    const args = ['openai/gpt-4.1', '--as', 'fast', '--provider', 'main', '--markup', '15%'];
    const { json, text } = await done('models', 'import', ...args);
    expect(json).toEqual({
      providers: { main: { base_url: 'https://api.openai.com/v1', api_key: `\${OPENAI_API_KEY}`, api: 'responses' } },
      models: {
        fast: {
          capabilities: ['tools', 'vision', 'json_mode', 'files'],
          reasoning_efforts: [],
          context_window: 1_047_576,
          max_output_tokens: 32_768,
          usd_per_million_tokens: {
            ...{ input: 2.3, cached_input: 0.575, output: 9.2 },
            service_tiers: { priority: { input: 4.025, cached_input: 1.00625, output: 16.1 } },
          },
          tokenizer: 'o200k_base',
          targets: [
            {
              provider: 'main',
              model: 'gpt-4.1',
              cost_usd_per_million_tokens: {
                ...{ input: 2, cached_input: 0.5, output: 8 },
                service_tiers: { priority: { input: 3.5, cached_input: 0.875, output: 14 } },
              },
            },
          ],
        },
      },
    });
    expect(config()).toBe('# mine\ndemo: false\n');
    writeFileSync(file, text);
    expect(await done('check-config', file)).toMatchObject({ json: { ok: true } });
  });

  it('refuses existing entries without --replace, and keeps owner and mode of the file', async () => {
    chmodSync(file, 0o640);
    // Only root can give files to others.
    if (process.getuid?.() === 0) chownSync(file, 12_345, 12_346);
    const { uid, gid } = statSync(file);
    await done('models', 'import', 'openai/gpt-4.1', '--write');
    const before = config();
    expect(await refusal('refused', 'models', 'import', 'openai/gpt-4.1', '--markup', '5', '--write')).toBe(
      'There is a model gpt-4.1 already. --replace replaces it.',
    );
    expect(config()).toBe(before);
    const { json } = await done('models', 'import', 'openai/gpt-4.1', '--markup', '5', '--write', '--replace');
    expect(json.changes).toEqual(['left provider openai as it is', 'replaced model gpt-4.1']);
    expect(statSync(file)).toMatchObject({ mode: 0o100640, uid, gid });
    expect(readdirSync(folder)).toEqual(['gateway.yaml']);
  });

  it('leaves the file unchanged if the gateway would refuse the result', async () => {
    writeFileSync(file, 'workers: 0\n');
    const message = await refusal('refused', 'models', 'import', 'openai/gpt-4.1', '--write');
    expect(message).toMatch(/gateway\.yaml:1:10: workers: must be/);
    expect(config()).toBe('workers: 0\n');
    expect(readdirSync(folder)).toEqual(['gateway.yaml']);
  });

  it('accepts models from a file in the output format of models catalogue, checked like the configuration', async () => {
    const { json } = await done('models', 'catalogue', 'grok-4.7');
    const [grok] = json.models as Json[];
    const from = join(folder, 'own.json');
    const own = { ...grok, id: 'here/own', context_window: 9, max_output_tokens: 9 };
    writeFileSync(from, JSON.stringify({ ...json, models: [grok, own] }));
    expect((await done('models', 'import', 'xai/grok-4.7', '--from', from)).json).toEqual(
      (await done('models', 'import', 'xai/grok-4.7')).json,
    );
    const { json: strange, text } = await done('models', 'import', 'here/own', '--from', from);
    expect(strange).toMatchObject({ providers: {}, models: { own: { targets: [{ provider: 'here' }] } } });
    expect(text).toMatch(/^# The catalogue has no provider here: declare it\.\nmodels:\n/);
    const { json: mine } = await done('models', 'import', 'here/own', '--from', from, '--provider', 'vllm');
    expect(mine).toMatchObject({ providers: {}, models: { own: { targets: [{ provider: 'vllm', model: 'own' }] } } });
    writeFileSync(from, JSON.stringify({ ...json, models: [{ ...own, context_window: -1, price: 1 }] }));
    const wrong = await refusal('refused', 'models', 'import', 'here/own', '--from', from, '--provider', 'vllm');
    expect(wrong).toContain('models.own.context_window: ');
    expect(wrong).toContain('models.own.price: is not a known field');
    const target = { provider: 'evil', weight: 3 };
    const secret = { ...target, model: 'own', note: `\${API_KEY}` };
    writeFileSync(from, JSON.stringify({ ...json, models: [{ ...own, target: secret }] }));
    const referring = await refusal('refused', 'models', 'import', 'here/own', '--as', 'x', '--from', from);
    expect(referring).toContain('models.x: refers to a variable or file, which no catalogue does');
    writeFileSync(from, JSON.stringify({ ...json, models: [{ ...own, target }] }));
    const { json: targeted } = await done('models', 'import', 'here/own', '--from', from);
    expect(targeted).toMatchObject({ models: { own: { targets: [{ provider: 'here', model: 'own', weight: 3 }] } } });
    for (const text of ['', '[]', '{"as_of":"2026-11-23","models":[{"id":"no-slash"}]}']) {
      writeFileSync(from, text);
      expect(await refusal('refused', 'models', 'import', 'a/b', '--from', from)).toContain('is not in the form');
    }
  });

  it.each<[what: string, changed: Json]>([
    [
      'a day that is followed by YAML',
      { shutdown_date: `2027-01-01\nproviders:\n  openai: {base_url: https://evil.example}` },
    ],
    ['a day that is none', { shutdown_date: 20_270_101 }],
    ['a day with an escape sequence', { shutdown_date: '2027-01-01\u001b[2J' }],
    ['an id with a line end', { id: 'here/own\nmodels: {}' }],
    ['an id that ends with one', { id: 'here/own\n' }],
    ['an id that refers to a variable', { id: `here/\${API_KEY}` }],
    ['a provider that no configuration may have', { id: 'he re/own' }],
    ['a dispute that is a text', { disputed: { input: '1\u001b[2J' } }],
    ['a dispute with a length that is a text', { disputed: { above: ['1\nmodels: {}'] } }],
    ['a dispute that is null', { disputed: null }],
    ['an id that is too long', { id: `here/${'a'.repeat(129)}` }],
  ])('refuses a file with %s', async (_, changed) => {
    const { json } = await done('models', 'catalogue', 'grok-4.7');
    const [grok] = json.models as Json[];
    const from = join(folder, 'own.json');
    const models = [grok, { ...grok, id: 'here/own', ...changed }];
    writeFileSync(from, JSON.stringify({ ...json, models }));
    for (const id of ['here/own', String(models[1]?.id), 'xai/grok-4.7']) {
      expect(await refusal('refused', 'models', 'import', id, '--from', from)).toContain('is not in the form');
    }
  });

  it('prints only entries and lines that begin with #', async () => {
    const { json } = await done('models', 'catalogue', 'grok-4.7');
    const [grok] = json.models as Json[];
    const from = join(folder, 'own.json');
    const hostile = 'x\nproviders:\n  evil: {base_url: https://evil.example}\n# ';
    const target = { request: { set: { reasoning_mode: hostile } } };
    writeFileSync(
      from,
      JSON.stringify({ ...json, models: [{ ...grok, id: 'here/own', shutdown_date: '2027-01-01', target }] }),
    );
    const { json: entries, text } = await done('models', 'import', 'here/own', '--from', from);
    const yaml = text
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .join('\n');
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toHaveLength(2);
    expect(parse(yaml)).toEqual({ models: entries.models });
    const unknown = { ...grok, id: 'here/own', [`${hostile}\u001b[2J`]: 1 };
    writeFileSync(from, JSON.stringify({ ...json, models: [unknown] }));
    expect(await refusal('refused', 'models', 'import', 'here/own', '--from', from)).toMatch(/^models\.own\.x[ -~]+$/);
  });

  it('prints the shutdown date of a model', async () => {
    const { text } = await done('models', 'import', 'openai/gpt-3.5-turbo');
    expect(text).toMatch(/^# openai\/gpt-3\.5-turbo is shut down on 2026-10-23\.\nproviders:\n/);
    const { text: written } = await done('models', 'import', 'openai/gpt-3.5-turbo', '--write');
    expect(written).toMatch(/added model gpt-3\.5-turbo\.\nopenai\/gpt-3\.5-turbo is shut down on 2026-10-23\.$/);
  });

  it('suggests the nearest ids for an unknown one', async () => {
    const message = await refusal('refused', 'models', 'import', 'gpt-6-lna', 'openai/gpt-6-sol');
    expect(message).toMatch(/^The catalogue has no model "gpt-6-lna"\. Did you mean openai\/gpt-6-luna, /);
  });

  it.each([
    ['usage', /ID… is missing/, []],
    ['usage', /--as names one model/, ['openai/gpt-4.1', 'openai/gpt-4o', '--as', 'x']],
    ['usage', /--replace needs --write/, ['openai/gpt-4.1', '--replace']],
    ['usage', /--markup takes a percentage/, ['openai/gpt-4.1', '--markup', '-5']],
    ['refused', /--provider names one provider/, ['openai/gpt-4.1', 'xai/grok-4.7', '--provider', 'x']],
    ['refused', /models\.a b: /, ['openai/gpt-4.1', '--as', 'a b']],
    ['refused', /providers\.a b: /, ['openai/gpt-4.1', '--provider', 'a b']],
  ] as const)('is %s: %s', async (kind, message, args) => {
    expect(await refusal(kind, 'models', 'import', ...args)).toMatch(message);
  });
});

describe('models list and check', () => {
  const PROVIDERS = `providers:
  mine: {base_url: https://api.openai.com/v1/, api_key: "\${OPENAI_API_KEY}"}
  xai: {base_url: http://127.0.0.1:9/v1}
  other: {base_url: http://127.0.0.1:9/v1}
`;
  const model = (members: string, target: string) =>
    `{context_window: 1000, max_output_tokens: 100, ${members}, targets: [${target}]}`;

  it('lists the loaded mapping, with the reasons why models are not served', async () => {
    const own = model('usd_per_million_tokens: {input: 1, output: 2.5}', '{provider: mine, model: m, weight: 2}');
    writeFileSync(file, `${PROVIDERS}models:\n  a: ${own}\n  b: ${own.replace('mine', 'xai')}\n`);
    const { json, text } = await done('models', 'list');
    expect(json).toMatchObject([
      {
        ...{ id: 'a', targets: [{ provider: 'mine', model: 'm', weight: 2 }], disabled: false },
        usd_per_million_tokens: { input: 1, cached_input: 1, cache_write: 1, cache_write_1h: 1, output: 2.5 },
        problem: expect.stringContaining('OPENAI_API_KEY is not set'),
      },
      { id: 'b', targets: [{ provider: 'xai', model: 'm', weight: 2 }] },
    ]);
    expect(text).toMatch(/^b +1 +2\.5 +usable +xai: m \(weight 2\)$/m);
    writeFileSync(file, 'workers: 0\n');
    expect(await refusal('refused', 'models', 'list')).toContain('workers: must be');
  });

  it('finds lower prices, other costs, larger limits and shutdowns, by base URL and by name', async () => {
    const cost = (input: number) => `cost_usd_per_million_tokens: {input: ${input}, cached_input: 0.5, output: 8}`;
    const priced = 'usd_per_million_tokens: {input: 2, cached_input: 0.4, output: 8}';
    writeFileSync(
      file,
      `${PROVIDERS}models:
  low: ${model(priced, `{provider: mine, model: gpt-4.1, ${cost(1)}}`)}
  off: ${model(`${priced}, disabled: true`, '{provider: mine, model: gpt-4.1}')}
  free: ${model('usd_per_million_tokens: {input: 0, output: 0}', '{provider: other, model: gpt-4.1}')}
  wide: {context_window: 500001, max_output_tokens: 500001, usd_per_million_tokens: {input: 90, output: 90}, targets: [{provider: xai, model: grok-4.7}, {provider: xai, model: grok-4.7}]}
  gone: ${model('usd_per_million_tokens: {input: 90, output: 90}', '{provider: mine, model: gpt-3.5-turbo}')}
`,
    );
    const result = await run('models', 'check');
    expect(result).toMatchObject({ kind: 'refused', json: { ok: false, as_of: expect.stringMatching(/^\d{4}-/) } });
    const { differences } = (result.kind === 'refused' ? result.json : {}) as { differences: Json[] };
    const missing = { configured: null, catalogue: 'input 3.5, output 14' };
    expect(differences).toEqual([
      { model: 'low', field: 'usd_per_million_tokens.cached_input', configured: 0.4, catalogue: 0.5 },
      { model: 'low', field: 'usd_per_million_tokens.service_tiers.priority', ...missing },
      { model: 'low', field: 'cost_usd_per_million_tokens.input', configured: 1, catalogue: 2 },
      { model: 'low', field: 'cost_usd_per_million_tokens.service_tiers.priority', ...missing },
      { model: 'low', field: 'shutdown_date', configured: null, catalogue: '2027-01-14' },
      { model: 'wide', field: 'context_window', configured: 500_001, catalogue: 500_000 },
      { model: 'wide', field: 'max_output_tokens', configured: 500_001, catalogue: 500_000 },
      { model: 'gone', field: 'shutdown_date', configured: null, catalogue: expect.stringMatching(/^2/) },
    ]);
  });

  it.each([[[]], [['--markup', '7.3']]])('finds no difference in entries imported with %j', async (flags) => {
    await done('models', 'import', ...TEN, ...flags, '--write');
    const result = await run('models', 'check');
    if (result.kind === 'usage') throw new Error(result.message);
    const { differences } = result.json as { differences: Json[] };
    // A later catalogue may know when one of them ends.
    expect(differences.filter(({ field }) => field !== 'shutdown_date')).toEqual([]);
  });

  it('says how old the catalogue is, once that is long', async () => {
    vi.setSystemTime('2028-01-02');
    const { text } = await done('models', 'check').finally(() => vi.useRealTimers());
    expect(text).toMatch(/the model catalogue is \d+ days old/);
  });
});
