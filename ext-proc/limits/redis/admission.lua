-- Decides one admission. Either everything is taken, or the first failing rule is the reply and
-- nothing is taken.

local function forget_spent(hash, today)
  local last_day = hash.day
  if last_day and last_day < today then
    redis.call('HDEL', hash.name, 'spent:' .. (last_day - 1), 'spent:' .. (today - 2))
    if last_day < today - 1 then
      redis.call('HDEL', hash.name, 'spent:' .. last_day)
    end
  end
end

local function move_to(call, hash, minute)
  if hash.minute ~= minute then
    hash.minute, hash.requests, hash.tokens, hash.counts, hash.begins_minute = minute, 0, 0, true, true
  end
  if hash.day ~= call.today then
    forget_spent(hash, call.today)
    hash.day, hash.begins_minute = call.today, true
  end
end

local function is_over(limit, used, more)
  return limit ~= '' and used + more > limit
end

-- A request larger than the whole limit is admitted when nothing is counted yet.
local function is_over_tokens(limit, used, tokens)
  return limit ~= '' and used > 0 and used + tokens > limit
end

local function is_over_budget(limit, hash, amount)
  return limit ~= '' and tonumber(string.match(hash.spent, '|(%d+)$')) + hash.held_today + amount > tonumber(limit)
end

-- Counts the holds of a key again: after a recovery its sums may be too high.
local function count_holds(call, org, key, fields)
  save_freed(org)
  local sums, records, stored = {}, {}, redis.call('HGETALL', org.holds)
  for i = 1, #stored, 2 do
    records[stored[i]] = stored[i + 1]
  end
  for _, hold_id in ipairs(org.changed) do
    records[hold_id] = org.records[hold_id] or nil
  end
  for _, record in pairs(records) do
    local key_id, day, _, _, amount = parse_hold(record)
    if key_id == key.id then
      sums[day] = (sums[day] or 0) + amount
    end
  end
  key.held_today, key.counts, sums[call.TODAY] = sums[call.TODAY] or 0, true, nil
  for field in pairs(fields) do
    if string.find(field, '^held:') and field ~= call.HELD_TODAY then
      redis.call('HDEL', key.name, field)
      fields[field] = nil
    end
  end
  for day, sum in pairs(sums) do
    fields['held:' .. day] = text(sum)
    redis.call('HSET', key.name, 'held:' .. day, text(sum))
  end
  redis.call('HSET', key.name, 'counted', org.trust_counter)
end

-- Returns the holds of a key that belong to other days than today: those of the month, and all.
-- Requests of one call read them once.
local function held_on_other_days(call, org, key, first, next_first)
  local fields, stored, held_in_month, held = {}, redis.call('HGETALL', key.name), 0, 0
  for i = 1, #stored, 2 do
    fields[stored[i]] = stored[i + 1]
  end
  if fields.counted ~= org.trust_counter then
    count_holds(call, org, key, fields)
  end
  for field, amount in pairs(fields) do
    local kind, day = string.match(field, '^(%l+):(%d+)$')
    day = tonumber(day)
    if kind == 'held' and day ~= call.today then
      held = held + amount
      held_in_month = day >= first and day < next_first and held_in_month + amount or held_in_month
    elseif kind == 'month' and day < first - 31 then
      redis.call('HDEL', key.name, field)
    end
  end
  return { in_month = held_in_month, all = held, under = org.trust_counter }
end

-- Returns the scarcest funds among a key's longer budgets and the balance: name and amount left.
local function scarcest_funds(call, org, key, longer, available)
  local first, next_first, monthly, lifetime = unpack(longer)
  if not key.other_days or key.other_days.under ~= org.trust_counter then
    key.other_days = held_on_other_days(call, org, key, first, next_first)
  end
  local scarcest, held_in_month, held = 'balance', key.held_today + key.other_days.in_month, key.held_today + key.other_days.all
  for _, budget in ipairs({ { 'lifetime_budget', lifetime, 'lifetime', held }, { 'monthly_budget', monthly, 'month:' .. text(first), held_in_month } }) do
    local name, limit, field, held_within = unpack(budget)
    if limit ~= '' then
      local left = limit - string.match(key.longer[field] or redis.call('HGET', key.name, field), '|(%d+)$') - held_within
      if left <= available then
        scarcest, available = name, left
      end
    end
  end
  return scarcest, available
end

local function reply_with(verdict, day, org, key)
  return { verdict, day, org.minute, '', org.requests, org.tokens, key.requests, key.tokens }
end

local function admit(call, org, hold_id)
  local at = call.next
  call.next = at + 21
  local key_id, tokens, amount, concurrency, span, rpm, tpm, budget, key_rpm, key_tpm, key_budget, longer = unpack(call.args, at, at + 11)
  if not org.shard.admits or org.opens > org.shard.now then
    return { org.shard.fenced_off and 'fenced_off' or 'closed' }
  end
  if not org.is_known then
    begin_organization(org)
  end
  local key = org.keys[key_id] or open_key(call, org, key_id)
  if not key.is_known then
    begin_key(key)
  end
  local minute = call.minute
  -- A call that read its clock just before the minute ended counts in the next minute.
  if org.minute == minute + 1 then
    minute = minute + 1
  end
  move_to(call, org, minute)
  move_to(call, key, minute)

  local record = org.records[hold_id]
  if record then
    local _, day = parse_hold(record)
    return reply_with('admitted', tonumber(day), org, key)
  end
  if not trusts(org, key, call.args[at + 12], hold_id) then
    return { 'read_again', call.today }
  end
  learn(call, org, key, at + 12)
  if call.args[at + 14] ~= call.TODAY or call.args[at + 18] ~= call.TODAY then
    return { 'read_again', call.today }
  end

  local sum, funds, available, failing, of_key = tonumber(amount), 'balance', tonumber(org.balance) - org.held, nil, false
  if longer ~= '' then
    funds, available = scarcest_funds(call, org, key, longer, available)
  end
  if org.live >= concurrency then
    failing = 'concurrency'
  elseif is_over(rpm, org.requests, 1) or is_over(key_rpm, key.requests, 1) then
    failing, of_key = 'requests', not is_over(rpm, org.requests, 1)
  elseif is_over_tokens(tpm, org.tokens, tokens) or is_over_tokens(key_tpm, key.tokens, tokens) then
    failing, of_key = 'tokens', not is_over_tokens(tpm, org.tokens, tokens)
  elseif is_over_budget(budget, org, sum) or is_over_budget(key_budget, key, sum) then
    failing, of_key = 'daily_budget', not is_over_budget(budget, org, sum)
  elseif available < sum then
    failing = funds
  end
  if failing then
    local refused = reply_with(failing, call.today, org, key)
    refused[4], refused[9] = text(available), of_key and 1 or 0
    return refused
  end
  org.requests, org.tokens, org.held_today, org.counts = org.requests + 1, org.tokens + tokens, org.held_today + sum, true
  key.requests, key.tokens, key.held_today, key.counts = key.requests + 1, key.tokens + tokens, key.held_today + sum, true
  org.held, org.live = org.held + sum, org.live + 1
  org.records[hold_id] = text(org.shard.now + span) .. '/' .. text(span) .. '|' .. key_id .. '|' .. call.TODAY .. '|' .. text(minute) .. '|' .. text(tokens) .. '|' .. amount
  org.changed[#org.changed + 1] = hold_id
  return reply_with('admitted', call.today, org, key)
end
