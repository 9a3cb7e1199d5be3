import { expect, test } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { idFloor } from '#core/ids.ts';
import { addCustomer, addKey, createDatabase, openStore, sql } from '../harness/database.ts';
import { fillRequestLog } from '../load/fill-request-log.ts';

/** The rows must be like those of the gateway, or measurements of pages mean nothing. */
test('a filled log spans its days, agrees with its sums, and can be filled again', async () => {
  const url = await createDatabase();
  const store = await openStore(url);
  const { organizationId, keyId } = await addCustomer(store);
  const keyIds = [keyId, (await addKey(store, organizationId)).keyId].sort();
  await store.close();
  const endMs = Date.now();
  for (const rows of [3_000, 500]) await fillRequestLog(url, { organizationId, rows, days: 5, endMs });

  const [log] = await sql(
    url,
    `select count(*) as lines, count(distinct request_id) as requests, count(distinct model) as models, count(distinct code) > 4 as various,
       min(id) >= '${idFloor('log', endMs - 5 * DAY_MS)}' and max(id) < '${idFloor('log', endMs + 1)}' as inside,
       bool_and(id ~ '^log-[0-7][0-9A-HJKMNP-TV-Z]{25}$' and coalesce(generation_id ~ '^gen-[0-7][0-9A-HJKMNP-TV-Z]{25}$', true)) as formed,
       array_agg(distinct key_id order by key_id) as keys, count(*) filter (where tableoid = 'request_log_other'::regclass) as strays
     from request_log where organization_id = '${organizationId}'`,
  );
  expect(log).toEqual({
    lines: '3500',
    requests: '3500',
    models: '6',
    various: true,
    inside: true,
    formed: true,
    keys: keyIds,
    strays: '0',
  });

  const fromLog = await sql(
    url,
    `select key_id, coalesce(code, '') as code, count(*) as requests, coalesce(sum(cost_nano_usd), 0) as cost,
       count(*) filter (where first_event_ms > 100 and first_event_ms <= 200) as fast,
       count(*) filter (where first_event_ms > 200 and first_event_ms <= 400) as slower, count(first_event_ms) as timed
     from request_log group by 1, 2 order by 1, 2`,
  );
  const fromSums = await sql(
    url,
    `select key_id, code, sum(requests) as requests, sum(cost_nano_usd) as cost, sum(first_event_buckets[3]) as fast,
       sum(first_event_buckets[4]) as slower, sum((select sum(b) from unnest(first_event_buckets) as b)) as timed
     from request_stats group by 1, 2 order by 1, 2`,
  );
  expect(fromSums).toEqual(fromLog);
  expect(await sql(url, `select hour from request_stats where extract(epoch from hour)::bigint % 3600 <> 0`)).toEqual(
    [],
  );
});
