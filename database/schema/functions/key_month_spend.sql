-- Spend of a key in the month of a day. It is a sum over key_daily_spend, so that spend is recorded
-- in one place only. Stable, so it sees the same snapshot as the calling statement.
create or replace function key_month_spend(key text, day date) returns bigint language sql stable as $$
  select coalesce(sum(s.spent_nano_usd), 0)::bigint from key_daily_spend s
  where s.key_id = $1 and s.day >= date_trunc('month', $2::timestamp)::date and s.day < (date_trunc('month', $2::timestamp) + interval '1 month')::date
$$;
