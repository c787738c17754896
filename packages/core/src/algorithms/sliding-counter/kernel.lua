-- Sliding counter. Formula, bound and units: kernel.ts, the twin of this file.
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
    stored = first
    dirty = false
    start, previous, current = new, 0, 0
    if first then
      start = first + 0
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

  local function available()
    local elapsed = now > start and now - start or 0
    local used = current + ceil(previous * (span - elapsed) / span)
    return used < limit and limit - used or 0
  end

  local function take(units)
    current = current + units
    if current > most then current = most end
    dirty = true
  end

  local function retry_after(cost)
    local wait = -1
    if cost <= limit then
      local room = limit - cost - current
      if room < 0 then
        wait = start + 2 * span - floor((limit - cost) * span / current) - now
      elseif previous <= room then
        wait = 0
      else
        wait = start + span - floor(room * span / previous) - now
        if wait < 0 then wait = 0 end
      end
    end
    return wait
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

  -- The TTL is written with an eighth of a span to spare, and again only when it has become too
  -- short.
  local function write(key, reset)
    local value = format('%d:%d:%d', start, previous, current)
    local life = reset / 1000 + slack
    if stored and call('PTTL', key) >= life then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', life + floor(span / 8) + 1000)
    end
  end

  local correct
  if mode == 'refund' then
    correct = function(units, until_us)
      local until_ms = until_us and floor(until_us / 1000)
      local of_current = not until_ms or until_ms > start + span
      local of_previous = not until_ms or (not of_current and until_ms > start)
      local from_current = of_current and min(units, current) or 0
      local from_previous = of_previous and min(units - from_current, previous) or 0
      if from_current + from_previous > 0 then
        current = current - from_current
        previous = previous - from_previous
        dirty = true
      end
      return true
    end
  elseif mode == 'reconcile' then
    correct = function(units, until_us)
      local until_ms = floor(until_us / 1000)
      if until_ms > start + span then
        take(units)
      elseif until_ms > start then
        previous = min(previous + units, most)
        dirty = true
      end
    end
  elseif mode == 'restore' then
    correct = function(used, until_us)
      local was_start = floor(until_us / 1000) - 2 * span
      local seen = min(used, most)
      local counted = current + previous
      if was_start == start and seen > counted then
        current = current + seen - counted
        dirty = true
      elseif was_start == start - span and previous == 0 then
        previous = seen
        dirty = true
      end
    end
  end

  return {
    read = read, available = available, take = take, retry_after = retry_after,
    reset_after = reset_after, write = write, correct = correct,
  }
end
