-- Names the invalid part of a charge. Null: it is valid, or a value is missing, which the columns
-- of generations refuse. It is a single expression, so that PostgreSQL inlines it.
create or replace function charge_flaw(g charge) returns text language sql immutable as $$
  select case
    when not (octet_length(g.id) = 30 and g.id >= 'gen-0' and g.id < 'gen-8') then 'its id'
    when not (
      length(g.model) between 1 and 500 and length(g.provider) between 1 and 500 and coalesce(length(g.upstream_id), 0) <= 200
      and coalesce(length(g.finish_reason), 0) <= 100
      and length(g.provider_model) between 1 and 500
      and coalesce(length(g.service_tier), 0) <= 64 and coalesce(length(g.priced_tier), 1) between 1 and 64
    ) then 'its texts'
    when not (
      g.prompt_tokens >= 0 and g.completion_tokens >= 0 and g.cached_tokens between 0 and g.prompt_tokens
      and g.cache_write_tokens between 0 and g.prompt_tokens - g.cached_tokens and g.cache_write_1h_tokens between 0 and g.cache_write_tokens
      and g.reasoning_tokens between 0 and g.completion_tokens
    ) then 'its tokens'
    when not (
      g.input_pico_usd >= 0 and g.cached_input_pico_usd >= 0 and g.output_pico_usd >= 0
      and g.cache_write_pico_usd >= 0 and g.cache_write_1h_pico_usd >= 0 and coalesce(g.priced_above_tokens, 1) > 0
      and coalesce(g.cost_nano_usd, -1) between 0 and 1000000000000000000 and g.hold_nano_usd >= 0
    ) then 'its prices or cost'
    when not (g.first_event_ms >= 0 and g.generation_time_ms >= 0) then 'its times'
  end
$$;
