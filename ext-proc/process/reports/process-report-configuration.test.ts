import { expect, it } from 'vitest';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { createConfigurationReport } from './process-report-configuration.ts';

const PATH = '/etc/gateway.yaml';
const PROBLEM = { file: 'gateway.yaml', line: 3, column: 7, message: 'models: must be a mapping' };

function reportOf(config: GatewayConfig) {
  const now = { ms: 1_000 };
  const source = { files: [], secretFiles: [], caBundles: [], fingerprint: 'unused' };
  const clock = { nowMs: () => now.ms, monotonicMs: () => now.ms };
  const report = createConfigurationReport(PATH, clock, {
    ok: true,
    declared: { models: {}, baseUrls: new Map(), untiered: new Set(), priceLists: [] },
    storesChanged: false,
    variables: { ofDashboard: [], ofDashboardAlone: [] },
    config,
    warnings: [PROBLEM],
    source,
  });
  return { report, now };
}

it('shows models, prices and providers, and no secret', () => {
  const { report } = reportOf(configWith(modelWith()));
  const shown = report.current();
  expect(shown).toMatchObject({ path: PATH, loadedAtMs: 1_000, refused: null, restartNeeded: [], warnings: [PROBLEM] });
  expect(shown.providers).toEqual([
    { name: 'local', host: '127.0.0.1:1', scheme: 'http', hasKey: true, onDisconnect: null },
  ]);
  expect(shown.models).toEqual([
    {
      id: 'model-1',
      capabilities: ['tools', 'vision', 'json_mode'],
      reasoningEfforts: ['low', 'high'],
      contextWindow: 100_000,
      maxOutputTokens: 8000,
      defaultOutputTokens: 4000,
      takesTemperature: true,
      prices: {
        inputPicoUsd: '1',
        cachedInputPicoUsd: '1',
        cacheWritePicoUsd: '0',
        cacheWrite1hPicoUsd: '0',
        outputPicoUsd: '1',
      },
      above: [],
      serviceTiers: {},
      disabled: false,
      problem: null,
      targets: [{ provider: 'local', model: 'upstream-1' }],
    },
  ]);
  expect(JSON.stringify(shown)).not.toContain('provider-secret');
});

it('shows the weights by which targets are drawn', () => {
  const [target] = modelWith().targets;
  if (target === undefined) throw new Error('the model has no target');
  const drawn = { ...target, draw: { step: 0, weight: 3 } };
  const { report } = reportOf(configWith(modelWith({ targets: [drawn, target] })));
  const shown = { provider: 'local', model: 'upstream-1' };
  expect(report.current().models[0]?.targets).toEqual([{ ...shown, weight: 3 }, shown]);
});

it('shows price lists, which belong to the mapping', () => {
  const table = flatTable({ ...NO_PRICES, outputPicoUsd: 3n });
  const window = { startMinute: 0, endMinute: 60, weekdays: new Set([1]), exceptDays: new Set<number>(), table };
  const schedule = { periods: [{ fromMs: Number.NEGATIVE_INFINITY, table, windows: [window] }] } as const;
  const models = new Map([['model-1', { priceTable: table, schedule }]]);
  const priceLists = new Map([['partner', { others: { percentParts: -100_000 }, models }]]);
  const config = { ...configWith(modelWith()), priceLists };
  const { report } = reportOf(config);
  const before = report.current();
  const prices = { ...before.models[0]?.prices, inputPicoUsd: '0', cachedInputPicoUsd: '0', outputPicoUsd: '3' };
  expect(before.priceLists).toEqual({
    partner: {
      others: { percentParts: -100_000 },
      models: {
        'model-1': {
          prices,
          above: [],
          serviceTiers: {},
          schedule: { periods: [expect.objectContaining({ fromMs: null })] },
        },
      },
    },
  });
  report.inForce({ ...config, priceLists: new Map() }, { warnings: [], restartNeeded: [] });
  expect(report.current().fingerprint).not.toBe(before.fingerprint);
});

it('reports why the current file is not in force, until one is', () => {
  const { report, now } = reportOf(configWith(modelWith()));
  const before = report.current();
  expect(report.current()).toBe(before);
  now.ms = 2_000;
  report.refused([PROBLEM]);
  expect(report.current()).toEqual({ ...before, refused: { atMs: 2_000, problems: [PROBLEM] } });
  now.ms = 3_000;
  report.inForce(configWith(modelWith({ disabled: true })), { warnings: [], restartNeeded: ['listen'] });
  expect(report.current()).toMatchObject({ loadedAtMs: 3_000, refused: null, warnings: [], restartNeeded: ['listen'] });
  expect(report.current().models[0]?.disabled).toBe(true);
});

it('gives one fingerprint to one mapping, whenever and from wherever it was loaded', () => {
  const fingerprint = (config: GatewayConfig, atMs: number) => {
    const { report, now } = reportOf(configWith());
    now.ms = atMs;
    report.inForce(config, { warnings: [], restartNeeded: ['workers'] });
    return report.current().fingerprint;
  };
  const one = fingerprint(configWith(modelWith()), 1);
  expect(one).toMatch(/^[0-9a-f]{16}$/);
  expect(fingerprint({ ...configWith(modelWith()), retriesPerTarget: 7 }, 2)).toBe(one);
  expect(fingerprint(configWith(modelWith({ maxOutputTokens: 7999 })), 1)).not.toBe(one);
});
