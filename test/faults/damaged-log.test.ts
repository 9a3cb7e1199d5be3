import { appendFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { settlementOf, sql } from '../harness/database.ts';
import { metric } from '../harness/metrics-page.ts';
import { withGateway } from '../harness/with-gateway.ts';

const gateway = withGateway({
  config: {
    providers: { fake: { base_url: 'http://127.0.0.1:9/v1' } },
    models: { m: { usd_per_million_tokens: { input: 0, output: 1 } } },
  },
});

test('a gateway starts with a damaged log, charges its intact records and reports the rest', async () => {
  const { organizationId } = await gateway.stack.operator.customer({ credit: '1' });
  const [row] = await sql<{ id: string }>(
    gateway.stack.databaseUrl,
    `select id from keys where organization_id = '${organizationId}'`,
  );
  const charge = (costNanoUsd: bigint) => ({
    ...settlementOf({ organizationId, keyId: row?.id ?? '', hash: Buffer.alloc(32) }, { costNanoUsd }),
    generationId: newId('gen', Date.now()),
  });
  const folder = gateway.stack.paths.chargeLogDir;
  await gateway.stack.restartGateway('SIGTERM', async () => {
    const before = new Set(await readdir(folder));
    const log = await openLog(folder);
    for (const cost of [1_000_000n, 20_000_000n]) await log.append(charge(cost));
    await log.close();
    const path = join(folder, (await readdir(folder)).find((name) => !before.has(name)) ?? '');
    const content = (await readFile(path, 'utf8')).replace('"costNanoUsd":"20000000"', '"costNanoUsd":"30000000"');
    await writeFile(path, content);
    await appendFile(path, 'null\n{"generationId":"gen-1"}\n');
  });
  expect(await gateway.stack.operator.balance(organizationId)).toBeCloseTo(0.999, 9);
  await expect.poll(() => metric(gateway.stack.metricsOrigin, 'gateway_charge_log_damaged_files')).toBe(1);
  const doctor = await runCommandLine(['doctor'], gateway.stack.env);
  expect(JSON.stringify('json' in doctor && doctor.json)).toMatch(/log-0\.\d+\.jsonl\.damaged-/);
});
