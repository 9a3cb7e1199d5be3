-- One admission: everything is taken, or the first failing rule is the answer and nothing is.

local function forget_spent(hash)
  local last_day = tonumber(get(hash, 'day'))
  if last_day == today then
    return
  end
  if last_day and last_day < today then
    set(hash, 'spent:' .. (last_day - 1), false)
    set(hash, 'spent:' .. (today - 2), false)
    if last_day < today - 1 then
      set(hash, 'spent:' .. last_day, false)
    end
  end
  set(hash, 'day', today)
end

local function move_to(hash, minute)
  if tonumber(get(hash, 'minute')) ~= minute then
    set(hash, 'minute', minute)
    set(hash, 'requests', 0)
    set(hash, 'tokens', 0)
    hash.begins_minute = true
  end
end

local function is_over(limit, used, more)
  return limit ~= '' and used + more > tonumber(limit)
end

-- A request larger than the whole limit is admitted when nothing is counted yet.
local function is_over_tokens(limit, used, tokens)
  return used > 0 and is_over(limit, used, tokens)
end

local function is_over_budget(limit, hash, amount)
  if limit == '' then
    return false
  end
  local spent = string.match(get(hash, SPENT_TODAY), '|(%d+)$')
  return is_over(limit, tonumber(spent) + (tonumber(get(hash, HELD_TODAY)) or 0), amount)
end

local function admit(org, hold_id)
  local at = take_arguments(18)
  if not org.shard.open then
    return { 'closed' }
  end
  if not org.is_known then
    begin_organization(org)
  end
  local key = key_of(org, ARGV[at])
  if get(key, 'incarnation') ~= org.shard.incarnation then
    begin_key(key, org.shard.incarnation)
  end
  local tokens, amount, limits = tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2]), at + 12
  local minute = this_minute
  -- A call of the minute before the window's counts in the window.
  if tonumber(get(org, 'minute')) == minute + 1 then
    minute = minute + 1
  end
  move_to(org, minute)
  move_to(key, minute)
  forget_spent(org)
  forget_spent(key)

  local function available()
    return tonumber(get(org, 'balance')) - tonumber(get(org, 'held'))
  end
  local function admitted_on(day)
    return { 'admitted', day, minute, '', tonumber(get(org, 'requests')), tonumber(get(org, 'tokens')),
      tonumber(get(key, 'requests')), tonumber(get(key, 'tokens')) }
  end

  local record = get(org.holds, hold_id)
  if record then
    return admitted_on(tonumber(string.match(record, '^.-|(%d+)|')))
  end
  if not believe(org, key, ARGV[at + 3], hold_id) then
    return { 'read_again', today }
  end
  learn(org, key, at + 3)
  if tonumber(ARGV[at + 5]) ~= today or tonumber(ARGV[at + 9]) ~= today then
    return { 'read_again', today }
  end

  local org_requests, key_requests = tonumber(get(org, 'requests')), tonumber(get(key, 'requests'))
  local org_tokens, key_tokens = tonumber(get(org, 'tokens')), tonumber(get(key, 'tokens'))
  local failing
  if org.live >= tonumber(ARGV[at + 11]) then
    failing = 'concurrency'
  elseif is_over(ARGV[limits], org_requests, 1) or is_over(ARGV[limits + 3], key_requests, 1) then
    failing = 'requests'
  elseif is_over_tokens(ARGV[limits + 1], org_tokens, tokens) or is_over_tokens(ARGV[limits + 4], key_tokens, tokens) then
    failing = 'tokens'
  elseif is_over_budget(ARGV[limits + 2], org, amount) or is_over_budget(ARGV[limits + 5], key, amount) then
    failing = 'daily_budget'
  elseif available() < amount then
    failing = 'balance'
  end
  if failing then
    return { failing, today, minute, text(available()), org_requests, org_tokens, key_requests, key_tokens }
  end
  for _, hash in ipairs({ org, key }) do
    add(hash, 'requests', 1)
    add(hash, 'tokens', tokens)
    add_held(hash, HELD_TODAY, amount)
  end
  add(org, 'held', amount)
  org.live = org.live + 1
  set(org.holds, hold_id, key.id .. '|' .. TODAY .. '|' .. text(minute) .. '|' .. ARGV[at + 1] .. '|' .. ARGV[at + 2])
  return admitted_on(today)
end
