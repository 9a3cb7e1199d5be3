import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { ERROR_CODES, type ErrorCode, type ErrorType } from '#core/errors/error-codes.ts';
import { accessLine } from '#ext-proc/requests/request-outcome.ts';
import { hostMetrics } from '#ext-proc/telemetry/host-metrics.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import type { Exchange } from '#ext-proc/transport/exchange.ts';
import { configWith } from './fixtures/gateway-config.ts';
import {
  ALERTS,
  DASHBOARD,
  EXPRESSIONS,
  MANUAL,
  metricsIn,
  RECORDINGS,
  RULE_TESTS,
} from './fixtures/observability-files.ts';
import { configurationWith } from './fixtures/process-report.ts';

describe('the manual', () => {
  it('lists every metric of the gateway with its labels', () => {
    const metrics = createMetrics();
    metrics.watchChargeLog({
      ...{ waiting: () => 0, oldestMs: () => 0, isFailing: () => false },
      ...{ freeBytes: async () => 0, damagedFiles: async () => 0 },
    });
    metrics.watchHolds(() => []);
    metrics.watchDatabase(() => []);
    metrics.watchRequestLog(
      () => 0,
      () => 0,
    );
    metrics.watchConfiguration(() => configurationWith());
    metrics.watchMemory(() => []);
    metrics.watchRestingTargets(() => new Map());
    metrics.watchReasoning(() => 0);
    metrics.watchShards(() => 0);
    metrics.watchSpans(() => 0);
    const host = hostMetrics({
      ...{ workers: 1, notReady: async () => undefined, certificateExpiresAtMs: async () => undefined },
    });
    const names = [metrics.registry, host]
      .flatMap((registry) => registry.getMetricsAsArray())
      .filter(({ name }) => name.startsWith('gateway_'))
      .map((entry) => entry.name + labelsOf(entry));
    expect(names.length).toBeGreaterThan(40);
    const table = MANUAL.slice(MANUAL.indexOf('| About | Metrics |')).split('\n\n')[0] ?? '';
    const listed = [...table.matchAll(/`(gateway_[^`]+)`/g)].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(names.toSorted());
  });
});

/** The label names are missing in prom-client's types. */
function labelsOf(entry: object): string {
  const names = 'labelNames' in entry && Array.isArray(entry.labelNames) ? entry.labelNames : [];
  return names.length > 0 ? `{${names.join(',')}}` : '';
}

describe('alerts', () => {
  it('have a severity, a description and a recipe, and a test that makes each of them fire', () => {
    for (const { labels, annotations } of ALERTS) {
      expect(['critical', 'warning']).toContain(labels?.severity);
      expect(annotations?.summary).toMatch(/\w/);
      for (const part of ['description', 'meaning', 'look', 'do', 'customers'])
        expect(annotations?.[part]).toMatch(/\.$/);
    }
    expect(RULE_TESTS.tests.map(({ name }) => name)).toEqual(['healthy', ...ALERTS.map(({ alert }) => alert)]);
  });

  it('query recordings that exist', () => {
    const recorded = new Set(RECORDINGS.map(({ record }) => record));
    const asked = EXPRESSIONS.flatMap(({ expr }) => expr.match(/\bgateway:[a-z0-9_:]+/g) ?? []);
    expect(asked.length).toBeGreaterThan(10);
    for (const name of asked) expect(recorded).toContain(name);
  });
});

describe('the dashboard', () => {
  const { panels } = DASHBOARD;

  it('has panels that do not overlap, each with an id of its own and queries on the chosen data source', () => {
    expect(DASHBOARD.schemaVersion).toBeGreaterThanOrEqual(39);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const taken = new Set<string>();
    for (const { title, type, gridPos, targets = [] } of panels) {
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
          expect(taken.has(`${x},${y}`), `${title} lies on another`).toBe(false);
          taken.add(`${x},${y}`);
        }
      expect(targets.length > 0).toBe(type !== 'row');
      // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana's own variable.
      for (const { datasource } of targets) expect(datasource.uid).toBe('${datasource}');
    }
  });

  it('shows only the chosen job and instances', () => {
    for (const { title, targets = [] } of panels)
      for (const { expr } of targets)
        for (const { name, labels } of metricsIn(expr))
          expect(labels, `${name} in ${title}`).toEqual(expect.arrayContaining(['job', 'instance']));
  });
});

/**
 * A request counts as failed if the gateway or a provider is the cause, and as refused if the
 * client is.
 */
const CLASSES: Readonly<Record<ErrorType, 'failed' | 'refused'>> = {
  invalid_request_error: 'refused',
  authentication_error: 'refused',
  insufficient_credits: 'refused',
  permission_error: 'refused',
  not_found_error: 'refused',
  rate_limit_error: 'refused',
  timeout_error: 'failed',
  api_error: 'failed',
  service_unavailable_error: 'failed',
};

const codes = Object.keys(ERROR_CODES) as ErrorCode[];
const failed = codes.filter((code) => CLASSES[ERROR_CODES[code].type] === 'failed').toSorted();

describe('the error codes of rules and panels', () => {
  it('are exactly those that count as failed, wherever several are listed', () => {
    const lists = EXPRESSIONS.flatMap(({ at, expr }) =>
      [...expr.matchAll(/gateway_requests_total\{[^}]*?code=~"([a-z_|]+)"/g)].map(([, list = '']) => ({ at, list })),
    );
    expect(lists.length).toBeGreaterThanOrEqual(6);
    for (const { at, list } of lists) expect(list.split('|').toSorted(), at).toEqual(failed);
  });

  it('exist wherever a single one is named', () => {
    const named = EXPRESSIONS.flatMap(({ expr }) =>
      [...expr.matchAll(/gateway_requests_total\{[^}]*?code="([a-z_]+)"/g)].map(([, code = '']) => code),
    );
    expect(named.length).toBeGreaterThan(1);
    for (const code of named) expect(codes).toContain(code);
  });

  it('that count as failed are each in the recipe of the alert about failed completions', () => {
    const { look = '' } = ALERTS.find(({ alert }) => alert === 'CompletionsFailing')?.annotations ?? {};
    const named = [...look.matchAll(/[a-z_]+/g)].map(([name]) => name);
    expect(named.filter((name) => name in ERROR_CODES).toSorted()).toEqual(failed);
  });
});

/** Members in the first table below this heading of docs/observability.md. */
function documented(heading: string): string[] {
  const [section = ''] = MANUAL.slice(MANUAL.indexOf(`\n### ${heading}\n`) + 1).split(/\n(?=#)/);
  const [table = ''] = section.slice(section.indexOf('| Field |')).split('\n\n');
  return table
    .split('\n')
    .flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    .toSorted();
}

/** The first value with this name at any depth. */
function find(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (name in value) return (value as Record<string, unknown>)[name];
  for (const inner of Object.values(value)) {
    const found = find(inner, name);
    if (found !== undefined) return found;
  }
  return undefined;
}

it('exactly the members of an access line are documented', () => {
  const exchange = { requestId: 'r', method: 'GET', path: '/', peerAddress: '', header: () => undefined };
  const facts = { startedMs: 0, arrivedAtMs: 0, config: configWith(), address: '', notes: {}, trace: undefined };
  const outcome = { ...facts, status: 200 };
  const line = accessLine(exchange as unknown as Exchange, outcome, 1);
  expect(documented('Access lines')).toEqual(Object.keys(line).toSorted());
});

it("exactly the members of Envoy's access log are documented", () => {
  const bootstrap: unknown = parse(readFileSync(new URL('../envoy/envoy.yaml', import.meta.url), 'utf8'));
  const members = Object.keys(find(bootstrap, 'json_format') ?? {});
  expect(members.length).toBeGreaterThan(5);
  expect(documented('Lines of Envoy')).toEqual(members.toSorted());
});
