import type { PatientSession } from '../connection/patient-session.ts';
import { tokenList } from '../ledger/usage-columns.ts';
import type { LedgerFindings } from './ledger-findings.ts';
import type { LedgerDifference } from './ledger-report.ts';

/** Sums by day, key and model: requests, token kinds in the order of `tokenList`, cost. */
export type UsageSums = Map<string, readonly bigint[]>;

/** Usage of an organization from that day on. Empty: of all days. */
export interface UsageRange {
  readonly organizationId: string;
  readonly firstDay: string;
}

const USAGE = `
  select concat_ws(' ', day, key_id, model) as place,
    concat_ws(' ', requests, ${tokenList()}, cost_nano_usd) as sums
  from daily_usage where organization_id = $1 and ($2 = '' or day >= nullif($2, '')::date)`;

const ORGANIZATION_SPEND = `
  select $1::text || ' ' || day as subject, coalesce(u.cost, 0)::text as expected, coalesce(s.spent_nano_usd, 0)::text as found
  from (select day, spent_nano_usd from organization_daily_spend where organization_id = $1) s
  full join (select day, sum(cost_nano_usd) as cost from daily_usage where organization_id = $1 group by day) u using (day)
  where s.spent_nano_usd is distinct from u.cost and ($2 = '' or day >= nullif($2, '')::date) limit 100`;

const KEY_SPEND = `
  select key_id || ' ' || day as subject, coalesce(u.cost, 0)::text as expected, coalesce(s.spent_nano_usd, 0)::text as found
  from (
    select d.key_id, d.day, d.spent_nano_usd from keys k join key_daily_spend d on d.key_id = k.id where k.organization_id = $1
  ) s
  full join (
    select key_id, day, sum(cost_nano_usd) as cost from daily_usage where organization_id = $1 group by key_id, day
  ) u using (key_id, day)
  where s.spent_nano_usd is distinct from u.cost and ($2 = '' or day >= nullif($2, '')::date) limit 100`;

/** Compares sums by user with generations that name a user, found by the entries. */
const USER_USAGE = `
  select concat_ws(' ', $1::text, day, key_id, model, encode(user_hash, 'hex')) as subject,
    coalesce(g.sums, 'nothing') as expected, coalesce(u.sums, 'nothing') as found
  from (
    select day, key_id, model, user_hash, concat_ws(' ', requests, ${tokenList()}, cost_nano_usd) as sums
    from user_usage where organization_id = $1 and ($2 = '' or day >= nullif($2, '')::date)
  ) u
  full join (
    select g.day, g.key_id, g.model, sha256(convert_to(t.end_user, 'UTF8')) as user_hash,
      concat_ws(' ', count(*), ${tokenList((column) => `sum(g.${column})`)}, sum(g.cost_nano_usd)) as sums
    from ledger_entries e
    join generation_users t on t.generation_id = e.generation_id
    join generations g on g.id = e.generation_id
    where e.organization_id = $1 and ($2 = '' or g.day >= nullif($2, '')::date)
    group by 1, 2, 3, 4
  ) g using (day, key_id, model, user_hash)
  where u.sums is distinct from g.sums limit 100`;

/** Compares daily usage with the sums of `generations` on these days, within one snapshot. */
export async function compareUsage(
  session: PatientSession,
  findings: LedgerFindings,
  { organizationId, firstDay }: UsageRange,
  generations: UsageSums,
): Promise<void> {
  const values = [organizationId, firstDay];
  const missing = new Map([...generations].filter(([place]) => place >= firstDay));
  const compare = (place: string, expected: string, found: string) => {
    if (expected === found) return;
    findings.add('daily usage is the sum of the generations', `${organizationId} ${place}`, expected, found);
  };
  for (const { place, sums } of await session.read<{ place: string; sums: string }>(USAGE, values)) {
    compare(place, missing.get(place)?.join(' ') ?? 'nothing', sums);
    missing.delete(place);
  }
  for (const [place, sums] of missing) compare(place, sums.join(' '), 'nothing');
  for (const [rule, sql] of [
    ["an organization's daily spend is the sum of its daily usage", ORGANIZATION_SPEND],
    ["a key's daily spend is the sum of its daily usage", KEY_SPEND],
    ['usage of users is the sum of their generations', USER_USAGE],
  ] as const) {
    findings.addAll(rule, await session.read<Omit<LedgerDifference, 'rule'>>(sql, values));
  }
}
