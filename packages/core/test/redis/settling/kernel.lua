-- The twin of kernel.ts.
-- Key: STRING 'spent,at:units,at:units', in us since 2025.

local FORGET = 3600000000

return function(limit, hold)
  local now = us - EPOCH_MS * 1000
  local spent, ats, units_at, in_use, dirty

  local function read(key)
    local raw = pcall('GET', key)
    spent, ats, units_at, in_use, dirty = 0, {}, {}, 0, false
    local is_ours = not raw
    if type(raw) == 'string' then
      local first = match(raw, '^(%d+)[%d:,]*$')
      is_ours = first ~= nil
      spent = tonumber(first) or 0
      in_use = spent
      for at, units in string.gmatch(raw, ',(%d+):(%d+)') do
        if at + hold * 1000 > now then
          table.insert(ats, at + 0)
          table.insert(units_at, units + 0)
          in_use = in_use + units
        end
      end
    end
    return is_ours
  end

  local function used()
    return in_use
  end

  local function take(units)
    table.insert(ats, now)
    table.insert(units_at, units)
    in_use = in_use + units
    dirty = true
  end

  local function retry_after(cost)
    local room, wait = limit - in_use, -1
    for at = 1, #ats do
      room = room + units_at[at]
      if wait < 0 and room >= cost then wait = ceil((ats[at] + hold * 1000 - now) / 1000) end
    end
    return wait
  end

  local function reset_after()
    local last = ats[#ats]
    return spent > 0 and FORGET or last and last + hold * 1000 - now or 0, dirty
  end

  local function write(key, reset)
    local texts = { format('%d', spent) }
    for at = 1, #ats do table.insert(texts, format('%d:%d', ats[at], units_at[at])) end
    call('SET', key, table.concat(texts, ','), 'PX', format('%d', reset / 1000 + 1000 + slack))
  end

  local function spend(units)
    spent = spent + units
    in_use = in_use + units
    dirty = true
  end

  local function refund(units)
    spend(-min(units, spent))
  end

  local function settle(charged, actual, _, charged_us)
    for at = 1, #ats do
      if ats[at] == charged_us - EPOCH_MS * 1000 then
        in_use = in_use - units_at[at]
        units_at[at] = units_at[at] - charged
        in_use = in_use + units_at[at]
        if units_at[at] == 0 then
          table.remove(ats, at)
          table.remove(units_at, at)
        end
        break
      end
    end
    spend(actual)
  end

  local function reconcile(units)
    spend(units)
  end

  local function restore(seen, _, base)
    local known = base or in_use
    if seen > known then spend(seen - known) end
    return max(known, seen)
  end
end
