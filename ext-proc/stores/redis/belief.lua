-- What is believed of a snapshot; memory/account-state.ts has the rules and their proof.

local TOLD_TTL_MS = '60000'

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

local function learn_spent(hash, generation, day, sequence, amount)
  local field = 'spent:' .. day
  set(hash, field, newer_spent(get(hash, field), generation, sequence, amount))
end

local function learn(org, key, at)
  if tonumber(ARGV[at + 1]) >= tonumber(get(org, 'sequence')) then
    set(org, 'sequence', ARGV[at + 1])
    set(org, 'balance', ARGV[at + 3])
  end
  local generation = get(org, 'generation')
  learn_spent(org, generation, ARGV[at + 2], ARGV[at + 1], ARGV[at + 4])
  if key then
    learn_spent(key, generation, ARGV[at + 6], ARGV[at + 5], ARGV[at + 7])
  end
end

-- Everybody has to read again, also who was told before.
local function distrust(org)
  set(org, 'trusted', '0')
  add(org, 'round', 1)
end

-- Whether who comes with this epoch may be believed; if not, it is told to read again.
local function believe(org, key, epoch, hold_id)
  if get(org, 'trusted') == '1' and get(org, 'epoch') ~= epoch then
    distrust(org)
  end
  if get(org, 'trusted') == '1' and get(key, 'trusted') == get(org, 'generation') then
    return true
  end
  local told = org.prefix .. 'told:' .. key.id
  local caller = get(org, 'incarnation') .. '/' .. get(org, 'generation') .. '/' .. text(get(org, 'round')) .. '/' .. hold_id
  if redis.call('SREM', told, caller) == 0 then
    redis.call('SADD', told, caller)
    redis.call('PEXPIRE', told, TOLD_TTL_MS)
    return false
  end
  if get(org, 'epoch') ~= epoch then
    set(org, 'epoch', epoch)
    set(org, 'sequence', -1)
    set(org, 'generation', next_generation(org.shard.name))
  end
  set(org, 'trusted', '1')
  set(key, 'trusted', get(org, 'generation'))
  redis.call('DEL', told)
  return true
end
