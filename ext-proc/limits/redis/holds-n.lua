-- Admits and releases holds for a batch of requests, those of one organization in their order. An
-- error in the keys of one organization fails only its requests.
--
-- KEYS  for each organization its shard
-- ARGV  1 clock (shared.lua)
--       2 lease in ms
--       3 TTL of idle keys in ms
--       4 whether there are admissions: 1 or 0
--       5 a JSON array (single arguments cost both sides more). For each organization: id, number
--         n of its requests, position of the next organization in the array, newest fence of its
--         shard that the caller knows, n hold ids, n requests. A request is one of
--           admit, key id, tokens, amount, concurrency, ms of quarantine from now,
--             the organization's rpm, tpm, daily budget, the key's, longer budgets of the key (''
--             or an array: first day of this month and of the next, monthly budget, lifetime
--             budget), snapshot
--           release, key id, tokens used, snapshot
--           release_unknown, key id, tokens used, '': it is unknown whether it was charged
--           release_owed, key id, tokens used, amount
--         Tokens, concurrency, quarantine, rpm and tpm are numbers, the rest is text. An absent
--         limit or snapshot is ''.
-- Returns  now, then for each request one of
--   done | closed | fenced_off | failed, error | read_again, day
--   admitted | concurrency | requests | tokens | daily_budget | monthly_budget | lifetime_budget |
--     balance, each with day, minute, available amount as text ('' when admitted), requests and
--     tokens of the organization's window, requests and tokens of the key's
-- Amounts are at most 2^53 in magnitude (amounts.ts), where doubles are exact.

local now, of_server = clock(ARGV[1])
local TODAY = text(math.floor(now / 86400000))
local call = { now = now, today = math.floor(now / 86400000), minute = math.floor(now / 60000), TODAY = TODAY, HELD_TODAY = 'held:' .. TODAY, SPENT_TODAY = 'spent:' .. TODAY,
  lease_ms = tonumber(ARGV[2]), ttl_ms = ARGV[3], has_admissions = ARGV[4] == '1', args = cjson.decode(ARGV[5]), next = 1 }
local args, shards, reply = call.args, {}, { now }
local run = call.has_admissions and run_id()

local function open_shard(name, newest)
  local shard = { name = name }
  if call.has_admissions then
    shard.incarnation, shard.admits, shard.now, shard.fenced_off = incarnation_of(name, run, now, of_server, call.lease_ms, newest)
  else
    -- Releases do not look for a new incarnation, because it has no holds to release.
    local marker = redis.call('HMGET', name, 'incarnation', 'touched', 'skipped')
    shard.incarnation, shard.now = marker[1], shard_clock(name, now, of_server and marker[1], marker[2], marker[3], 0, call.lease_ms, false)
  end
  shards[name] = shard
  return shard
end

local function serve(shard_name)
  local id, count, newest = args[call.next], args[call.next + 1], args[call.next + 3]
  local hold_ids = { unpack(args, call.next + 4, call.next + 3 + count) }
  call.next = call.next + 4 + count
  local org = open_organization(call, shards[shard_name] or open_shard(shard_name, newest), id, hold_ids)
  local replies = {}
  for i = 1, count do
    local kind = args[call.next]
    call.next = call.next + 1
    replies[i] = kind == 'admit' and admit(call, org, hold_ids[i]) or release(call, org, hold_ids[i], kind)
  end
  if org.is_known then
    save_organization(call, org)
  end
  return replies
end

local function put_all(parts)
  for i = 1, #parts do
    reply[#reply + 1] = parts[i]
  end
end

for i = 1, #KEYS do
  local first = call.next
  local ok, replies = pcall(serve, KEYS[i])
  if ok then
    for _, parts in ipairs(replies) do
      put_all(parts)
    end
  else
    local message = type(replies) == 'table' and replies.err or replies
    -- Only damaged keys concern one organization alone. Full memory, for example, concerns all.
    if not (string.find(message, '^WRONGTYPE') or string.find(message, '^user_script:')) then
      return redis.error_reply(message)
    end
    for _ = 1, args[first + 1] do
      put_all({ 'failed', message })
    end
    call.next = args[first + 2]
  end
end
return reply
