-- An organization as one call works on it: what is kept of it is read when it is opened and written when it is saved.

local ORG_FIELDS = { 'incarnation', 'generation', 'trusted', 'round', 'epoch', 'sequence', 'balance', 'held', 'minute', 'requests', 'tokens',
  'day', HELD_TODAY, SPENT_TODAY }
local KEY_FIELDS = { 'incarnation', 'trusted', 'minute', 'requests', 'tokens', 'day', HELD_TODAY, SPENT_TODAY }

local function key_of(org, key_id)
  local key = org.keys[key_id]
  if not key then
    key = open_hash(org.prefix .. 'key:' .. key_id)
    key.id = key_id
    fetch(key, KEY_FIELDS)
    org.keys[key_id] = key
  end
  return key
end

local function shard_of(name)
  local shard = shards[name]
  if not shard then
    shard = { name = name }
    if has_admissions then
      shard.incarnation, shard.open = incarnation_of(name, run, now, lease_ms)
    else
      -- Whether it is over is asked by admissions and renewals: what is told to one that is over is lost with it.
      shard.incarnation = redis.call('HGET', name, 'incarnation')
    end
    shards[name] = shard
  end
  return shard
end

-- Reads what requests with these hold ids need.
local function open_organization(shard, id, hold_ids)
  local prefix = string.sub(shard.name, 1, -#'shard' - 1)
  local org = open_hash(prefix .. 'org:' .. id)
  org.shard, org.prefix, org.keys, org.leases = shard, prefix, {}, prefix .. 'leases:' .. id
  org.holds = open_hash(prefix .. 'holds:' .. id)
  fetch(org, ORG_FIELDS)
  org.is_known = shard.incarnation and org.known.incarnation == shard.incarnation
  if org.is_known then
    if lapse(org.name, org.holds.name, org.leases, prefix .. 'key:', now) then
      fetch(org, ORG_FIELDS)
    end
    fetch(org.holds, hold_ids)
  end
  org.live = org.is_known and has_admissions and redis.call('ZCARD', org.leases) or 0
  org.was_empty = org.live == 0
  return org
end

local function begin_organization(org)
  empty(org)
  empty(org.holds)
  redis.call('DEL', org.leases)
  org.is_known = true
  set(org, 'incarnation', org.shard.incarnation)
  set(org, 'generation', next_generation(org.shard.name))
  set(org, 'epoch', '')
  set(org, 'sequence', -1)
  for _, field in ipairs({ 'trusted', 'round', 'balance', 'held', 'requests', 'tokens' }) do
    set(org, field, 0)
  end
end

local function begin_key(key, incarnation)
  empty(key)
  set(key, 'incarnation', incarnation)
  set(key, 'trusted', '')
end

-- What is freed goes first: when memory is full a script may write on only if it has begun with what takes none.
local function save(org)
  local freed = removed(org.holds)
  if #freed > 0 then
    redis.call('ZREM', org.leases, unpack(freed))
  end
  written(org)
  removed(org)
  for _, key in pairs(org.keys) do
    written(key)
    removed(key)
    if key.begins_minute then
      redis.call('PEXPIRE', key.name, ttl_ms)
    end
  end
  local taken = written(org.holds)
  if #taken > 0 then
    local leases, lapses_at = {}, text(now + lease_ms)
    for i = 1, #taken, 2 do
      leases[i], leases[i + 1] = lapses_at, taken[i]
    end
    redis.call('ZADD', org.leases, unpack(leases))
  end
  -- Once a minute is often enough: the time is at least a minute longer than a lease.
  if org.begins_minute then
    redis.call('PEXPIRE', org.name, ttl_ms)
  end
  if org.begins_minute or (org.was_empty and #taken > 0) then
    redis.call('PEXPIRE', org.holds.name, ttl_ms)
    redis.call('PEXPIRE', org.leases, ttl_ms)
  end
end
