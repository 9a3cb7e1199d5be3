-- Keys whose monthly or lifetime budgets alerts look at every few seconds (database/alerts/crossings.ts).
-- Serves code from version 23 on.
set local lock_timeout = '2s';

create index keys_with_long_budget on keys (organization_id)
  where (monthly_budget_nano_usd is not null or lifetime_budget_nano_usd is not null) and revoked_at is null;
