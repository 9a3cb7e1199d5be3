-- Spend of a key on all days, like key_month_spend().
create or replace function key_lifetime_spend(key text) returns bigint language sql stable as $$
  select coalesce(sum(s.spent_nano_usd), 0)::bigint from key_daily_spend s where s.key_id = $1
$$;
