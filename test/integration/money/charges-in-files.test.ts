import { appendFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { newId } from '#core/ids.ts';
import { openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import { readWorkerLog } from '#ext-proc/billing/charge-log/log-reading.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { settlementOf } from '../../harness/database.ts';
import { eventsOf, type GatewayClient } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { stall, streamAnswer, streamThen } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

/** `ledger verify` counts charges that are only in files of the data folder. */

const gateway = withGateway({ config: { models: { one: {} } } }, { ownPostgres: true });

const USAGE = { prompt_tokens: 1000, completion_tokens: 500 };

interface Verified {
  readonly kind: string;
  readonly text: string;
  readonly json: Readonly<Record<string, unknown>>;
}

async function verify(env: NodeJS.ProcessEnv = gateway.stack.env): Promise<Verified> {
  const result = await runCommandLine(['ledger', 'verify'], env);
  if (result.kind === 'usage') throw new Error(result.message);
  const text = result.kind === 'done' ? result.text : result.message;
  return { kind: result.kind, text, json: (result.json ?? {}) as Verified['json'] };
}

function chargeLogFolder(): string {
  return join(gateway.stack.paths.dataDir, 'spool');
}

/** Names and contents of the files. */
async function files(): Promise<Record<string, string>> {
  const names = await readdir(chargeLogFolder());
  const contents = await Promise.all(names.map((name) => readFile(join(chargeLogFolder(), name), 'utf8')));
  return Object.fromEntries(names.map((name, index) => [name, contents[index] ?? '']));
}

/** Completes streams while PostgreSQL is down. */
async function completeStreams(client: GatewayClient, count: number): Promise<void> {
  const gate = createGate();
  gateway.provider.script('one', gate.before(streamAnswer({ usage: USAGE })));
  const underWay = Array.from({ length: count }, () => client.chat({ model: 'one', stream: true }));
  await gate.waitFor(count);
  await gateway.postgres.crash();
  gate.open();
  const received = await Promise.all(underWay);
  for (const one of received) expect(eventsOf(one).at(-1)).toBe('[DONE]');
}

const NOTHING = { spooled_charges: 0, open_requests: 0, recent_charges: 0, damaged_lines: 0 };

test('charges in the log of a stopped gateway are counted once, until the next process ships them', async () => {
  const client = await gateway.openClient();
  expect(await verify()).toMatchObject({ kind: 'done', json: { ok: true } });
  await completeStreams(client, 5);
  let lines: readonly string[] = [];
  await gateway.stack.restartGateway('SIGTERM', async () => {
    await gateway.postgres.restart();
    const before = await files();
    // The line of a charge has an S after its checksum.
    lines = Object.values(before)
      .flatMap((content) => content.split('\n'))
      .filter((line) => line[8] === 'S');
    expect(lines).toHaveLength(5);
    const waiting = await verify();
    expect(waiting).toMatchObject({
      kind: 'refused',
      json: { ok: false, spooled_charges: 5, differences: [], data_folder: { ...NOTHING, spooled_charges: 5 } },
    });
    expect(waiting.text).toContain(`5 charges wait in ${chargeLogFolder()}`);
    expect(waiting.text).toContain('Start the gateway');
    expect(await files()).toEqual(before);

    // All workers' files are read. A charge in two files counts once, an incomplete line does not.
    const other = join(chargeLogFolder(), 'log-7.1.jsonl');
    await writeFile(other, `${lines[0]}\n${lines[1]?.slice(0, -9)}`);
    expect(await verify()).toMatchObject({ json: { ok: false, data_folder: { ...NOTHING, spooled_charges: 5 } } });
    await rm(other);
  });
  await expect
    .poll(verify, { timeout: 60_000 })
    .toMatchObject({ kind: 'done', json: { ok: true, spooled_charges: 0, data_folder: NOTHING } });

  // A charge that is in the ledger is not counted, even if a file still has it.
  await gateway.stack.restartGateway('SIGTERM', async () => {
    await writeFile(join(chargeLogFolder(), 'log-3.1.jsonl'), `${lines.join('\n')}\n`);
    expect(await verify()).toMatchObject({ kind: 'done', json: { ok: true, data_folder: { spooled_charges: 0 } } });
  });
});

test('requests of a killed process are counted until they are settled; requests in flight are not', async () => {
  const client = await gateway.openClient();
  gateway.provider.script('one', streamThen(3, stall));
  const cut = [1, 2].map(() => client.chat({ model: 'one', stream: true, user: 'ali\u2028ce' }).catch(() => undefined));
  // Waits until the log has both requests with their delivered output.
  await expect
    .poll(async () => (await readWorkerLog(chargeLogFolder(), 0)).unsettled.filter(({ delivered }) => delivered))
    .toHaveLength(2);
  expect(await verify()).toMatchObject({ kind: 'done', json: { ok: true, data_folder: NOTHING } });
  await gateway.stack.restartGateway('SIGKILL', async () => {
    await Promise.all(cut);
    const before = await files();
    const waiting = await verify();
    expect(waiting).toMatchObject({
      kind: 'refused',
      json: { ok: false, data_folder: { ...NOTHING, open_requests: 2 } },
    });
    expect(waiting.text).toContain('2 requests of killed processes are not settled');
    expect(await files()).toEqual(before);
  });
  await expect
    .poll(verify, { timeout: 60_000 })
    .toMatchObject({ kind: 'done', json: { ok: true, data_folder: NOTHING } });
});

test('charges that the database has lost, and damaged lines, are counted', async () => {
  const { organizationId, keyId } = await gateway.stack.operator.customer();
  const customer = { organizationId, keyId, hash: Buffer.alloc(32) };
  const charge = (of = customer) => ({
    ...settlementOf(of, { costNanoUsd: 5n }),
    generationId: newId('gen', Date.now()),
  });
  const aside = join(chargeLogFolder(), 'log-0.1.jsonl.damaged-2026-11-22T10-00-00.000Z');
  await gateway.stack.restartGateway('SIGTERM', async () => {
    const log = await openLog(chargeLogFolder());
    // The third organization is unknown: the folder may have served another database.
    const charges = [charge(), charge(), charge({ ...customer, organizationId: newId('org', Date.now()) })];
    for (const one of charges) await log.append(one);
    log.committed(
      charges.map(({ generationId }) => generationId),
      'an-epoch-before',
    );
    await log.close();
    await writeFile(aside, 'null\n{"generationId":"gen-1"}\n');
    const [segment = ''] = (await readdir(chargeLogFolder())).filter((name) => name.endsWith('.jsonl'));
    await appendFile(join(chargeLogFolder(), segment), '00000000"damaged"\n00000000"damaged"\n00000000"cut sh');
    const lost = { ...NOTHING, recent_charges: 2, damaged_lines: 4 };
    const waiting = await verify();
    expect(waiting).toMatchObject({ kind: 'refused', json: { ok: false, data_folder: lost } });
    expect(waiting.text).toContain('The database lacks 2 charges');
    expect(waiting.text).toContain('4 damaged lines');
  });
  await expect
    .poll(verify, { timeout: 60_000 })
    .toMatchObject({ json: { data_folder: { ...NOTHING, damaged_lines: 4 } } });
  const damaged = (await readdir(chargeLogFolder())).filter((name) => name.includes('.damaged-'));
  expect(damaged).toHaveLength(2);
  for (const name of damaged) await rm(join(chargeLogFolder(), name));
  expect(await verify()).toMatchObject({ kind: 'done', json: { ok: true, data_folder: NOTHING } });
});

test('a missing data folder is mentioned, and an unreadable one is a finding', async () => {
  const folder = join(gateway.stack.paths.dataDir, 'other');
  const env = { ...gateway.stack.env, GATEWAY_DATA: folder, DATABASE_URL: gateway.stack.databaseUrl };
  const missing = await verify(env);
  expect(missing).toMatchObject({ kind: 'done', json: { ok: true, data_folder: { path: folder, state: 'missing' } } });
  expect(missing.text).toContain(`There is no data folder ${folder}`);
  await mkdir(folder);
  expect(await verify(env)).toMatchObject({ json: { ok: true, data_folder: { state: 'read', ...NOTHING } } });
  await writeFile(join(folder, 'spool'), 'not a folder');
  const unreadable = await verify(env);
  expect(unreadable).toMatchObject({ kind: 'refused', json: { ok: false, data_folder: { state: 'unreadable' } } });
  expect(unreadable.text).toContain(join(folder, 'spool'));
  await rm(folder, { recursive: true });
});
