-- Spend of a key in the month of a day: a sum of key_daily_spend, so that there is one record of
-- what a key spent. Stable: it sees the same state of the ledger as the statement that calls it.
create or replace function key_month_spend(key text, day date) returns bigint language sql stable as $$
  select coalesce(sum(s.spent_nano_usd), 0)::bigint from key_daily_spend s
  where s.key_id = $1 and s.day >= date_trunc('month', $2::timestamp)::date and s.day < (date_trunc('month', $2::timestamp) + interval '1 month')::date
$$;
