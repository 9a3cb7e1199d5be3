import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { CUTTING_MS, ENDING_MS, readDrainTimeoutMs } from '#core/config/drain-timeout.ts';
import { REPOSITORY } from '../harness/deployment.ts';

/**
 * systemd and Docker wait for as long as a stop may take. kubernetes.test.ts checks the same of
 * pods.
 */
const read = (path: string): string => readFileSync(join(REPOSITORY, path), 'utf8');
const drainS = Number(readDrainTimeoutMs({})) / 1000;
const endingS = ENDING_MS / 1000;
const seconds = (text: string | undefined): number => Number(/^\$\{STOP_GRACE_PERIOD:-(\d+)s\}$/.exec(text ?? '')?.[1]);

test('systemd waits for the gateway processes, then Envoy (10 s), the demo provider (2 s) and PostgreSQL (15 s)', () => {
  const unit = read('deploy/systemd/inference-gateway.service');
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1])).toBeGreaterThanOrEqual(drainS + endingS + 27 + 5);
  expect(unit).toContain('KillMode=mixed');
});

test("Docker waits for the gateway process and for Envoy's container, which waits for the gateway process", () => {
  const { gateway, envoy } = (
    parse(read('docker-compose.yml'), { merge: true }) as {
      services: Record<string, { environment?: Record<string, string>; stop_grace_period?: string }>;
    }
  ).services;
  const waitS = Number(/ENVOY_END_WAIT_S:-(\d+)/.exec(read('deploy/compose/run-envoy.sh'))?.[1]);
  expect(seconds(gateway?.stop_grace_period)).toBeGreaterThanOrEqual(drainS + endingS + 5);
  expect(waitS).toBeGreaterThanOrEqual(drainS + CUTTING_MS / 1000 + 5);
  expect(seconds(envoy?.stop_grace_period)).toBeGreaterThanOrEqual(waitS + 5);
  // Requests of minutes need all three.
  expect(gateway?.environment?.DRAIN_TIMEOUT_MS).toBe(`\${DRAIN_TIMEOUT_MS:-${drainS * 1000}}`);
  expect(envoy?.environment?.ENVOY_END_WAIT_S).toBe(`\${ENVOY_END_WAIT_S:-${waitS}}`);
});
