-- Ends a hold, live or in quarantine: frees slot and money, corrects the token windows of the
-- minute of the admission, takes in the snapshot. Repeating it changes nothing.

local function free_on(call, org, hash, day, amount)
  if day == call.TODAY then
    hash.held_today, hash.counts = hash.held_today - tonumber(amount), true
  else
    save_freed(org)
    add_to_day(hash.name, day, negative(amount))
    hash.other_days = nil
  end
end

local function free_hold(call, org, hold_id, tokens_used)
  local key_id, day, minute, tokens, amount, _, _, quarantined = parse_hold(org.records[hold_id])
  local key, more_tokens = org.keys[key_id] or open_key(call, org, key_id), tokens_used - tonumber(tokens)
  org.records[hold_id] = false
  org.freed[#org.freed + 1] = hold_id
  org.live = quarantined and org.live or org.live - 1
  org.frees_quarantined = org.frees_quarantined or quarantined
  org.was_empty = org.was_empty or org.live == 0
  org.held, org.counts = org.held - tonumber(amount), true
  free_on(call, org, org, day, amount)
  free_on(call, org, key, day, amount)
  minute = tonumber(minute)
  if org.minute == minute then
    org.tokens = org.tokens + more_tokens
  end
  if key.is_known and key.minute == minute then
    key.tokens = key.tokens + more_tokens
  end
end

local function release(call, org, hold_id, may_be_charged)
  local key_id, tokens_used, epoch = unpack(call.args, call.next, call.next + 2)
  local snapshot_at = call.next + 2
  call.next = snapshot_at + (epoch == '' and 1 or 9)
  if not org.is_known then
    return { 'done' }
  end
  if org.records[hold_id] then
    free_hold(call, org, hold_id, tokens_used)
  end
  if epoch ~= '' and epoch == org.epoch then
    learn(call, org, org.keys[key_id] or open_key(call, org, key_id), snapshot_at)
  elseif epoch ~= '' or may_be_charged then
    -- The hold is freed although its charge is unknown here. A caller that was asked to read may
    -- have read before that charge.
    distrust(org)
  end
  return { 'done' }
end
