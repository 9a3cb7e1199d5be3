import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { openSpool } from '#ext-proc/billing/spool/spool.ts';
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

test('a gateway starts with a damaged spool, charges what is whole and tells of the rest', async () => {
  const { organizationId } = await gateway.stack.operator.customer({ credit: '1' });
  const [row] = await sql<{ id: string }>(
    gateway.stack.databaseUrl,
    `select id from keys where organization_id = '${organizationId}'`,
  );
  const charge = (costNanoUsd: bigint) => ({
    ...settlementOf({ organizationId, keyId: row?.id ?? '', hash: Buffer.alloc(32) }, { costNanoUsd }),
    generationId: newId('gen', Date.now()),
  });
  const path = join(gateway.stack.paths.dataDir, 'spool', 'settlements-0.jsonl');
  await gateway.stack.restartGateway('SIGTERM', async () => {
    const spool = await openSpool(path);
    for (const cost of [1_000_000n, 20_000_000n]) await spool.append(charge(cost));
    await spool.close();
    const content = (await readFile(path, 'utf8')).replace('"costNanoUsd":"20000000"', '"costNanoUsd":"30000000"');
    await writeFile(path, `${content}null\n{"generationId":"gen-1"}\n`);
  });
  expect(await gateway.stack.operator.balance(organizationId)).toBeCloseTo(0.999, 9);
  await expect.poll(() => metric(gateway.stack.metricsOrigin, 'gateway_spool_damaged_files')).toBe(1);
  expect(await readFile(path, 'utf8')).toBe('');
  const doctor = await runCommandLine(['doctor'], gateway.stack.env);
  expect(JSON.stringify('json' in doctor && doctor.json)).toContain('settlements-0.jsonl.damaged-');
});
