import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { addCustomer, BY, createDatabase, openStore, sql, type TestStore } from '../harness/database.ts';
import { startLostAnswerProxy } from './lost-answer-proxy.ts';

let url = '';
let store: TestStore;
beforeAll(async () => {
  url = await createDatabase();
  store = await openStore(url);
});
afterAll(() => store.close());

const run = (databaseUrl: string, ...args: string[]) => runCommandLine(args, { DATABASE_URL: databaseUrl });
const balanceOf = async (organizationId: string) => (await store.ledger.credits(organizationId)).balanceNanoUsd;

it('a credit whose answer was lost is booked once when it is repeated with the reference that was printed', async () => {
  const { organizationId } = await addCustomer(store, 0n);
  const proxy = await startLostAnswerProxy(url);
  const failed = await run(proxy.url, 'org', 'credit', organizationId, '5');
  expect([failed.kind, proxy.lost()]).toEqual(['refused', 1]);
  if (failed.kind !== 'refused') throw new Error('it was to fail');
  const { reference } = failed.json as { reference: string };
  expect(failed.message).toContain(`--reference ${reference}`);
  expect(await balanceOf(organizationId)).toBe(5_000_000_000n);
  proxy.mend();
  const repeated = await run(proxy.url, 'org', 'credit', organizationId, '5', '--reference', reference);
  expect(repeated).toMatchObject({ kind: 'done', json: { balance: 5, applied: false, reference } });
  expect(await balanceOf(organizationId)).toBe(5_000_000_000n);
  await proxy.close();
});

it('an organization whose creation with credit lost its answer is named when it is repeated with the reference', async () => {
  const proxy = await startLostAnswerProxy(url);
  const failed = await run(proxy.url, 'org', 'create', '--name', 'Lost', '--credit', '7');
  if (failed.kind !== 'refused') throw new Error('it was to fail');
  const { reference } = failed.json as { reference: string };
  proxy.mend();
  const repeated = await run(proxy.url, 'org', 'create', '--name', 'Lost', '--credit', '7', '--reference', reference);
  const all = (await store.administration.organizations()).filter(({ name }) => name === 'Lost');
  expect(all.map(({ balanceNanoUsd }) => balanceNanoUsd)).toEqual([7_000_000_000n]);
  expect(repeated).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(`${all[0]?.id}. Nothing was added`),
  });
  await proxy.close();
});

it('a reference is booked for one organization, also when two ask at once', async () => {
  const [one, other] = [await addCustomer(store, 0n), await addCustomer(store, 0n)];
  const entry = { amountNanoUsd: 3n, reference: newId('crd', Date.now()) };
  const results = await Promise.all(
    [one, other].map(({ organizationId }) => store.administration.credit(organizationId, entry, BY)),
  );
  const winner = results[0]?.kind === 'applied' ? one : other;
  const { organizationId } = winner;
  expect(results).toContainEqual({ kind: 'applied', balanceNanoUsd: 3n });
  expect(results).toContainEqual({ kind: 'reference_elsewhere', organizationId });
  expect((await balanceOf(one.organizationId)) + (await balanceOf(other.organizationId))).toBe(3n);
  const loser = winner === one ? other : one;
  expect(await run(url, 'org', 'credit', loser.organizationId, '1', '--reference', entry.reference)).toMatchObject({
    kind: 'refused',
    message: expect.stringContaining(`was booked for the organization ${organizationId}.`),
  });
});

it("references that two organizations had before stay booked for both, and are the first one's from then on", async () => {
  const [first, second, third] = [
    await addCustomer(store, 0n),
    await addCustomer(store, 0n),
    await addCustomer(store, 0n),
  ];
  const reference = newId('crd', Date.now());
  await store.administration.credit(first.organizationId, { amountNanoUsd: 3n, reference }, BY);
  await sql(
    url,
    `delete from credit_references where reference = '${reference}';
     select add_credit('${second.organizationId}', 4, null, '${reference}', 'test')`,
  );
  const migration = await readFile(
    new URL('../../database/migrations/0018_one_reference.sql', import.meta.url),
    'utf8',
  );
  const [fill = ''] = /insert into credit_references[^;]*from ledger_entries[^;]*;/.exec(migration) ?? [];
  await sql(url, `delete from credit_references; ${fill}`);
  const again = async (organizationId: string, amountNanoUsd: bigint) =>
    store.administration.credit(organizationId, { amountNanoUsd, reference }, BY);
  expect(await again(first.organizationId, 3n)).toMatchObject({ kind: 'repeated', amountNanoUsd: 3n });
  expect(await again(second.organizationId, 4n)).toMatchObject({ kind: 'repeated', amountNanoUsd: 4n });
  expect(await again(third.organizationId, 5n)).toEqual({
    kind: 'reference_elsewhere',
    organizationId: first.organizationId,
  });
});
