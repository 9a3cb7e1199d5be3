-- Trust in snapshots; memory/account-state.ts has the rules and their proof. A snapshot is
--   ledger epoch, the organization's sequence, day, balance, spent, the key's sequence, day, spent

-- Newest by sequence; of another generation: nothing is known.
local function newer_spent(known, generation, sequence, amount)
  if known then
    local of, known_sequence = string.match(known, '^(.-)|(-?%d+)|')
    if of == generation and tonumber(known_sequence) > tonumber(sequence) then
      return known
    end
  end
  return generation .. '|' .. sequence .. '|' .. amount
end

local function learn_spent(turn, org, hash, sequence, day, amount)
  if day ~= turn.TODAY then
    save_freed(org)
    local field = 'spent:' .. day
    redis.call('HSET', hash.name, field, newer_spent(redis.call('HGET', hash.name, field), org.generation, sequence, amount))
    return
  end
  local spent = newer_spent(hash.spent, org.generation, sequence, amount)
  if spent ~= hash.spent then
    hash.spent, hash.learns = spent, true
  end
end

local function learn(turn, org, key, at)
  local _, sequence, day, balance, spent, key_sequence, key_day, key_spent = unpack(turn.asked, at, at + 7)
  if sequence ~= org.sequence and tonumber(sequence) >= tonumber(org.sequence) or balance ~= org.balance and sequence == org.sequence then
    org.sequence, org.balance, org.learns = sequence, balance, true
  end
  learn_spent(turn, org, org, sequence, day, spent)
  if key.is_known then
    learn_spent(turn, org, key, key_sequence, key_day, key_spent)
  end
end

-- Requires every caller to read again, also callers that were asked before.
local function distrust(org)
  org.trusted, org.round, org.begins = false, org.round + 1, true
end

-- True if a caller with this epoch is trusted; otherwise it has to read again.
local function believe(org, key, epoch, hold_id)
  if org.trusted and org.epoch ~= epoch then
    distrust(org)
  end
  if org.trusted and key.trusted == org.generation then
    return true
  end
  local told = org.prefix .. 'told:' .. key.id
  local caller = org.incarnation .. '/' .. org.generation .. '/' .. text(org.round) .. '/' .. hold_id
  if redis.call('SREM', told, caller) == 0 then
    redis.call('SADD', told, caller)
    redis.call('PEXPIRE', told, '60000')
    return false
  end
  if org.epoch ~= epoch then
    org.epoch, org.sequence, org.generation = epoch, '-1', next_generation(org.shard.name)
  end
  org.trusted, org.begins, key.trusted, key.begins = true, true, org.generation, true
  redis.call('DEL', told)
  return true
end
