-- Budget. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: STRING 'end:spent'; with one run of held units, 'end:spent,expiry:units'; with more,
-- 'end:spent:held:next' and for each run ',expiry:units', the last to expire first, in Unix ms.
-- `held` is the units of all runs, and `next` the next expiry, so that a decision reads and writes
-- one run, however many there are.

local MOST_RUNS = 122
-- More characters than that number of runs takes, and fewer. Times have 13 digits, and units at
-- most 16, so a state's length says whether it has no run, one, or more.
local MOST_CHARACTERS = 5000
local WITHOUT_RUNS = 30
local ONE_RUN = 61
local FEW_RUNS = 1200

-- Runs, which are kept as the last one and the text of the others, as tables.
local function tables_of(last, amount, others)
  local expiries, amounts = { last }, { amount }
  for expiry, units in string.gmatch(others, '(%d+):(%d+)') do
    expiries[#expiries + 1] = expiry + 0
    amounts[#amounts + 1] = units + 0
  end
  if last == 0 then return {}, {} end
  return expiries, amounts
end

-- Adds units to the run with an expiry. False: there are too many runs.
local function put(expiries, amounts, expiry, units)
  local at = 1
  while expiries[at] and expiries[at] > expiry do at = at + 1 end
  if expiries[at] == expiry then
    amounts[at] = amounts[at] + units
  elseif #expiries >= MOST_RUNS then
    return false
  else
    table.insert(expiries, at, expiry)
    table.insert(amounts, at, units)
  end
  return true
end

-- Tables as a policy keeps runs: held, next, last, amount, others.
local function kept(expiries, amounts)
  local runs, held, texts = #expiries, 0, {}
  for at = 1, runs do
    held = held + amounts[at]
    if at > 1 then texts[at - 1] = format(',%d:%d', expiries[at], amounts[at]) end
  end
  return held, expiries[runs] or 0, expiries[1] or 0, amounts[1] or 0, table.concat(texts)
end

-- The runs that count now, none of them later than an end.
local function counting(last, amount, others, now, finish)
  local expiries, amounts = {}, {}
  local all, units = tables_of(last, amount, others)
  for at = #all, 1, -1 do
    if all[at] > now then put(expiries, amounts, min(all[at], finish), units[at]) end
  end
  return kept(expiries, amounts)
end

return function(limit, hold, forget)
  local now = floor(us / 1000)
  local part = max(1, ceil(hold / 60))
  local step = ceil(forget / 60)
  local latest = ceil((now + hold) / part) * part
  local finish, stored_finish, spent, dirty
  local held, next_expiry, last, amount, others

  local function read(key)
    local raw = pcall('GET', key)
    local is_ours = not raw
    local ends, stored, sum, first, newest, units, rest
    if type(raw) == 'string' and #raw <= MOST_CHARACTERS then
      if #raw <= WITHOUT_RUNS then
        ends, stored = match(raw, '^(%d+):(%d+)$')
      elseif #raw <= ONE_RUN then
        ends, stored, newest, units = match(raw, '^(%d+):(%d+),(%d+):(%d+)$')
      else
        ends, stored, sum, first, newest, units, rest =
          match(raw, '^(%d+):(%d+):(%d+):(%d+),(%d+):(%d+)([,:%d]*)$')
      end
      is_ours = ends ~= nil
    end
    stored_finish = ends and ends + 0 or 0
    finish, spent, dirty = now + forget, 0, false
    held, next_expiry, last, amount, others = 0, 0, 0, 0, ''
    if stored_finish > now then
      spent = stored + 0
      if units then
        last, amount, others = newest + 0, units + 0, rest or ''
        held, next_expiry = (sum or amount) + 0, (first or last) + 0
        if next_expiry <= now or last > finish then
          held, next_expiry, last, amount, others =
            counting(last, amount, others, now, finish)
        end
      end
      dirty = stored_finish > finish
      if not dirty then finish = stored_finish end
    end
    return is_ours
  end

  local function used()
    return spent + held
  end

  local function take(units)
    local added = min(units, MAX_UNITS - spent - held)
    if hold == 0 then
      spent = spent + added
    elseif added > 0 and latest == last then
      held, amount = held + added, amount + added
    elseif added > 0 and latest > last and #others < FEW_RUNS then
      if last > 0 then others = format(',%d:%d', last, amount) .. others end
      held, last, amount = held + added, latest, added
      if next_expiry == 0 then next_expiry = latest end
    elseif added > 0 then
      local expiries, amounts = tables_of(last, amount, others)
      if put(expiries, amounts, latest, added) then
        held, next_expiry, last, amount, others = kept(expiries, amounts)
      else
        spent = spent + added
      end
    end
    finish = now + forget
    dirty = true
  end

  local function retry_after(cost)
    local wait = -1
    if limit - spent >= cost then
      local expiries, amounts = tables_of(last, amount, others)
      local left, at = limit - spent - held, #expiries + 1
      while left < cost do
        at = at - 1
        left = left + amounts[at]
      end
      wait = expiries[at] - now
    end
    return wait
  end

  local function reset_after()
    return spent + held > 0 and (finish - now) * 1000 or 0, dirty
  end

  -- The TTL lasts until the end, rounded up to a sixtieth of the time, so it is rarely written; a
  -- lost TTL is written again in the next one. It has a second to spare, because Redis counts it
  -- from when the script began.
  local function write(key)
    local value
    if last == 0 then
      value = format('%d:%d', finish, spent)
    elseif others == '' then
      value = format('%d:%d,%d:%d', finish, spent, last, amount)
    else
      local form = '%d:%d:%d:%d,%d:%d%s'
      value = format(form, finish, spent, held, next_expiry, last, amount, others)
    end
    local steps = floor(finish / step)
    if stored_finish > now and floor(stored_finish / step) == steps then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', format('%d', (steps + 1) * step - now + 1000 + slack))
    end
  end

  local function use()
    finish = now + forget
    dirty = true
  end

  local function spend(units)
    spent = min(spent + units, MAX_UNITS - held)
    use()
  end

  local function give_back(units)
    local back = min(units, spent)
    if back > 0 then
      spent = spent - back
      dirty = true
    end
  end

  local function expiry_of(until_us)
    return ceil((floor(until_us / 1000) - forget + hold) / part) * part
  end

  -- Ends holds of the run with that expiry. Returns how many units of it there were.
  local function end_holds(expiry, most)
    local expiries, amounts = tables_of(last, amount, others)
    for at = 1, #expiries do
      if expiries[at] == expiry then
        local ended = min(most, amounts[at])
        amounts[at] = amounts[at] - ended
        if amounts[at] == 0 then
          table.remove(expiries, at)
          table.remove(amounts, at)
        end
        held, next_expiry, last, amount, others = kept(expiries, amounts)
        dirty = true
        return ended
      end
    end
    return 0
  end

  local function settle(charged, actual, until_us)
    local more = actual
    if hold == 0 then
      more = actual - charged
      if more < 0 and floor(until_us / 1000) > now then give_back(-more) end
    else
      local expiry = expiry_of(until_us)
      if expiry > now and charged > 0 then
        local ended = end_holds(expiry, charged)
        more = ended == 0 and 0 or ended + actual - charged
      end
    end
    if more > 0 then spend(more) end
  end

  local function refund(units, until_us)
    local ended = 0
    if hold > 0 and until_us < huge then ended = end_holds(expiry_of(until_us), units) end
    give_back(units - ended)
  end

  local function reconcile(units)
    spend(units)
  end

  local function restore(seen, _, base)
    local known = base or spent + held
    if seen > known then spend(seen - known) end
    return max(known, seen)
  end

  local function renew(units, until_us)
    if hold > 0 then
      end_holds(expiry_of(until_us), units)
      take(units)
    end
  end
end
