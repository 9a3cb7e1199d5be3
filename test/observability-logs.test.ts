import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { accessLine } from '#ext-proc/requests/request-outcome.ts';
import type { Exchange } from '#ext-proc/transport/exchange.ts';
import { configWith } from './fixtures/gateway-config.ts';
import { MANUAL } from './fixtures/observability-files.ts';

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
