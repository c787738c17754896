-- Fixed window. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- For a calendar period, the last two numbers are its start and end.
-- Key: STRING 'count:end', end in Unix ms.

return function(limit, span, aligned)
  local now = floor(us / 1000)
  if aligned > 1 then span = aligned - now end
  local new = aligned == 1 and (floor(now / span) + 1) * span or now + span
  local count, finish, running, dirty

  local function read(key)
    local raw = pcall('GET', key)
    local stored, ends
    if type(raw) == 'string' and #raw <= 34 then stored, ends = match(raw, '^(%d+):(%d+)$') end
    running = stored and ends + 0 > now
    count = running and stored + 0 or 0
    finish = running and ends + 0 or new
    dirty = finish - now > span
    if dirty then
      finish = new
      running = false
    end
    return stored or not raw
  end

  local function used()
    return count
  end

  local function take(units)
    count = count + units
    if count > MAX_UNITS then count = MAX_UNITS end
    dirty = true
  end

  local function retry_after()
    return finish - now
  end

  local function reset_after()
    return count > 0 and (finish - now) * 1000 or 0, dirty
  end

  -- The TTL depends only on the end, so it is written once a window; a lost TTL is written again in
  -- the next window. It has a second to spare, because Redis counts it from when the script began.
  local function write(key)
    local value = format('%d:%d', count, finish)
    if running then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', format('%d', finish - now + 1000 + slack))
    end
  end

  local function refund(units, until_us)
    if until_us >= finish * 1000 and count > 0 then
      count = count > units and count - units or 0
      dirty = true
    end
  end

  local function reconcile(units, until_us)
    if count == 0 then finish = min(finish, floor(until_us / 1000)) end
    take(units)
  end

  local function restore(seen, until_us, base)
    local until_ms = floor(until_us / 1000)
    if until_ms - now > span then return base or count end
    local anew = until_ms < finish
    local known = base or anew and 0 or count
    if seen > known then
      take(seen - known)
      if anew then finish = until_ms end
    end
    return max(known, seen)
  end
end
