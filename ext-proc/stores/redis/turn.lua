-- What all requests of one call of holds-n.lua share; its header says what KEYS and ARGV are.

local now, lease_ms, ttl_ms, has_admissions = clock(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local today, this_minute = math.floor(now / 86400000), math.floor(now / 60000)
local TODAY = string.format('%d', today)
local SPENT_TODAY, HELD_TODAY = 'spent:' .. TODAY, 'held:' .. TODAY
local run = has_admissions and run_id()
local shards = {}
local next_argument = 5

-- The place of the first of the next arguments.
local function take_arguments(count)
  next_argument = next_argument + count
  return next_argument - count
end
