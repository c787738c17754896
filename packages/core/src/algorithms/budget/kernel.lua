-- Budget. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: STRING 'end:used'; with runs of held units 'end:used:last:before', and for each run but the
-- last ',expiry:units', the next to expire first, in Unix ms. `last` is the last run's expiry, and
-- `before` what is used without its units. The last run may have no units. So most decisions read
-- and write only the beginning of the text: Redis hashes each character of a string that it gives
-- to Lua. The rest is read where a run has expired, begins or is asked for, and written where it
-- changes, the numbers change their length, or the TTL is due. An empty string counts as no key.

-- Twice what one policy makes, for a change of its `holdTimeout`.
local MOST_RUNS = 122
-- Times have 13 digits and units at most 16, so a text's length says whether it has runs.
local WITHOUT_RUNS = 30
-- The last of what is read first: 61 characters of numbers, and ',expiry:' with one digit of units.
-- Nothing behind is judged.
local BEGINNING = '76'
-- A policy's 61 runs need no count of runs; 122 have 3,782 characters.
local FEW_RUNS = 1900
local MOST_CHARACTERS = '5000'

-- The text of a key's runs but the last. It begins after the characters of the numbers.
local function runs_of(key, characters)
  return call('GETRANGE', key, format('%d', characters), MOST_CHARACTERS)
end

-- The text of runs in order, with units added at an expiry, and none later than an end. Returns the
-- last run's expiry, its units, and the text of the others.
local function arranged(text, finish, added_expiry, added)
  local expiries, amounts = {}, {}
  local function add(expiry, units)
    local at = #expiries
    while at > 0 and expiries[at] > expiry do at = at - 1 end
    if expiries[at] == expiry then
      amounts[at] = amounts[at] + units
    elseif units > 0 and #expiries < MOST_RUNS then
      table.insert(expiries, at + 1, expiry)
      table.insert(amounts, at + 1, units)
    end
  end
  for expiry, units in string.gmatch(text, '(%d+):(%d+)') do
    local time = expiry + 0
    add(time < finish and time or finish, units + 0)
  end
  add(added_expiry, added)
  local last, amount = table.remove(expiries) or 0, table.remove(amounts) or 0
  for at = 1, #expiries do expiries[at] = format(',%d:%d', expiries[at], amounts[at]) end
  return last, amount, table.concat(expiries)
end

