import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { addKey, openStore, settlementOf, sql } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import { fillRequestLog } from '../../load/fill-request-log.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const ROWS = 50_000;
const HASH = Buffer.alloc(32, 7);

describe('CSV', () => {
  const dashboard = opened(startDashboard);
  let browser: Browser;
  let organizationId = '';
  const keyId = newId('key', Date.now());
  const nowMs = Date.UTC(2026, 10, 21, 12);

  beforeAll(async () => {
    organizationId = await dashboard.addOrganization();
    browser = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
    const key = { id: keyId, organizationId, name: '=cmd|calc', scopes: ['chat'] as const, hash: HASH, last4: 'last' };
    await dashboard.administration.createKey(key, { actor: 'test' });
    await fillRequestLog(dashboard.databaseUrl, { organizationId, rows: ROWS, days: 2, endMs: nowMs });
  });

  const table = (name: string) => `/api/organizations/${organizationId}/${name}`;

  it('of the request log has all rows of the filter, with the id and name of the key', async () => {
    const { headers, text, status } = await browser.get(table('requests.csv?codes=rpm_exceeded'));
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="requests.csv"',
      'cache-control': 'no-store',
    });
    const [names, ...lines] = text.trimEnd().split('\r\n');
    expect(names).toBe(
      'time,request_id,generation_id,key_id,key_name,route,model,provider,status,code,streamed,replayed,client_gone,prompt_tokens,completion_tokens,cached_tokens,reasoning_tokens,cost_usd,first_event_ms,duration_ms,address,user_agent,user,metadata',
    );
    const [counted] = await sql<{ count: number }>(
      dashboard.databaseUrl,
      `select count(*)::integer from request_log where code = 'rpm_exceeded'`,
    );
    expect(lines).toHaveLength(counted?.count ?? -1);
    expect(new Set(lines.map((line) => line.split(',')[9]))).toEqual(new Set(['rpm_exceeded']));
    // A spreadsheet would evaluate a name that begins with an equals sign.
    expect(lines[0]).toContain(`,${keyId},'=cmd|calc,chat,`);
    expect(lines[0]).toMatch(/^2026-11-\d\dT\d\d:\d\d:\d\d\.\d{3}Z,/);
  });

  it('of the whole log is read in steps and has every row once', async () => {
    const { text } = await browser.get(table('requests.csv'));
    const ids = text
      .trimEnd()
      .split('\r\n')
      .slice(1)
      .map((line) => line.split(',')[1]);
    expect(ids).toHaveLength(ROWS);
    expect(new Set(ids).size).toBe(ROWS);
  });

  it('of ledger and usage has exact amounts', async () => {
    const stores = await openStore(dashboard.databaseUrl);
    const day = utcDay(nowMs);
    const customer = { organizationId, keyId, hash: HASH };
    const used = { ...settlementOf(customer).usage, cacheWriteTokens: 5, cacheWrite1hTokens: 3 };
    const settlement = settlementOf(customer, { day, costNanoUsd: 1_000_000_001n, usage: used });
    await stores.administration.credit(organizationId, { amountNanoUsd: 2_000_000_000n }, { actor: 'op@example.com' });
    await stores.ledger.charge(settlement);
    await stores.close();
    const credit = { amountNanoUsd: 5_000_000_000n, note: 'by "wire", thanks', reference: 'r1' };
    await dashboard.administration.credit(organizationId, credit, { actor: 'op@example.com' });
    const ledger = (await browser.get(table('ledger.csv'))).text.split('\r\n');
    expect(ledger[0]).toBe(
      'time,sequence,kind,amount_usd,balance_usd,generation_id,model,key_id,key_name,note,reference,actor',
    );
    expect(ledger[1]).toMatch(/Z,3,credit,5,5\.999999999,,,,,"by ""wire"", thanks",r1,the operator$/);
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    expect((await operator.get(table('ledger.csv'))).text).toContain(',r1,op@example.com');
    expect(ledger[2]).toMatch(
      new RegExp(
        `Z,2,charge,-1\\.000000001,0\\.999999999,${settlement.generationId},gpt-5-mini,${keyId},'=cmd\\|calc,,,$`,
      ),
    );
    expect((await browser.get(table('ledger.csv?kind=credit'))).text.trimEnd().split('\r\n')).toHaveLength(3);
  });

  it('of costs has every organization with its name, for operators', async () => {
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    const named = await dashboard.addOrganization('=cmd|calc');
    const stores = await openStore(dashboard.databaseUrl);
    const { keyId: key, hash } = await addKey(stores, named);
    await stores.administration.credit(named, { amountNanoUsd: 5_000_000_000n }, { actor: 'test' });
    const change = { generationId: newId('gen', nowMs), day: utcDay(nowMs), holdNanoUsd: 1_000_000_001n };
    const costNanoUsd = 3_000_000_000n;
    await stores.ledger.charge(settlementOf({ organizationId: named, keyId: key, hash }, { ...change, costNanoUsd }));
    await stores.close();
    const days = 'from=2026-11-21&to=2026-11-21';
    const { headers, text } = await operator.get(`/api/costs.csv?${days}&by=day,organization`);
    expect(headers['content-disposition']).toBe('attachment; filename="costs.csv"');
    expect(text).toBe(
      `date,organization_id,organization_name,requests,revenue_usd,cost_usd,margin_usd,losses_usd,list_usd\r\n2026-11-21,${named},'=cmd|calc,1,1.000000001,,,1.999999999,1.000000001\r\n`,
    );
    expect((await operator.get(`/api/costs.csv?${days}&by=provider`)).text).toBe(
      'provider,requests,revenue_usd,cost_usd,margin_usd,losses_usd,list_usd\r\nopenai,1,1.000000001,,,1.999999999,1.000000001\r\n',
    );
  });

  it('of the audit log has every event of the filter, and names operators only to operators', async () => {
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    const id = await dashboard.addOrganization('Audited');
    const owner = await dashboard.signedIn(await dashboard.addUser({ in: [id, 'owner'] }));
    const path = `/api/organizations/${id}`;
    for (let n = 0; n < 3; n++) await operator.send('PATCH', path, { name: `=Audited ${n}` });
    const lines = async (by: Browser, address: string) => (await by.get(address)).text.trimEnd().split('\r\n');
    const [names, latest, ...older] = await lines(owner, `${path}/audit.csv?action=organization.updated`);
    expect(names).toBe('time,id,actor,address,action,subject_id,subject_name,changes');
    expect(latest).toMatch(/Z,evt-\w+,the operator,,organization\.updated,org-\w+,'=Audited 2,"\{""name"":\[/);
    expect(older).toHaveLength(2);
    const [heads, ...all] = await lines(operator, `/api/audit.csv?organization=${id}&action=organization.updated`);
    expect(heads).toBe(names);
    expect(all).toHaveLength(3);
    expect((await lines(operator, '/api/audit.csv'))[0]).toBe(`organization_id,organization_name,${names}`);
  });

  it('of audit events with the longest lists is read in smaller steps', async () => {
    const listed = await dashboard.addOrganization('Listed');
    const owner = await dashboard.signedIn(await dashboard.addUser({ in: [listed, 'owner'] }));
    await sql(
      dashboard.databaseUrl,
      `insert into audit_log (id, organization_id, actor, action, changes)
       select 'evt-01KAV9FTZ8' || lpad(i::text, 16, '0'), '${listed}', 'ops', 'key.updated', jsonb_build_object('ipRanges', jsonb_build_object(
         'added', array_fill(repeat('a', 43), array[200]), 'removed', array_fill(repeat('b', 43), array[200])))
       from generate_series(1, 1000) i`,
    );
    await countingReads(async (reads) => {
      const { text } = await owner.get(`/api/organizations/${listed}/audit.csv?action=key.updated`);
      expect(new Set(text.trimEnd().split('\r\n').slice(1)).size).toBe(1000);
      // An open table may keep 4 MB. This one has 19, so ten steps.
      expect(reads()).toBeGreaterThanOrEqual(10);
    });
  });

  it('with an invalid filter is an error instead of a file', async () => {
    const { status, body } = await browser.get(table('ledger.csv?kind=gift'));
    expect([status, body.problem]).toEqual([400, 'invalid']);
  });

  /** Requests the file as the browser does, and reads nothing of the response. */
  function begin(path: string, { cookies }: Browser = browser): Promise<IncomingMessage> {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    return new Promise((resolve, reject) => {
      const sent = get(`${dashboard.origin}${path}`, { headers: { cookie }, agent: false }, resolve);
      sent.on('error', reject);
    });
  }

  /** Hands over the number of statements so far. Those beyond the most fail. */
  async function countingReads(work: (reads: () => number) => Promise<void>, most = Infinity): Promise<void> {
    const { database } = dashboard;
    const query = database.query.bind(database);
    let reads = 0;
    const counted = async (...given: Parameters<typeof query>) => {
      if (++reads > most) throw new Error('the disk is on fire');
      return query(...given);
    };
    database.query = counted as typeof query;
    try {
      await work(() => reads);
    } finally {
      database.query = query;
    }
  }

  it('is read no faster than the client reads it, and no further when the client disconnects', async () => {
    await countingReads(async (reads) => {
      const pause = async () => {
        for (let before = -1; before !== reads(); ) {
          before = reads();
          await new Promise((resolve) => setTimeout(resolve, 300));
        }
      };
      const answer = await begin(table('requests.csv'));
      await expect.poll(reads).toBeGreaterThan(2);
      await pause();
      // The table has 200 steps of 250 lines. The sockets' buffers hold about 72 of them.
      expect(reads()).toBeLessThan(160);
      const whileHere = reads();
      answer.destroy();
      await pause();
      expect(reads()).toBeLessThanOrEqual(whileHere + 1);
    });
  });

  it('is one of at most two at once for a user, and of three for an organization', async () => {
    const path = table('requests.csv');
    const colleague = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
    const open = [await begin(path), await begin(path)];
    const refused = await browser.get(path);
    expect([refused.status, refused.body.problem, refused.headers['retry-after']]).toEqual([
      429,
      'too_many_requests',
      '5',
    ]);
    expect(refused.body.message).toContain('Stop one or wait for it to end');
    open.push(await begin(path, colleague));
    expect(open.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    expect((await colleague.get(path)).status).toBe(429);
    const elsewhere = await dashboard.addOrganization('Elsewhere');
    const other = await dashboard.signedIn(await dashboard.addUser({ in: [elsewhere, 'member'] }));
    const operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
    expect((await other.get(`/api/organizations/${elsewhere}/requests.csv`)).status).toBe(200);
    expect((await operator.get(table('ledger.csv'))).status).toBe(200);
    for (const answer of open) answer.destroy();
    await expect.poll(async () => (await browser.get(table('ledger.csv'))).status).toBe(200);
  });

  it('of rows with the longest metadata is read in smaller steps, and has every row once', async () => {
    const rows = 300;
    const verbose = await dashboard.addOrganization('Verbose');
    const reader = await dashboard.signedIn(await dashboard.addUser({ in: [verbose, 'member'] }));
    await sql(
      dashboard.databaseUrl,
      `insert into request_log (id, organization_id, key_id, request_id, route, model_known, address, status,
         streamed, replayed, client_gone, duration_ms, metadata)
       select 'log-01KAV9FTZ8' || lpad(i::text, 16, '0'), '${verbose}', '${keyId}', i, 'chat', false, '192.0.2.1', 402,
         false, false, false, 3, (select jsonb_object_agg(rpad(j::text, 64, 'k'), repeat('v', 512)) from
         generate_series(1, 16) j) from generate_series(1, ${rows}) i`,
    );
    await countingReads(async (reads) => {
      const { text } = await reader.get(`/api/organizations/${verbose}/requests.csv`);
      const ids = text.trimEnd().split('\r\n').slice(1);
      expect(ids.map((line) => line.split(',')[1])).toEqual(
        Array.from({ length: rows }, (_, index) => String(rows - index)),
      );
      // A step of a million characters has the metadata of 107 rows. Two steps make 7 statements.
      expect(reads()).toBeGreaterThanOrEqual(10);
    });
  });

  it('whose statement fails breaks its connection, so that it does not look complete', async () => {
    await countingReads(async () => {
      const answer = await begin(table('requests.csv'));
      expect(answer.statusCode).toBe(200);
      const ended = new Promise((resolve) =>
        answer.once('end', () => resolve('end')).once('error', () => resolve('broken')),
      );
      answer.resume();
      expect(await ended).toBe('broken');
    }, 6);
  });
});
