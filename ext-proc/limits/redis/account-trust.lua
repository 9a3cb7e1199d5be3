-- Decides which account snapshots count (docs/life-of-a-request.md, "An account in the limit
-- store").
-- A snapshot in the arguments is: ledger epoch; the organization's sequence, day, balance, spent;
-- the key's sequence, day, spent, and for a key with longer budgets the first day of the month,
-- spent in the month and in the lifetime ('' for none of both, '' for one that is absent).

-- Returns the spend of a day with the newest sequence, as it is stored.
local function newer_spent(stored, trust_counter, sequence, amount)
  if stored then
    local of, stored_sequence = string.match(stored, '^(.-)|(-?%d+)|')
    if of == trust_counter and tonumber(stored_sequence) > tonumber(sequence) then
      return stored
    end
  end
  return trust_counter .. '|' .. sequence .. '|' .. amount
end

local function learn_spent(call, org, hash, sequence, day, amount)
  if day ~= call.TODAY then
    save_freed(org)
    local field = 'spent:' .. day
    redis.call('HSET', hash.name, field, newer_spent(redis.call('HGET', hash.name, field), org.trust_counter, sequence, amount))
    return
  end
  local spent = newer_spent(hash.spent, org.trust_counter, sequence, amount)
  if spent ~= hash.spent then
    hash.spent, hash.learns = spent, true
  end
end

-- Applies the spend of a key's month and lifetime.
local function learn_longer(org, key, sequence, first, month, lifetime)
  for field, amount in pairs({ ['month:' .. first] = month, lifetime = lifetime }) do
    if amount ~= '' then
      local stored = key.longer[field] or redis.call('HGET', key.name, field)
      key.longer[field] = newer_spent(stored, org.trust_counter, sequence, amount)
      key.learns_longer = key.learns_longer or key.longer[field] ~= stored
    end
  end
end

-- Applies the snapshot that begins at this argument. One older than the stored changes nothing.
local function learn(call, org, key, first)
  local _, sequence, day, balance, spent, key_sequence, key_day, key_spent, longer = unpack(call.args, first, first + 8)
  if sequence ~= org.sequence and tonumber(sequence) >= tonumber(org.sequence) or balance ~= org.balance and sequence == org.sequence then
    org.sequence, org.balance, org.learns = sequence, balance, true
  end
  learn_spent(call, org, org, sequence, day, spent)
  if key.is_known then
    learn_spent(call, org, key, key_sequence, key_day, key_spent)
    if longer ~= '' then
      learn_longer(org, key, key_sequence, text(longer[1]), longer[2], longer[3])
    end
  end
end

-- Withdraws trust, also from all keys. Every caller has to read again, even if asked before.
local function distrust(org)
  org.trusted, org.round, org.begins = false, text(tonumber(org.round) + 1), true
end

-- Returns whether the snapshot of an admission, which has this ledger epoch, is trusted. If not,
-- the caller is noted in `told` and has to read again. Its second snapshot is trusted.
local function trusts(org, key, epoch, hold_id)
  if org.trusted and org.epoch ~= epoch then
    distrust(org)
  end
  local under = org.trust_counter .. '/' .. org.round
  if org.trusted and key.trusted == under then
    return true
  end
  local told = org.prefix .. 'told:' .. key.id
  local caller = org.incarnation .. '/' .. under .. '/' .. hold_id
  if redis.call('SREM', told, caller) == 0 then
    redis.call('SADD', told, caller)
    redis.call('PEXPIRE', told, '60000')
    return false
  end
  if org.epoch ~= epoch then
    org.epoch, org.sequence, org.trust_counter = epoch, '-1', next_trust_counter(org.shard.name)
    under = org.trust_counter .. '/' .. org.round
  end
  org.trusted, org.begins, key.trusted, key.begins = true, true, under, true
  redis.call('DEL', told)
  return true
end
