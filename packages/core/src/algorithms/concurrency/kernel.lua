-- Concurrency. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: STRING 'expiry:slots,expiry:slots', the next to expire first, in ms since 2025.

local PARTS = 60
local LONGEST_HINT_MS = 1000
-- More characters than 61 runs take, which is the most that there can be.
local LONGEST = 2500

return function(limit, hold)
  local now = floor(us / 1000) - EPOCH_MS
  local part = ceil(hold / PARTS)
  local latest = ceil((now + hold) / part) * part
  local expiries, slots, in_use, dirty

  -- Takes slots until an expiry, but at most until the latest possible one.
  local function add(till, units)
    local expiry, added = min(till, latest), min(units, MAX_UNITS - in_use)
    if added > 0 then
      local at = #expiries
      while at > 0 and expiries[at] > expiry do at = at - 1 end
      if at > 0 and expiries[at] == expiry then
        slots[at] = slots[at] + added
      else
        table.insert(expiries, at + 1, expiry)
        table.insert(slots, at + 1, added)
      end
      in_use = in_use + added
      dirty = true
    end
  end

  -- Gives back slots of the run with that expiry, as far as it has any.
  local function give_back(units, until_us)
    local expiry = floor(until_us / 1000) - EPOCH_MS
    for at = 1, #expiries do
      if expiries[at] == expiry then
        local back = min(units, slots[at])
        slots[at] = slots[at] - back
        if slots[at] == 0 then
          table.remove(expiries, at)
          table.remove(slots, at)
        end
        in_use = in_use - back
        dirty = true
        return
      end
    end
  end

  local function read(key)
    expiries, slots, in_use = {}, {}, 0
    local raw = pcall('GET', key)
    local is_ours = not raw
    local healed = false
    if type(raw) == 'string' and #raw <= LONGEST then
      is_ours = string.find(raw, '^%d+:%d+[%d:,]*$') ~= nil
      if is_ours then
        for expiry, units in string.gmatch(raw, '(%d+):(%d+)') do
          expiry = expiry + 0
          if expiry > now then add(expiry, units + 0) end
          healed = expiry > latest
        end
      end
    end
    dirty = healed
    return is_ours
  end

  local function used()
    return in_use
  end

  local function take(units)
    add(latest, units)
  end

  -- Nobody can know when a slot will be given back and to whom it goes, so the wait is a hint.
  local function retry_after(cost)
    local left, last = limit - in_use, now
    for at = 1, #expiries do
      if left < cost then left, last = left + slots[at], expiries[at] end
    end
    return min(LONGEST_HINT_MS, last - now)
  end

  local function reset_after()
    local last = expiries[#expiries]
    return last and (last - now) * 1000 or 0, dirty
  end

  local function write(key, reset)
    local texts = {}
    for at = 1, #expiries do texts[at] = format('%d:%d', expiries[at], slots[at]) end
    call('SET', key, table.concat(texts, ','), 'PX', format('%d', reset / 1000 + 1000 + slack))
  end

  local function refund(units, until_us)
    give_back(units, until_us)
  end

  local function reconcile(units, until_us)
    local expiry = ceil((floor(until_us / 1000) - EPOCH_MS) / part) * part
    if expiry > now then add(expiry, units) end
  end

  local function renew(units, until_us)
    give_back(units, until_us)
    add(latest, units)
  end
end
