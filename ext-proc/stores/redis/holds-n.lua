-- Admissions and releases of one moment, each by itself, those of an organization in their order.
--
-- KEYS  for each organization its shard
-- ARGV  1 clock, or '' for the server's   2 lease in ms   3 ms until what is idle is forgotten   4 there are admissions: 1 or 0
--       then for each organization its id, the number n of its requests, where the next one's arguments begin, n hold ids, n requests:
--         take, key id, tokens, amount, snapshot, concurrency, the organization's rpm, tpm, daily budget, the key's
--         free, key id, tokens used, snapshot
--       a limit that there is not is ''; a snapshot is '' when there is none, else
--         ledger epoch, the organization's sequence, day, balance, spent, the key's sequence, day, spent
-- Returns  now, then for each request one of
--         done | closed | failed, error | read_again, day
--         admitted | concurrency | requests | tokens | daily_budget | balance, each with day, minute, what is available (as text, '' when
--           admitted), requests and tokens of the organization's window, of the key's
-- Amounts are at most 2^53 in magnitude (amounts.ts), where doubles are exact.

local reply = { now }

local function put(answer)
  for i = 1, #answer do
    reply[#reply + 1] = answer[i]
  end
end

local function serve(shard_name)
  local first = take_arguments(3)
  local count = tonumber(ARGV[first + 1])
  local hold_ids = take_arguments(count)
  local org = open_organization(shard_of(shard_name), ARGV[first], { unpack(ARGV, hold_ids, hold_ids + count - 1) })
  local answers = {}
  for i = 1, count do
    local hold_id = ARGV[hold_ids + i - 1]
    answers[i] = ARGV[take_arguments(1)] == 'take' and admit(org, hold_id) or release(org, hold_id)
  end
  save(org)
  for i = 1, count do
    put(answers[i])
  end
end

for i = 1, #KEYS do
  local first = next_argument
  local ok, problem = pcall(serve, KEYS[i])
  if not ok then
    local message = type(problem) == 'table' and problem.err or problem
    -- What somebody did to the keys of one organization is no matter of the others; anything else is, as that memory is full.
    if not (string.find(message, '^WRONGTYPE') or string.find(message, '^user_script:')) then
      return redis.error_reply(message)
    end
    for _ = 1, tonumber(ARGV[first + 1]) do
      put({ 'failed', message })
    end
    next_argument = tonumber(ARGV[first + 2])
  end
end
return reply
