import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { runCommandLine } from '../command-line.ts';

type Json = Record<string, unknown>;

const folder = mkdtempSync(join(tmpdir(), 'gw-models-import-'));
const file = join(folder, 'gateway.yaml');
afterAll(() => rmSync(folder, { recursive: true }));

async function done(...args: string[]): Promise<{ json: Json; text: string }> {
  const result = await runCommandLine(args, { GATEWAY_CONFIG: file });
  if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
  return { json: result.json as Json, text: result.text };
}

it('writes prices of later days and hours, each raised by the markup', async () => {
  writeFileSync(file, 'demo: false\n');
  const ids = ['google/gemini-4-argon', 'deepseek/deepseek-v4-pro'];
  const { json } = await done('models', 'import', ...ids, '--markup', '10', '--write');
  const { models } = json as { models: Record<string, Json> };
  expect(models['gemini-4-argon']).toMatchObject({
    usd_per_million_tokens: { input: 2.2, from: { '2026-12-01': { input: 4.4, cached_input: 0.22, output: 22 } } },
    targets: [{ cost_usd_per_million_tokens: { input: 2, from: { '2026-12-01': { input: 4, output: 20 } } } }],
  });
  const weekend = { utc: '00:00-24:00', days: ['sat', 'sun'] };
  expect(models['deepseek-v4-pro']).toMatchObject({
    usd_per_million_tokens: { input: 1.452, hours: [{}, {}, {}, { ...weekend, input: 0.726, output: 2.178 }] },
    targets: [{ cost_usd_per_million_tokens: { hours: [{}, {}, {}, { ...weekend, input: 0.66 }] } }],
  });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.parse('2026-11-24T12:00:00Z') });
  const listed = await done('models', 'list');
  const catalogue = await done('models', 'catalogue', 'gemini-4-argon');
  vi.setSystemTime(Date.parse('2026-12-01T00:00:00Z'));
  const after = await done('models', 'list');
  vi.useRealTimers();
  expect(listed.json).toMatchObject([
    { id: 'gemini-4-argon', usd_per_million_tokens: { from: { '2026-12-01': { input: 4.4, cache_write: 4.4 } } } },
    { id: 'deepseek-v4-pro', usd_per_million_tokens: { hours: [{}, {}, {}, { ...weekend, except: [] }] } },
  ]);
  expect(listed.text).toMatch(/^gemini-4-argon +2\.2 +11 +/m);
  expect(listed.text).toMatch(/^gemini-4-argon, from 2026-12-01: input 4\.4, output 22$/m);
  expect(listed.text).toMatch(/^deepseek-v4-pro, 00:00-24:00 UTC \(sat, sun\): input 0\.726, output 2\.178$/m);
  expect(catalogue.text).toMatch(/^google\/gemini-4-argon, from 2026-12-01: input 4, output 20$/m);
  expect(after.text).toMatch(/^gemini-4-argon +4\.4 +22 +/m);
  expect(after.text).not.toContain('from 2026-12-01');
});

it.each([
  ['config/gateway.yaml', ['openai/gpt-6-sol', 'anthropic/claude-opus-4-6', 'google/gemini-2.5-pro']],
  ['config/production.yaml', ['openai/gpt-6-sol', 'mistral/mistral-large-4']],
  ['deploy/compose/config/gateway.yaml', ['openai/gpt-6-sol', 'xai/grok-4.7']],
  ['deploy/kubernetes/base/config/gateway.yaml', ['openai/gpt-6-sol', 'xai/grok-4.7']],
])('adds models to %s, whose providers stay as they are', async (shipped, ids) => {
  writeFileSync(file, readFileSync(shipped));
  const before = parse(readFileSync(file, 'utf8'));
  await done('models', 'import', ...ids, '--write');
  const after = parse(readFileSync(file, 'utf8'));
  expect(after.providers).toMatchObject(before.providers);
  expect(Object.keys(after.models)).toHaveLength(Object.keys(before.models).length + ids.length);
});

it('names the disputed prices, and writes nothing about them', async () => {
  const { json, text } = await done('models', 'import', 'mistral/open-mistral-nemo');
  const [first, second] = text.split('\n');
  expect(first).toBe(
    '# mistral/open-mistral-nemo: the sources of the catalogue disagree about input: it has 0.15, the other source says 0.3.',
  );
  expect(second).toMatch(/^# .* about output: /);
  expect(JSON.stringify(json)).not.toContain('disputed');
});
