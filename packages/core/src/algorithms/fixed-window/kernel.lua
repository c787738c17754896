-- Fixed window. Formula, bound and units: kernel.ts, the twin of this file.
-- Key: STRING 'count:end', end in Unix ms.

return function(limit, span, aligned)
  local now = floor(us / 1000)
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

  local function available()
    return count < limit and limit - count or 0
  end

  local function take(units)
    count = count + units
    if count > MAX_UNITS then count = MAX_UNITS end
    dirty = true
  end

  local function retry_after(cost)
    local wait = -1
    if cost <= limit then wait = count + cost > limit and finish - now or 0 end
    return wait
  end

  local function reset_after()
    return count > 0 and (finish - now) * 1000 or 0, dirty
  end

  -- The TTL depends on the end alone, so it is written once a window; a lost one heals in the next
  -- window. A second to spare, because Redis counts it from when the script began.
  local function write(key)
    local value = format('%d:%d', count, finish)
    if running then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', finish - now + 1000 + slack)
    end
  end

  local correct
  if mode == 'refund' then
    correct = function(units, until_us)
      local same_window = not until_us or until_us >= finish * 1000
      if same_window and count > 0 then
        count = count > units and count - units or 0
        dirty = true
      end
      return true
    end
  elseif mode == 'reconcile' then
    correct = function(units, until_us)
      local until_ms = floor(until_us / 1000)
      if until_ms > now then
        if count == 0 and until_ms < finish then finish = until_ms end
        take(units)
      end
    end
  elseif mode == 'restore' then
    correct = function(used, until_us)
      local until_ms = floor(until_us / 1000)
      if until_ms <= now or until_ms - now > span then return end
      used = min(used, MAX_UNITS)
      local lost = count > 0 and until_ms < finish
      if lost or count == 0 then
        take(used)
        finish = until_ms
      elseif used > count then
        count = used
        dirty = true
      end
    end
  end

  return {
    read = read, available = available, take = take, retry_after = retry_after,
    reset_after = reset_after, write = write, correct = correct,
  }
end
