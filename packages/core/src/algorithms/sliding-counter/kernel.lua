-- Sliding counter. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: STRING 'start:previous:current', start in Unix ms.

return function(limit, span)
  local most = floor(2 ^ 53 / span)
  local now = floor(us / 1000)
  local new = floor(now / span) * span
  local start, previous, current, stored, dirty

  local function read(key)
    local raw = pcall('GET', key)
    local first, second, third
    if type(raw) == 'string' and #raw <= 50 then
      first, second, third = match(raw, '^(%d+):(%d+):(%d+)$')
    end
    stored = false
    dirty = false
    start, previous, current = new, 0, 0
    if first then
      start = first + 0
      stored = start
      previous = min(second + 0, most)
      current = min(third + 0, most)
      if start < new then
        previous = start == new - span and current or 0
        current = 0
        start = new
      elseif start > new + 2 * span then
        current = min(previous + current, most)
        previous = 0
        start = new
        dirty = true
      end
    end
    return first or not raw
  end

  local function used()
    local elapsed = now > start and now - start or 0
    return current + ceil(previous * (span - elapsed) / span)
  end

  local function take(units)
    current = current + units
    if current > most then current = most end
    dirty = true
  end

  local function retry_after(cost)
    local room, of, ends = limit - cost - current, previous, start + span
    if room < 0 then
      room, of, ends = limit - cost, current, ends + span
    end
    return ends - floor(room * span / of) - now
  end

  local function reset_after()
    local ends = 0
    if current > 0 then
      ends = start + 2 * span - now
    elseif previous > 0 then
      ends = start + span - now
    end
    return ends * 1000, dirty
  end

  -- The longest TTL depends only on the start, so it is written once a window; a lost TTL is
  -- written again in the next window. It has a second to spare, because Redis counts it from when
  -- the script began.
  local function write(key)
    local value = format('%d:%d:%d', start, previous, current)
    if stored == start then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', format('%d', start + 2 * span - now + 1000 + slack))
    end
  end

  local function refund(units, until_us)
    local until_ms = floor(until_us / 1000)
    local from_current = until_ms > start + span and min(units, current) or 0
    local from_previous = until_ms > start and min(units - from_current, previous) or 0
    if from_current + from_previous > 0 then
      current = current - from_current
      previous = previous - from_previous
      dirty = true
    end
  end

  local function reconcile(units, until_us)
    local until_ms = floor(until_us / 1000)
    if until_ms > start + span then
      take(units)
    elseif until_ms > start then
      previous = min(previous + units, most)
      dirty = true
    end
  end

  local function restore(used_before, until_us, base)
    local was_start = floor(until_us / 1000) - 2 * span
    local seen = min(used_before, most)
    local known = base or previous + (was_start < start and 0 or current)
    if seen > known then
      if was_start == start then
        take(seen - known)
      elseif was_start == start - span then
        previous = min(previous + seen - known, most)
        dirty = true
      end
    end
    return max(known, seen)
  end
end