return function(limit, hold, forget)
  local now = floor(us / 1000)
  -- By `%`, as calls of `ceil` take longer. Without a hold, `latest` is no number, and not used.
  local part = (hold + -hold % 60) / 60
  local latest = now + hold + -(now + hold) % part
  local step = (forget + -forget % 60) / 60
  local finish, stored_finish, dirty
  local total, last, before
  -- The key; how many characters its four numbers have, else 0; and the text of the runs after
  -- them, as it is in Redis and as it will be. nil: not read.
  local name, header, stored, others

  local function read(key)
    local raw = pcall('GETRANGE', key, '0', BEGINNING)
    local ends, sum, newest, known, at
    if type(raw) == 'string' then
      if #raw <= WITHOUT_RUNS then
        ends, sum = match(raw, '^(%d+):(%d+)$')
      else
        ends, sum, newest, known, at = match(raw, '^(%d+):(%d+):(%d+):(%d+)()')
      end
    end
    stored_finish = ends and ends + 0 or 0
    finish, dirty = now + forget, false
    total, last, before = 0, 0, 0
    name, header, stored, others = key, 0, '', ''
    if stored_finish > now then
      total = sum + 0
      before = total
      if newest then
        last, before, header = newest + 0, known + 0, at - 1
        if at <= #raw then
          local expiry = match(raw, '^,(%d+):%d', at)
          stored, others = nil, nil
          if expiry and expiry + 0 <= now then
            stored = runs_of(key, header)
            local units, after
            at = 1
            expiry, units, after = match(stored, '^,(%d+):(%d+)()')
            while expiry and expiry + 0 <= now do
              total, before, at = total - units, before - units, after
              expiry, units, after = match(stored, '^,(%d+):(%d+)()', at)
            end
            others = string.sub(stored, at)
          end
          if not expiry and others ~= '' then ends = nil end
        end
        if last <= now then
          total, last = before, 0
        elseif last > finish then
          local amount
          local runs = others or runs_of(key, header)
          local all = format('%s,%d:%d', runs, last, total - before)
          last, amount, others = arranged(all, finish, 0, 0)
          before = total - amount
        end
      end
      dirty = stored_finish > finish
      if not dirty then finish = stored_finish end
    end
    return ends or raw == ''
  end

  local function used()
    return total
  end

  local function take(units)
    local added = units
    if added > MAX_UNITS - total then added = MAX_UNITS - total end
    finish = now + forget
    if hold == 0 then
      before = before + added
    elseif latest ~= last and added > 0 then
      local amount = total - before
      local all = others or runs_of(name, header)
      if amount > 0 then all = format('%s,%d:%d', all, last, amount) end
      if latest > last and #all < FEW_RUNS then
        last, before, others = latest, total, all
      else
        last, amount, others = arranged(all, finish, latest, added)
        before = total + added - amount
      end
    end
    total = total + added
    dirty = true
  end

  local function retry_after(cost)
    local wait, left = -1, limit - total
    for expiry, units in string.gmatch(others or runs_of(name, header), '(%d+):(%d+)') do
      left = left + units
      if left >= cost then
        wait = expiry - now
        break
      end
    end
    if left < cost and left + total - before >= cost then wait = last - now end
    return wait
  end

  local function reset_after()
    return total > 0 and (finish - now) * 1000 or 0, dirty
  end

  -- The TTL lasts until the end, rounded up to a sixtieth of the time, so it is rarely written; a
  -- lost TTL is written again in the next one. It has a second to spare, because Redis counts it
  -- from when the script began.
  local function write(key)
    local value
    if last == 0 then
      value = format('%d:%d', finish, total)
    else
      value = format('%d:%d:%d:%d', finish, total, last, before)
    end
    local stepped = finish - finish % step
    local lives = stored_finish > now and stored_finish - stored_finish % step == stepped
    if lives and others == stored and #value == header then
      call('SETRANGE', key, '0', value)
    else
      if last > 0 then value = value .. (others or runs_of(key, header)) end
      if lives then
        call('SET', key, value, 'KEEPTTL')
      else
        call('SET', key, value, 'PX', format('%d', stepped + step - now + 1000 + slack))
      end
    end
  end

  local function use()
    finish = now + forget
    dirty = true
  end

  local function spend(units)
    local added = min(units, MAX_UNITS - total)
    total, before = total + added, before + added
    use()
  end

  local function give_back(units)
    local spent = before
    for held in string.gmatch(others or runs_of(name, header), ':(%d+)') do spent = spent - held end
    local back = min(units, spent)
    if back > 0 then
      total, before = total - back, before - back
      dirty = true
    end
  end

  local function expiry_of(until_us)
    return ceil((floor(until_us / 1000) - forget + hold) / part) * part
  end

  -- Ends holds of the run with that expiry. Returns how many units of it there were.
  local function end_holds(expiry, most)
    local ended = 0
    if expiry == last then
      ended = min(most, total - before)
    else
      others = others or runs_of(name, header)
      local wanted = format(',%d:', expiry)
      local from, to = string.find(others, wanted, 1, true)
      if from then
        local units, after = match(others, '^(%d+)()', to + 1)
        ended = min(most, units + 0)
        local kept = ended < units + 0 and format('%s%d', wanted, units - ended) or ''
        others = string.sub(others, 1, from - 1) .. kept .. string.sub(others, after)
        before = before - ended
      end
    end
    total = total - ended
    dirty = dirty or ended > 0
    return ended
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
    if hold > 0 and until_us < huge then
      end_holds(expiry_of(until_us), units)
    else
      give_back(units)
    end
  end

  local function reconcile(units)
    spend(units)
  end

  local function restore(seen, _, base)
    local known = base or total
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
