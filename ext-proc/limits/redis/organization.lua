-- An organization, or a key of it, as one call works on it: read when it is opened, written when it
-- is saved. Functions are few, and take what they need from `turn`: a script makes its functions
-- again for each call, and forty of them cost 27 us. Numbers become text here, with %d: where Redis
-- does it, it takes 2 us each.

local function text(number)
  return string.format('%d', number)
end

local function open_key(turn, org, key_id)
  local name = org.prefix .. 'key:' .. key_id
  local v = redis.call('HMGET', name, 'incarnation', 'trusted', 'minute', 'requests', 'tokens', 'day', turn.HELD_TODAY, turn.SPENT_TODAY)
  local key = { name = name, id = key_id, is_known = v[1] and v[1] == org.incarnation, trusted = v[2], minute = tonumber(v[3]), requests = tonumber(v[4]),
    tokens = tonumber(v[5]), day = tonumber(v[6]), held_today = tonumber(v[7]) or 0, spent = v[8], counts = false, learns = false, begins = false, begins_minute = false }
  org.keys[key_id] = key
  return key
end

local function read_organization(turn, org)
  local v = redis.call('HMGET', org.name, 'incarnation', 'generation', 'trusted', 'round', 'epoch', 'sequence', 'balance', 'held', 'minute',
    'requests', 'tokens', 'day', turn.HELD_TODAY, turn.SPENT_TODAY, 'opens', 'ends')
  org.is_known, org.is_there = v[1] and v[1] == org.incarnation, v[1]
  org.generation, org.trusted, org.round, org.epoch, org.sequence, org.balance = v[2], v[3] == '1', tonumber(v[4]), v[5], v[6], v[7]
  org.held, org.minute, org.requests, org.tokens, org.day = tonumber(v[8]), tonumber(v[9]), tonumber(v[10]), tonumber(v[11]), tonumber(v[12])
  org.held_today, org.spent, org.opens, org.ends = tonumber(v[13]) or 0, v[14], tonumber(v[15]) or 0, tonumber(v[16])
end

local function recover_organization(turn, org)
  local shard = org.shard
  recover(shard.name, shard.incarnation, org.name, org.holds, org.leases, org.quarantine, shard.at, turn.lease_ms, turn.ttl_ms)
  read_organization(turn, org)
end

-- Reads what requests with these hold ids need.
local function open_organization(turn, shard, id, hold_ids)
  local prefix = string.sub(shard.name, 1, -6)
  local org = { name = prefix .. 'org:' .. id, prefix = prefix, holds = prefix .. 'holds:' .. id, leases = prefix .. 'leases:' .. id,
    quarantine = prefix .. 'quarantine:' .. id, id = id, shard = shard, incarnation = shard.incarnation, keys = {}, records = {}, taken = {}, freed = {}, live = 0, was_empty = false, counts = false,
    learns = false, begins = false, begins_minute = false }
  read_organization(turn, org)
  if not org.is_there and shard.incarnation and is_lost(shard.name, shard.incarnation, id, org.leases, org.quarantine, shard.at, turn.ttl_ms) then
    recover_organization(turn, org)
  end
  if org.is_known then
    if lapse(org.name, org.holds, org.leases, org.quarantine, prefix .. 'key:', org.ends, shard.at, turn.ttl_ms) then
      read_organization(turn, org)
    end
    if turn.has_admissions then
      org.live = redis.call('ZCARD', org.leases)
      if org.live == 0 and org.held > 0 and not org.ends then
        recover_organization(turn, org)
      end
    end
    local records = redis.call('HMGET', org.holds, unpack(hold_ids))
    for i = 1, #hold_ids do
      org.records[hold_ids[i]] = records[i]
    end
  end
  org.was_empty = org.live == 0
  return org
end

