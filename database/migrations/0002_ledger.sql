-- The money. Amounts are nano-dollars. Rows that a settlement writes carry no foreign keys: settle_generations() proves organization and
-- key once per batch, which costs a fraction of a check per row.

create table ledger_entries (
  organization_id text collate "C" not null,
  sequence bigint not null check (sequence > 0),
  kind text not null check (kind in ('credit', 'charge')),
  amount_nano_usd bigint not null,
  -- The balance after this entry.
  balance_nano_usd bigint not null,
  generation_id text collate "C",
  note text check (length(note) between 1 and 500),
  reference text collate "C" check (length(reference) between 1 and 200),
  actor text check (length(actor) between 1 and 200),
  created_at timestamptz not null default now(),
  primary key (organization_id, sequence),
  check (
    case kind
      when 'charge' then amount_nano_usd <= 0 and generation_id is not null and note is null and reference is null
      else amount_nano_usd <> 0 and generation_id is null and actor is not null
    end
  )
);
create unique index ledger_entries_one_charge on ledger_entries (generation_id) where generation_id is not null;
create unique index ledger_entries_one_reference on ledger_entries (organization_id, reference) where reference is not null;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception '% is append-only', tg_table_name using errcode = 'restrict_violation';
end
$$;
create trigger append_only before update or delete on ledger_entries for each row execute function refuse_change();
create trigger append_only_whole before truncate on ledger_entries for each statement execute function refuse_change();

-- Ids sort by time, so a partition is a range of ids and a lookup by id touches one partition. Months are made ahead by
-- generation-partitions.ts; what has no month yet lands in the default partition and is found there all the same.
create table generations (
  id text collate "C" primary key check (id ~ '^gen-[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  organization_id text collate "C" not null,
  key_id text collate "C" not null,
  -- The day that the admission assigned.
  day date not null,
  model text not null check (length(model) between 1 and 500),
  provider text not null check (length(provider) between 1 and 500),
  upstream_id text check (length(upstream_id) <= 200),
  created_at timestamptz not null,
  streamed boolean not null,
  cancelled boolean not null,
  finish_reason text check (length(finish_reason) <= 100),
  prompt_tokens bigint not null check (prompt_tokens >= 0),
  completion_tokens bigint not null check (completion_tokens >= 0),
  cached_tokens bigint not null check (cached_tokens between 0 and prompt_tokens),
  reasoning_tokens bigint not null check (reasoning_tokens between 0 and completion_tokens),
  usage_counted boolean not null,
  -- The prices used, in pico-dollars per token.
  input_pico_usd bigint not null check (input_pico_usd >= 0),
  cached_input_pico_usd bigint not null check (cached_input_pico_usd >= 0),
  output_pico_usd bigint not null check (output_pico_usd >= 0),
  cost_nano_usd bigint not null check (cost_nano_usd between 0 and 1000000000000000000),
  latency_ms bigint not null check (latency_ms >= 0),
  generation_time_ms bigint not null check (generation_time_ms >= 0)
) partition by range (id);
create table generations_other partition of generations default;

create table daily_usage (
  organization_id text collate "C" not null,
  day date not null,
  key_id text collate "C" not null,
  model text not null,
  requests bigint not null check (requests > 0),
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (organization_id, day, key_id, model)
) with (fillfactor = 70);

-- Sums of daily_usage that authentication reads with every request: one row instead of one for each key and model.
create table organization_daily_spend (
  organization_id text collate "C" not null,
  day date not null,
  spent_nano_usd bigint not null check (spent_nano_usd >= 0),
  primary key (organization_id, day)
) with (fillfactor = 50);
create table key_daily_spend (
  key_id text collate "C" not null,
  day date not null,
  spent_nano_usd bigint not null check (spent_nano_usd >= 0),
  primary key (key_id, day)
) with (fillfactor = 50);
