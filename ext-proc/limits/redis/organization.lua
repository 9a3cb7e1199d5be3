-- Holds an organization and its keys as Lua tables during one call: read when the call opens them,
-- written when it saves them. Flags say what has to be written: `counts` (windows and held sums),
-- `learns` (snapshot), `learns_longer` (`longer`: a key's spend by month and of its lifetime),
-- `begins` (identity and trust), `begins_minute` (window, expiry).
--
-- Functions are few and take what they need from `call`: a script creates its functions in each
-- call, and forty of them cost 27 us. Numbers become text here, with %d: Redis takes 2 us for each.

local function text(number)
  return string.format('%d', number)
end

local function open_key(call, org, key_id)
  local name = org.prefix .. 'key:' .. key_id
  local v = redis.call('HMGET', name, 'incarnation', 'trusted', 'minute', 'requests', 'tokens', 'day', call.HELD_TODAY, call.SPENT_TODAY)
  local key = { name = name, id = key_id, is_known = v[1] and v[1] == org.incarnation, trusted = v[2], minute = tonumber(v[3]), requests = tonumber(v[4]),
    tokens = tonumber(v[5]), day = tonumber(v[6]), held_today = tonumber(v[7]) or 0, spent = v[8], longer = {}, counts = false, learns = false, begins = false, begins_minute = false }
  org.keys[key_id] = key
  return key
end

local function read_organization(call, org)
  local v = redis.call('HMGET', org.name, 'incarnation', 'generation', 'trusted', 'round', 'epoch', 'sequence', 'balance', 'held', 'minute',
    'requests', 'tokens', 'day', call.HELD_TODAY, call.SPENT_TODAY, 'opens', 'ends')
  org.is_known, org.is_there = v[1] and v[1] == org.incarnation, v[1]
  org.trust_counter, org.trusted, org.round, org.epoch, org.sequence, org.balance = v[2], v[3] == '1', v[4], v[5], v[6], v[7]
  org.held, org.minute, org.requests, org.tokens, org.day = tonumber(v[8]), tonumber(v[9]), tonumber(v[10]), tonumber(v[11]), tonumber(v[12])
  org.held_today, org.spent, org.opens, org.ends = tonumber(v[13]) or 0, v[14], tonumber(v[15]) or 0, tonumber(v[16])
end

local function recover_organization(call, org)
  local shard = org.shard
  recover(shard.name, shard.incarnation, org.name, org.holds, org.leases, org.quarantine, shard.now, call.lease_ms, call.ttl_ms)
  read_organization(call, org)
end

-- Reads an organization with these holds: recovers it after a loss, and expires what is due.
local function open_organization(call, shard, id, hold_ids)
  local prefix = string.sub(shard.name, 1, -6)
  local org = { name = prefix .. 'org:' .. id, prefix = prefix, holds = prefix .. 'holds:' .. id, leases = prefix .. 'leases:' .. id,
    quarantine = prefix .. 'quarantine:' .. id, id = id, shard = shard, incarnation = shard.incarnation, keys = {}, records = {}, changed = {}, owed = {}, freed = {}, without_slot = {}, over = {}, live = 0, was_empty = false, counts = false,
    learns = false, begins = false, begins_minute = false }
  read_organization(call, org)
  if not org.is_there and shard.incarnation and is_lost(shard.name, shard.incarnation, id, org.leases, org.quarantine, shard.now, call.ttl_ms) then
    recover_organization(call, org)
  end
  if org.is_known then
    if expire_holds(org.name, org.holds, org.leases, org.quarantine, prefix .. 'key:', org.ends, shard.now, call.ttl_ms) then
      read_organization(call, org)
    end
    if call.has_admissions then
      org.live = redis.call('ZCARD', org.leases)
      if org.live == 0 and org.held > 0 and misses_leases(org.holds, org.quarantine) then
        recover_organization(call, org)
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
  org.is_known, org.trust_counter, org.trusted, org.round, org.epoch = true, next_trust_counter(org.shard.name), false, '0', ''
  org.sequence, org.balance, org.held, org.minute, org.requests, org.tokens, org.day = '-1', '0', 0, nil, 0, 0, nil
  org.held_today, org.spent, org.opens, org.ends, org.begins, org.counts, org.learns = 0, false, 0, nil, true, true, true
end

local function begin_key(key)
  redis.call('DEL', key.name)
  key.is_known, key.trusted, key.minute, key.requests, key.tokens, key.day = true, '', nil, 0, 0, nil
  key.held_today, key.spent, key.begins, key.counts = 0, false, true, true
end

-- Removes released holds and slots. The first write of a release: with full memory Redis lets a
-- script write only if its first write takes no memory.
local function save_freed(org)
  if #org.without_slot > 0 then
    redis.call('ZREM', org.leases, unpack(org.without_slot))
    org.without_slot = {}
  end
  if #org.freed > 0 then
    redis.call('HDEL', org.holds, unpack(org.freed))
    org.freed = {}
  end
  if #org.over > 0 then
    redis.call('ZREM', org.quarantine, unpack(org.over))
    org.over = {}
  end
end

local function put(fields, name, value)
  local n = #fields
  fields[n + 1], fields[n + 2] = name, value
end

-- Writes the fields that organizations and keys share. A day without holds or known spend has no
-- field.
local function save_common(call, hash, fields)
  if hash.counts then
    put(fields, 'requests', text(hash.requests))
    put(fields, 'tokens', text(hash.tokens))
    if hash.held_today > 0 then
      put(fields, call.HELD_TODAY, text(hash.held_today))
    end
  end
  if hash.learns and hash.spent then
    put(fields, call.SPENT_TODAY, hash.spent)
  end
  if hash.begins_minute then
    put(fields, 'minute', text(hash.minute))
    put(fields, 'day', text(hash.day))
  end
  if #fields > 0 then
    redis.call('HSET', hash.name, unpack(fields))
  end
  if hash.counts and hash.held_today <= 0 then
    redis.call('HDEL', hash.name, call.HELD_TODAY)
  end
  -- The TTL is at least a minute longer than a lease, so extending it once a minute is enough.
  if hash.begins_minute then
    redis.call('PEXPIRE', hash.name, call.ttl_ms)
  end
end

local function save_holds(call, org)
  local records, leases, quarantine, expires_at = {}, {}, {}, text(org.shard.now + call.lease_ms)
  for _, hold_id in ipairs(org.changed) do
    local record = org.records[hold_id]
    if record then
      put(records, hold_id, record)
      if org.owed[hold_id] then
        put(quarantine, text(org.owed[hold_id]), hold_id)
      else
        put(leases, expires_at, hold_id)
      end
    end
  end
  if #records > 0 then
    redis.call('HSET', org.holds, unpack(records))
  end
  if #leases > 0 then
    redis.call('ZADD', org.leases, unpack(leases))
  end
  if #quarantine > 0 then
    redis.call('ZADD', org.quarantine, unpack(quarantine))
    redis.call('PEXPIRE', org.quarantine, call.ttl_ms)
  end
  if org.begins_minute or org.was_empty then
    redis.call('PEXPIRE', org.holds, call.ttl_ms)
    redis.call('PEXPIRE', org.leases, call.ttl_ms)
  end
end

local function save_organization(call, org)
  save_freed(org)
  local fields = {}
  if org.counts then
    put(fields, 'held', text(org.held))
  end
  if org.ends_earlier then
    put(fields, 'ends', text(org.ends))
  end
  if org.learns then
    put(fields, 'sequence', org.sequence)
    put(fields, 'balance', org.balance)
  end
  if org.begins then
    put(fields, 'incarnation', org.incarnation)
    put(fields, 'generation', org.trust_counter)
    put(fields, 'trusted', org.trusted and '1' or '0')
    put(fields, 'round', org.round)
    put(fields, 'epoch', org.epoch)
  end
  save_common(call, org, fields)
  if org.begins_minute then
    note_known(org.shard.name, org.incarnation, org.id, org.shard.now)
  end
  for _, key in pairs(org.keys) do
    if key.is_known then
      local fields = key.begins and { 'incarnation', org.incarnation, 'trusted', key.trusted } or {}
      if key.learns_longer then
        for field, spent in pairs(key.longer) do
          put(fields, field, spent)
        end
      end
      save_common(call, key, fields)
    end
  end
  if #org.changed > 0 or org.begins_minute then
    save_holds(call, org)
  end
end
