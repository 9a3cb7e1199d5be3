-- Admissions and releases of one moment, each by itself, those of an organization in their order.
--
-- KEYS  for each organization its shard
-- ARGV  1 clock (shared.lua)   2 lease in ms   3 ms until what is idle is forgotten   4 there are
--       admissions: 1 or 0   5 as JSON, one
--       after the other (as arguments they cost both sides more): for each organization its id, the
--         number n of its requests, where the next
--       organization begins, the newest fence that is known of its shard, n hold ids, n requests:
--         take, key id, tokens, amount, concurrency, ms of quarantine from now, the organization's
--           rpm, tpm, daily budget, the key's, snapshot
--         free, key id, tokens used, snapshot
--         disown, key id, tokens used, '': released by a process that does not know whether it was
--           charged
--       tokens, concurrency, quarantine, rpm and tpm are numbers, everything else is text; a limit
--         or snapshot that there is not is ''
-- Returns  now, then for each request one of
--         done | closed | fenced_off | failed, error | read_again, day
--         admitted | concurrency | requests | tokens | daily_budget | balance, each with day,
--           minute, what is available (as text, '' when
--           admitted), requests and tokens of the organization's window, of the key's
-- Amounts are at most 2^53 in magnitude (amounts.ts), where doubles are exact.

local now, steps = clock(ARGV[1])
local TODAY = text(math.floor(now / 86400000))
local turn = { now = now, today = math.floor(now / 86400000), minute = math.floor(now / 60000), TODAY = TODAY, HELD_TODAY = 'held:' .. TODAY, SPENT_TODAY = 'spent:' .. TODAY,
  lease_ms = tonumber(ARGV[2]), ttl_ms = ARGV[3], has_admissions = ARGV[4] == '1', asked = cjson.decode(ARGV[5]), next = 1 }
local asked, shards, reply = turn.asked, {}, { now }
local run = turn.has_admissions and run_id()

local function open_shard(name, newest)
  local shard = { name = name }
  if turn.has_admissions then
    shard.incarnation, shard.open, shard.at, shard.fenced_off = incarnation_of(name, run, now, steps, turn.lease_ms, newest)
  else
    -- Only admissions and renewals detect the end of an incarnation: a release to an ended one is
    -- lost with it.
    local marker = redis.call('HMGET', name, 'incarnation', 'touched', 'skipped')
    shard.incarnation, shard.at = marker[1], shard_clock(name, now, steps and marker[1], marker[2], marker[3], 0, turn.lease_ms, false)
  end
  shards[name] = shard
  return shard
end

local function serve(shard_name)
  local id, count, newest = asked[turn.next], asked[turn.next + 1], asked[turn.next + 3]
  local hold_ids = { unpack(asked, turn.next + 4, turn.next + 3 + count) }
  turn.next = turn.next + 4 + count
  local org = open_organization(turn, shards[shard_name] or open_shard(shard_name, newest), id, hold_ids)
  local answers = {}
  for i = 1, count do
    local kind = asked[turn.next]
    turn.next = turn.next + 1
    answers[i] = kind == 'take' and admit(turn, org, hold_ids[i]) or release(turn, org, hold_ids[i], kind == 'disown')
  end
  if org.is_known then
    save_organization(turn, org)
  end
  return answers
end

local function put_all(answer)
  for i = 1, #answer do
    reply[#reply + 1] = answer[i]
  end
end

for i = 1, #KEYS do
  local first = turn.next
  local ok, answers = pcall(serve, KEYS[i])
  if ok then
    for _, answer in ipairs(answers) do
      put_all(answer)
    end
  else
    local message = type(answers) == 'table' and answers.err or answers
    -- Damage to the keys of one organization concerns no other; every other error does, for example
    -- full memory.
    if not (string.find(message, '^WRONGTYPE') or string.find(message, '^user_script:')) then
      return redis.error_reply(message)
    end
    for _ = 1, asked[first + 1] do
      put_all({ 'failed', message })
    end
    turn.next = asked[first + 2]
  end
end
return reply