local function begin_organization(org)
  redis.call('DEL', org.name, org.holds, org.leases, org.quarantine)
  org.is_known, org.generation, org.trusted, org.round, org.epoch = true, next_generation(org.shard.name), false, 0, ''
  org.sequence, org.balance, org.held, org.minute, org.requests, org.tokens, org.day = '-1', '0', 0, nil, 0, 0, nil
  org.held_today, org.spent, org.opens, org.ends, org.begins, org.counts, org.learns = 0, false, 0, nil, true, true, true
end

local function begin_key(key)
  redis.call('DEL', key.name)
  key.is_known, key.trusted, key.minute, key.requests, key.tokens, key.day = true, '', nil, 0, 0, nil
  key.held_today, key.spent, key.begins, key.counts = 0, false, true, true
end

-- Before anything else of a release: when memory is full a script may write on only if it has begun
-- with what takes none.
local function save_freed(org)
  if #org.freed > 0 then
    redis.call('HDEL', org.holds, unpack(org.freed))
    redis.call('ZREM', org.leases, unpack(org.freed))
    if org.frees_quarantined then
      redis.call('ZREM', org.quarantine, unpack(org.freed))
    end
    org.freed = {}
  end
end

local function put(fields, name, value)
  local n = #fields
  fields[n + 1], fields[n + 2] = name, value
end

-- Both kinds have these. Of a day on which nothing is held, or nothing is known to be spent, there
-- is no field.
local function save_common(turn, hash, fields)
  if hash.counts then
    put(fields, 'requests', text(hash.requests))
    put(fields, 'tokens', text(hash.tokens))
    if hash.held_today > 0 then
      put(fields, turn.HELD_TODAY, text(hash.held_today))
    end
  end
  if hash.learns and hash.spent then
    put(fields, turn.SPENT_TODAY, hash.spent)
  end
  if hash.begins_minute then
    put(fields, 'minute', text(hash.minute))
    put(fields, 'day', text(hash.day))
  end
  if #fields > 0 then
    redis.call('HSET', hash.name, unpack(fields))
  end
  if hash.counts and hash.held_today <= 0 then
    redis.call('HDEL', hash.name, turn.HELD_TODAY)
  end
  -- Once a minute is often enough: the time is at least a minute longer than a lease.
  if hash.begins_minute then
    redis.call('PEXPIRE', hash.name, turn.ttl_ms)
  end
end

local function save_holds(turn, org)
  local records, leases, lapses_at = {}, {}, text(org.shard.at + turn.lease_ms)
  for _, hold_id in ipairs(org.taken) do
    local record = org.records[hold_id]
    if record then
      put(records, hold_id, record)
      put(leases, lapses_at, hold_id)
    end
  end
  if #records > 0 then
    redis.call('HSET', org.holds, unpack(records))
    redis.call('ZADD', org.leases, unpack(leases))
  end
  if org.begins_minute or org.was_empty then
    redis.call('PEXPIRE', org.holds, turn.ttl_ms)
    redis.call('PEXPIRE', org.leases, turn.ttl_ms)
  end
end

local function save_organization(turn, org)
  save_freed(org)
  local fields = {}
  if org.counts then
    put(fields, 'held', text(org.held))
  end
  if org.learns then
    put(fields, 'sequence', org.sequence)
    put(fields, 'balance', org.balance)
  end
  if org.begins then
    put(fields, 'incarnation', org.incarnation)
    put(fields, 'generation', org.generation)
    put(fields, 'trusted', org.trusted and '1' or '0')
    put(fields, 'round', text(org.round))
    put(fields, 'epoch', org.epoch)
  end
  save_common(turn, org, fields)
  if org.begins_minute then
    note_known(org.shard.name, org.incarnation, org.id, org.shard.at)
  end
  for _, key in pairs(org.keys) do
    if key.is_known then
      save_common(turn, key, key.begins and { 'incarnation', org.incarnation, 'trusted', key.trusted } or {})
    end
  end
  if #org.taken > 0 or org.begins_minute then
    save_holds(turn, org)
  end
end
