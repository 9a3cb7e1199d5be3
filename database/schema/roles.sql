-- Database rights of each process. Each `gateway migrate` revokes and grants all of them, so that
-- the rights to a new table come with its release. Rights that were granted by hand are lost: grant
-- them to roles of your own. Nobody signs in as these roles: the database's operator creates users
-- that are members of them (docs/security.md).

revoke all on all tables in schema {schema} from gateway_process, gateway_dashboard, gateway_operator, gateway_backup;
revoke all on all functions in schema {schema} from gateway_process, gateway_dashboard, gateway_operator, gateway_backup;
grant usage on schema {schema} to gateway_process, gateway_dashboard, gateway_operator, gateway_backup;

-- All roles check the timeline when they connect. Gateway process, dashboard and command line also
-- create partitions when they start.
grant execute on function note_timeline to gateway_process, gateway_dashboard, gateway_operator, gateway_backup;
grant execute on function make_month, make_day to gateway_process, gateway_dashboard, gateway_operator;

-- The gateway process reads callers, and charges. It cannot read passwords, sessions or billing
-- data, create keys or add credit.
grant select (id, name, suspended_at, allow_n, concurrency, rpm, tpm, daily_budget_nano_usd, max_tokens, price_list, created_at)
  on organizations to gateway_process;
grant select on schema_migrations, ledger_state, accounts, keys, generations, ledger_entries, daily_usage, user_usage, generation_users,
  generation_costs, uncharged_costs, cost_days, cost_progress, late_costs,
  organization_daily_spend, key_daily_spend, request_log, request_log_other, omitted_requests, request_stats, request_day_stats, request_days, dead_letters,
  losses, ledger_checkpoints, provider_attempts, provider_attempts_other, key_activity, idempotency_keys, stored_responses, stored_response_changes, gateway_processes to gateway_process;
grant execute on function charge_generations, renew_epoch_after, log_requests, count_omitted, record_provider_attempts, outwait_settlements,
  drop_day to gateway_process;
grant execute on function key_month_spend, key_lifetime_spend to gateway_process, gateway_dashboard, gateway_operator;
grant update (memory_owner, limit_store, store_fences) on ledger_state to gateway_process;
grant insert on dead_letters, losses, ledger_checkpoints to gateway_process;
grant insert, update, delete on idempotency_keys, stored_responses, stored_response_changes, gateway_processes to gateway_process;
-- The gateway process makes sums by day, and deletes rows after their retention. It locks rows
-- before it deletes them, which needs the right to update.
grant insert, delete on request_day_stats to gateway_process;
grant insert, update, delete on cost_days to gateway_process;
grant delete on late_costs to gateway_process;
grant update on request_days, cost_progress to gateway_process;
grant update, delete on request_log_other, provider_attempts_other, request_stats, omitted_requests to gateway_process;

-- The dashboard and the operator's command line manage people, keys and organizations. They cannot
-- change a key's hash or an account's balance: credit goes through the function that writes its
-- entry.
grant select on schema_migrations, organizations, accounts, keys, generations, ledger_entries, daily_usage, user_usage, generation_users,
  generation_costs, uncharged_costs, cost_days, cost_progress,
  organization_daily_spend, key_daily_spend, request_log, request_log_other, omitted_requests, request_stats, request_day_stats, request_days, dead_letters, losses,
  ledger_checkpoints, credit_references, provider_attempts, provider_calls, key_activity, gateway_processes, users, memberships, sessions, password_links, sign_in_attempts,
  audit_log to gateway_dashboard, gateway_operator;
-- Without mirror_key and identity_key: only the gateway process seals copies of charges, and hashes
-- customers' identifiers for providers.
grant select (single, epoch, identity, memory_owner, limit_store, store_fences) on ledger_state to gateway_dashboard, gateway_operator;
-- Known browsers are deleted with each new password. `doctor`, run by any user, reads untrusted
-- proxies.
grant select, insert, update, delete on known_browsers to gateway_dashboard, gateway_operator;
-- An invitation is deleted if its invitee becomes a member in another way.
grant select, insert, update, delete on invitations to gateway_dashboard, gateway_operator;
-- The dashboard binds users to an issuer, and makes operators by its claim. The command line can
-- undo both.
grant select, insert, delete on user_identities to gateway_dashboard, gateway_operator;
grant select, insert, update, delete on used_sign_in_states to gateway_dashboard;
-- Payments: the dashboard copies them from Stripe. Only add_credit() books money.
grant select, insert, update on top_ups, top_up_reversals, payment_accounts to gateway_dashboard;
grant select on top_ups, top_up_reversals, payment_accounts to gateway_operator;
grant insert, update, delete on untrusted_proxies to gateway_dashboard;
grant select on untrusted_proxies to gateway_dashboard, gateway_operator, gateway_process;
grant execute on function add_credit to gateway_dashboard, gateway_operator;
grant insert on organizations, keys, users, memberships, sessions, password_links, sign_in_attempts, audit_log to gateway_dashboard, gateway_operator;
grant insert (organization_id) on accounts to gateway_dashboard, gateway_operator;
grant update (name, suspended_at, allow_n, concurrency, rpm, tpm, daily_budget_nano_usd, max_tokens, price_list,
  legal_name, billing_address, tax_id, billing_email) on organizations to gateway_dashboard, gateway_operator;
grant update (name, note, scopes, models, ip_ranges, rpm, tpm, daily_budget_nano_usd, monthly_budget_nano_usd, lifetime_budget_nano_usd, expires_at, revoked_at, revocation_decided_at, created_by)
  on keys to gateway_dashboard, gateway_operator;
grant update (password_hash, password_handed_out, disabled_at, last_signed_in_at) on users to gateway_dashboard, gateway_operator;
grant update (is_operator, operator_by_claim) on users to gateway_dashboard, gateway_operator;
grant update on memberships, sessions, password_links, sign_in_attempts to gateway_dashboard, gateway_operator;
grant delete on users, memberships, sessions, password_links, sign_in_attempts to gateway_dashboard, gateway_operator;
grant select, insert, update, delete on change_counts to gateway_dashboard;
grant select, insert, update, delete on saved_views to gateway_dashboard;
-- Only the dashboard sends mail and webhooks, and has the secrets to sign them.
grant select, insert, update, delete on alert_settings, alert_states, outbox, outbox_attempts to gateway_dashboard;
-- For `ledger dead-letters`: charges with the same function as the gateway process.
grant execute on function charge_generations to gateway_operator;
grant update (resolution, resolved_at) on dead_letters to gateway_operator;
grant insert on losses to gateway_operator;
-- For `ledger checkpoints --write`.
grant insert on ledger_checkpoints to gateway_operator;
-- For `ledger verify`, which looks for stored responses without a charge. It sees neither the
-- responses nor the keys.
grant select (organization_id, generation_id, finished_at) on idempotency_keys to gateway_operator;
-- For `ledger renew-epoch`, after a restore.
grant update (epoch) on ledger_state to gateway_operator;

-- pg_dump reads every table and sequence, including those that are created later.
grant select on all tables in schema {schema} to gateway_backup;
grant select on all sequences in schema {schema} to gateway_backup;
alter default privileges in schema {schema} grant select on tables to gateway_backup;
alter default privileges in schema {schema} grant select on sequences to gateway_backup;
