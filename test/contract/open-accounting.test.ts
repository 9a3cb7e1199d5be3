import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { runtimePaths } from '#core/config/runtime-paths.ts';
import type { Log } from '#core/log/log.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { openAccounting } from '#ext-proc/process/open-accounting.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { addCustomer, createDatabase, openStore, settlementOf, sql } from '../harness/database.ts';

const silent = { info() {}, warn() {}, error() {} } as unknown as Log;

describe('a process that starts on a ledger without the newest charge of its log', () => {
  let url = '';
  let store: Awaited<ReturnType<typeof openStore>>;
  let paths = runtimePaths({});
  beforeEach(async () => {
    url = await createDatabase();
    store = await openStore(url);
    paths = runtimePaths({ GATEWAY_DATA: mkdtempSync(join(tmpdir(), 'gw accounting ')) });
  });
  afterEach(async () => {
    await store.close();
    rmSync(paths.dataDir, { recursive: true });
  });

  /** Leaves the log of a process that committed a charge of which this ledger knows nothing. */
  async function leaveLog(lacking: Settlement, waiting: readonly Settlement[] = []): Promise<void> {
    const log = await openLog(paths.chargeLogDir);
    await log.append(lacking);
    log.committed([lacking.generationId], await store.ledger.currentEpoch());
    for (const one of waiting) await log.append(one);
    await log.close();
  }

  async function start(): Promise<void> {
    const { close, closeLog } = await openAccounting({
      stores: { database: store, limits: new MemoryLimitStore({ leaseMs: 60_000 }), mirror: undefined },
      ...{ paths, workerIndex: 0, clock, metrics: createMetrics(), log: silent },
      config: () => ({ chargesDurableIn: 'log' }) as GatewayConfig,
      attempts: { record: () => undefined },
    });
    await close();
    await closeLog();
  }

  // In the other order, a process that is killed in between leaves a newest commit that the ledger
  // has, and the next process does not detect that earlier ones are missing.
  it('makes that charge again before those that wait', async () => {
    const customer = await addCustomer(store);
    const [lacking, waiting] = [settlementOf(customer), settlementOf(customer)];
    await leaveLog(lacking, [waiting]);
    await start();
    const charged = `select generation_id as id from ledger_entries where kind = 'charge' order by sequence`;
    expect(await sql(url, charged)).toEqual([{ id: lacking.generationId }, { id: waiting.generationId }]);
  });

  it('renews the epoch once, even if the ledger refuses that charge', async () => {
    const unknown = { organizationId: 'org-before', keyId: 'key-before' };
    await leaveLog({ ...settlementOf(await addCustomer(store)), ...unknown });
    const epochs = [await store.ledger.currentEpoch()];
    for (const _ of [1, 2]) {
      await start();
      epochs.push(await store.ledger.currentEpoch());
    }
    expect(epochs[1]).not.toBe(epochs[0]);
    expect(epochs[2]).toBe(epochs[1]);
  });
});
