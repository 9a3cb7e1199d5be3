import { describe, expect, it } from 'vitest';
import type { ProcessReport, ReportedProcess } from '#database/process-reports/report.ts';
import { configurationWith, holdsOf, reportedModel, reportWith } from '#test/fixtures/process-report.ts';
import { mappingView, processView } from './operations-view.ts';
import { modelView } from './own-organization-routes.ts';
import { NO_LIST } from './price-table-view.ts';

const MODEL = reportedModel({
  capabilities: ['tools'],
  reasoningEfforts: ['low'],
  targets: [{ provider: 'openai', model: 'small-1' }],
});

function processWith(report: Partial<ProcessReport>, ageMs = 1_000): ReportedProcess {
  return {
    id: '00000000-0000-4000-8000-000000000000',
    host: 'one',
    worker: 0,
    pid: 7,
    startedAtMs: 1_000,
    reportedAtMs: 5_000,
    ageMs,
    report: reportWith(report),
    configurationLoadedAtMs: 1_000,
  };
}

const met = (failures: number, atMs: number | undefined, ejected: boolean | null) => ({
  openai: {
    attempts: 10,
    failures,
    lastFailure: atMs === undefined ? null : { result: 'refused', atMs },
    ejected,
    restingTargets: 0,
  },
});

describe('the mapping', () => {
  const provider = {
    name: 'openai',
    host: 'api.example.com',
    scheme: 'https',
    hasKey: true,
    onDisconnect: null,
  } as const;
  const configuration = configurationWith({ models: [MODEL], providers: [provider] });

  it('is empty until a process has reported', () => {
    expect(mappingView(undefined, [], 0)).toMatchObject({ models: [], providers: [], processesBehind: 0 });
  });

  it('adds up what reporting processes have seen of a provider', () => {
    const { providers } = mappingView(
      configuration,
      [
        processWith({ providers: { openai: { ...met(2, 400, null).openai, restingTargets: 3 } } }),
        processWith({ providers: met(1, 300, true) }),
        // A process that has ended does not count.
        processWith({ providers: met(9, 900, true) }, 11_000),
      ],
      0,
    );
    expect(providers).toEqual([
      {
        name: 'openai',
        host: 'api.example.com',
        hasKey: true,
        ejected: true,
        restingTargets: 3,
        attempts: 20,
        failures: 3,
        lastFailure: { result: 'refused', atMs: 400 },
      },
    ]);
    const quiet = mappingView(configuration, [processWith({ providers: met(0, undefined, false) })], 0).providers;
    expect(quiet).toMatchObject([{ ejected: false, failures: 0 }]);
    expect(quiet[0]).not.toHaveProperty('lastFailure');
  });

  it('counts the processes with another mapping', () => {
    const processes = [
      processWith({}),
      processWith({ configurationFingerprint: 'old' }),
      processWith({ configurationFingerprint: 'old' }, 60_000),
    ];
    expect(mappingView(configuration, processes, 0).processesBehind).toBe(1);
  });

  it('explains why the file on disk is not in force, and what cannot work', () => {
    const problem = { file: 'gateway.yaml', line: 3, column: 5, message: 'no' };
    const view = mappingView(
      configurationWith({ refused: { atMs: 1, problems: [problem] }, warnings: [problem], restartNeeded: ['workers'] }),
      [],
      0,
    );
    expect(view).toMatchObject({
      problems: ['gateway.yaml:3:5: no'],
      warnings: ['gateway.yaml:3:5: no'],
      restartNeeded: ['workers'],
    });
  });

  it('tells customers that a model cannot work, but not why', () => {
    const broken = { ...MODEL, problem: 'the provider openai has no key', targets: [] };
    expect(mappingView(configurationWith({ models: [broken] }), [], 0).models[0]?.problem).toBe(broken.problem);
    expect(modelView(broken, NO_LIST, 0)).toEqual({
      id: 'small',
      capabilities: ['tools'],
      reasoningEfforts: ['low'],
      contextWindow: 1_000,
      maxOutputTokens: 100,
      defaultOutputTokens: 50,
      takesTemperature: true,
      priceTable: { prices: MODEL.prices, above: [], serviceTiers: {} },
      priceChanges: [],
      priceWindows: [],
      state: 'misconfigured',
    });
    expect(modelView(MODEL, NO_LIST, 0).state).toBe('available');
    expect(modelView({ ...MODEL, disabled: true }, NO_LIST, 0).state).toBe('disabled');
  });

  it('shows the current table, its windows and the scheduled changes', () => {
    const table = (outputPicoUsd: string) => ({
      prices: { ...MODEL.prices, outputPicoUsd },
      above: [],
      serviceTiers: {},
    });
    const window = { startMinute: 60, endMinute: 240, weekdays: [1], exceptDays: [20_727], table: table('3') };
    const [decemberMs, aprilMs] = [Date.parse('2026-12-01T00:00:00Z'), Date.parse('2027-04-01T00:00:00Z')];
    const schedule = {
      periods: [
        { fromMs: null, table: table('1'), windows: [] },
        { fromMs: Date.parse('2026-11-01T00:00:00Z'), table: table('2'), windows: [window] },
        { fromMs: decemberMs, table: table('4'), windows: [] },
        { fromMs: aprilMs, table: table('5'), windows: [] },
      ],
    };
    const viewAt = (instant: string) => modelView({ ...MODEL, schedule }, NO_LIST, Date.parse(instant));
    const hours = { utc: '01:00-04:00', days: ['mon'], except: ['2026-10-01'], priceTable: table('3') };
    // A Tuesday, then a Monday.
    expect(viewAt('2026-11-24T02:00:00Z')).toMatchObject({
      priceTable: table('2'),
      priceChanges: [{ fromMs: decemberMs, priceTable: table('4'), priceWindows: [] }],
      priceWindows: [hours],
    });
    expect(viewAt('2026-11-30T02:00:00Z').priceTable).toEqual(table('3'));
    expect(viewAt('2026-12-01T00:00:00Z')).toMatchObject({
      priceTable: table('4'),
      priceChanges: [],
      priceWindows: [],
    });
  });

  it('shows customers every price entry', () => {
    const above = [{ inputTokens: 1_000, prices: MODEL.prices }];
    const serviceTiers = { flex: { prices: MODEL.prices, above } };
    const { prices } = MODEL;
    expect(modelView({ ...MODEL, above, serviceTiers }, NO_LIST, 0).priceTable).toEqual({
      prices,
      above,
      serviceTiers,
    });
  });
});

describe('a process', () => {
  it.each([
    ['ready', null, 10_000],
    ['not_ready', 'PostgreSQL is away', 10_000],
    ['draining', 'draining: Envoy is asked to end', 10_000],
    ['gone', null, 10_001],
    ['gone', 'PostgreSQL is away', 10_001],
  ] as const)('is %s if it reports %j and its report is %i ms old', (state, notReady, ageMs) => {
    expect(processView(processWith({ notReady }, ageMs)).state).toBe(state);
  });

  it('keeps its holds on single organizations and its providers to itself', () => {
    const report = { holds: holdsOf({ 'org-1': ['9', 2] }), providers: met(1, 300, true) };
    const { figures } = processView(processWith(report));
    expect(figures).toMatchObject({ holds: { totalNanoUsd: '9', count: 2 }, envoy: { version: '1.39.3' } });
    expect(JSON.stringify(figures)).not.toMatch(/org-1|openai/);
  });
});
