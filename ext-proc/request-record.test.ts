import { expect, test } from 'vitest';
import { configWith } from '../test/fixtures/gateway-config.ts';
import { principalWith } from '../test/fixtures/principal.ts';
import { logLine, type RequestRecord } from './request-record.ts';
import type { Exchange } from './transport/exchange.ts';

const HUGE = '\u0001'.repeat(60_000);

test('a line of the log has a greatest length, whatever the client and the stores say', () => {
  const exchange = { requestId: HUGE, method: HUGE, path: HUGE, peerAddress: '', header: () => HUGE };
  const record: RequestRecord = {
    startedMs: 0,
    arrivedAtMs: 0,
    config: configWith(),
    notes: { model: HUGE, attempts: Array.from({ length: 176 }, () => `${'p'.repeat(64)}:first_byte_timeout`) },
    trace: undefined,
    route: { name: 'usage', query: HUGE },
    principal: principalWith(),
    address: '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff',
    status: 400,
    code: 'reasoning_effort_not_supported',
    problem: HUGE,
  };
  const line = JSON.stringify(logLine(exchange as unknown as Exchange, record, 1e9));
  expect(Buffer.byteLength(line)).toBeLessThan(8 * 1024);
});
