import { describe, expect, test } from 'vitest';
import { newKeySecret } from '#core/key-secret.ts';
import { configWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import type { RequestTrace } from '../telemetry/request-trace.ts';
import type { Exchange } from '../transport/exchange.ts';
import {
  accessLine,
  describeTrace,
  isRefusedRequest,
  isUnusable,
  type RequestOutcome,
  requestLogRow,
} from './request-outcome.ts';

const HUGE = '\u0001'.repeat(60_000);

function recordWith(changes: Partial<RequestOutcome>): RequestOutcome {
  return {
    startedMs: 0,
    arrivedAtMs: 1_000,
    config: configWith(),
    address: '',
    notes: {},
    trace: undefined,
    status: 200,
    ...changes,
  };
}

describe('a request', () => {
  test.each<[string, Partial<RequestOutcome>, boolean]>([
    ['that is served', { notes: { generationId: 'gen-1' } }, false],
    ['that reads', {}, false],
    ['that a provider refused', { status: 400, code: 'invalid_request', notes: { generationId: 'gen-1' } }, false],
    ['that was refused before', { status: 400, code: 'invalid_request' }, true],
    ['that a limit refused', { status: 429, code: 'rpm_exceeded' }, true],
    ['whose client left before there was an answer', { status: 499 }, true],
    ['whose client left a provider', { status: 499, notes: { generationId: 'gen-1' } }, false],
  ])('%s: is refused %s', (_, changes, expected) => {
    expect(isRefusedRequest(recordWith(changes))).toBe(expected);
  });

  test.each<[string, Partial<RequestOutcome>, boolean]>([
    ['nobody', {}, false],
    ['a key that is good', { principal: principalWith({ expiresAtMs: 1_001 }) }, false],
    ['a revoked key', { principal: principalWith({ revokedAtMs: 5_000 }) }, true],
    ['an expired key', { principal: principalWith({ expiresAtMs: 1_000 }) }, true],
    ['a suspended organization', { principal: principalWith({}, { suspended: true }) }, true],
  ])('of %s: cannot be served %s', (_, changes, expected) => {
    expect(isUnusable(recordWith(changes))).toBe(expected);
  });
});

test('an access line has a bounded length, whatever the client and the stores send', () => {
  const exchange = { requestId: HUGE, method: HUGE, path: HUGE, peerAddress: '', header: () => HUGE };
  const outcome = recordWith({
    notes: { model: HUGE, attempts: Array.from({ length: 176 }, () => `${'p'.repeat(64)}:first_byte_timeout`) },
    route: { name: 'usage', query: HUGE },
    principal: principalWith(),
    address: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
    status: 400,
    code: 'reasoning_effort_not_supported',
    problem: HUGE,
  });
  const line = JSON.stringify(accessLine(exchange as unknown as Exchange, outcome, 1e9));
  expect(Buffer.byteLength(line)).toBeLessThan(8 * 1024);
});

test('an API key where another text belongs, even one that is cut, is in no line, row or span', () => {
  const { secret } = newKeySecret(0);
  const path = `/v1/models/${secret}`;
  const exchange = { requestId: secret, method: secret, path, peerAddress: '', header: () => `sdk ${secret}` };
  const outcome = recordWith({
    notes: { model: `${'m'.repeat(180)} ${secret}` },
    route: { name: 'models', query: '', model: secret },
    principal: principalWith(),
    problem: secret,
  });
  const given = [exchange as unknown as Exchange, outcome, 1] as const;
  const attributes: unknown[] = [];
  const root = {
    rename: (name: string) => attributes.push(name.split(' ')[1]),
    set: (...attribute: unknown[]) => attributes.push(attribute),
    fail() {},
  };
  describeTrace({ root } as unknown as RequestTrace, given[0], outcome);
  expect(requestLogRow(...given)).toMatchObject({ userAgent: 'sdk sk-gw-…', requestId: 'sk-gw-…' });
  const written = JSON.stringify([accessLine(...given), requestLogRow(...given), attributes]);
  expect(written).not.toContain(secret.slice(0, 'sk-gw-'.length + 1));
});
