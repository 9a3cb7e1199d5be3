-- Ends a hold, live or in quarantine: frees slot and money, corrects the token windows of the
-- minute of the admission, applies the snapshot. An owed hold stays without a slot and keeps the
-- amount that is owed. Repeating either changes nothing.

local function free_on(call, org, hash, day, amount)
  if day == call.TODAY then
    hash.held_today, hash.counts = hash.held_today - amount, true
  else
    save_freed(org)
    add_to_day(hash.name, day, negative(text(amount)))
    hash.other_days = nil
  end
end

-- Reduces a hold to the amount that is owed, or ends it (nil).
local function free_hold(call, org, hold_id, tokens_used, owed)
  local key_id, day, minute, tokens, amount, until_at, span, state = parse_hold(org.records[hold_id])
  if owed and state == 'o' then
    return
  end
  local key, more_tokens = org.keys[key_id] or open_key(call, org, key_id), tokens_used - tonumber(tokens)
  amount = tonumber(amount)
  if owed then
    owed = math.min(tonumber(owed), amount)
    local ends = end_after(org.shard.now + call.lease_ms, until_at, span)
    org.records[hold_id] = 'o' .. until_at .. '/' .. span .. '|' .. key_id .. '|' .. day .. '|' .. minute .. '|' .. text(tokens_used) .. '|' .. text(owed)
    org.changed[#org.changed + 1], org.owed[hold_id] = hold_id, ends
    if not org.ends or ends < org.ends then
      org.ends, org.ends_earlier = ends, true
    end
  else
    org.records[hold_id] = false
    org.freed[#org.freed + 1] = hold_id
  end
  if state == '' then
    org.live = org.live - 1
    org.was_empty = org.was_empty or org.live == 0
  else
    org.over[#org.over + 1] = not owed and hold_id or nil
  end
  if owed or state == '' then
    org.without_slot[#org.without_slot + 1] = hold_id
  end
  local freed = amount - (owed or 0)
  org.held, org.counts = org.held - freed, true
  free_on(call, org, org, day, freed)
  free_on(call, org, key, day, freed)
  minute = tonumber(minute)
  if org.minute == minute then
    org.tokens = org.tokens + more_tokens
  end
  if key.is_known and key.minute == minute then
    key.tokens = key.tokens + more_tokens
  end
end

local function release(call, org, hold_id, kind)
  local at = call.next
  local key_id, tokens_used, epoch, owed = call.args[at], call.args[at + 1], call.args[at + 2], nil
  if kind == 'release_owed' then
    epoch, owed = '', epoch
  end
  call.next = at + (epoch == '' and 3 or 11)
  if not org.is_known then
    return { 'done' }
  end
  if org.records[hold_id] then
    free_hold(call, org, hold_id, tokens_used, owed)
  end
  if epoch ~= '' and epoch == org.epoch then
    learn(call, org, org.keys[key_id] or open_key(call, org, key_id), at + 2)
  elseif epoch ~= '' or kind == 'release_unknown' then
    -- The hold is freed although its charge is unknown here. A caller that was asked to read may
    -- have read before that charge.
    distrust(org)
  end
  return { 'done' }
end
