-- Sums of request_stats by UTC day: what the dashboard shows of a month is a twentieth of the rows. A day is summed up once, some hours
-- after its end; request_days says how far that is, so that a reader takes days before it from here and hours since then from request_stats.
create table request_day_stats (
  organization_id text collate "C" not null,
  day date not null,
  key_id text collate "C" not null,
  model text collate "C" not null,
  code text collate "C" not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_nano_usd bigint not null,
  first_event_buckets bigint[] not null check (cardinality(first_event_buckets) = 11),
  primary key (organization_id, day, key_id, model, code)
);

create table request_days (
  single boolean primary key default true check (single),
  -- Exclusive.
  summed_until date not null default date '1970-01-01'
);
insert into request_days default values;
