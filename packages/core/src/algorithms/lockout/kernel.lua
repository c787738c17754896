-- Lock-out. Formula, bound and units: kernel.ts, the twin of this file. Codes: block-code.ts.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: STRING 'count:began:end:level:before', times in Unix ms: when the count began, the end of
-- the last block, and the end of the block before.

local MAX_LEVEL = 99
-- Units to restore carry the code, times this number.
local SEEN = 2 ^ 40

return function(limit, span, forget, excess, one, two, three, four, five, six, seven, eight)
  local now = floor(us / 1000)
  local lengths = { one, two, three, four, five, six, seven, eight }
  local count, began, finish, level, before, begun, dirty

  -- The length of the block that leads to a level.
  local function length_of(to)
    return lengths[min(max(to, 1), #lengths)]
  end

  -- Drops the block, the count and the level that are over.
  local function catch_up()
    if finish - now > forget then
      finish = now + length_of(level)
      dirty = true
    end
    if finish <= now then
      -- The block that the count began is over, or the window is.
      if began < finish or began + span <= now then count = 0 end
      if finish + forget <= now then level = 0 end
    end
  end

  local function read(key)
    local raw = pcall('GET', key)
    local units, first, last, steps, earlier
    if type(raw) == 'string' and #raw <= 80 then
      units, first, last, steps, earlier = match(raw, '^(%d+):(%d+):(%d+):(%d+):(%d+)$')
    end
    count, began, finish, level, before = 0, now, 0, 0, 0
    begun, dirty = false, false
    if units then
      count, began, finish = units + 0, first + 0, last + 0
      level, before = steps + 0, earlier + 0
      catch_up()
    end
    if count == 0 then
      began = now
    elseif began > now then
      began = now
      dirty = true
    end
    return units or not raw
  end

  local function used()
    return finish > now and count < limit and limit or count
  end

  local function begin()
    before = finish
    level = min(level + 1, MAX_LEVEL)
    finish = now + length_of(level)
    begun, dirty = true, true
  end

  local function take(units)
    local blocked = finish > now
    -- A block that no count began has no count.
    if not blocked or count > 0 then
      count = min(count + units, MAX_UNITS)
      dirty = true
      if not blocked and limit > 0 and count >= limit + excess then begin() end
    end
  end

  local function may_begin()
    return excess == 1 and limit > 0 and finish <= now
  end

  local function refuse()
    if excess == 1 and limit > 0 and count >= limit and finish <= now then begin() end
  end

  -- The ms until the block ends or, without a block (the limit has been lowered, or blocks start
  -- with the excess), until the window ends.
  local function retry_after()
    return (finish > now and finish or began + span) - now
  end

  local function reset_ms()
    if finish > now then return finish - now end
    return count > 0 and began + span - now or 0
  end

  local function reset_after()
    local code = level * 4 + (finish > now and 2 or 0) + (begun and 1 or 0)
    return reset_ms() * 1000 + code, dirty
  end

  local function life()
    -- The state is kept for at least a window, so that a count seen before the block is not
    -- restored after it. A block set by hand has no level to be forgotten.
    local kept = level > 0 and max(forget, span) or span
    return max(reset_ms(), finish + kept - now) * 1000
  end

  local function write(key)
    local value = format('%d:%d:%d:%d:%d', count, began, finish, level, before)
    call('SET', key, value, 'PX', format('%d', life() / 1000 + 1000 + slack))
  end

  -- Blocks until a time, and forgets the count.
  local function hold_until(at)
    count, began, finish, before = 0, now, at, 0
    dirty = true
  end

  local function refund(units, until_us, charged_us)
    local blocked = finish > now
    local until_ms = floor(until_us / 1000)
    local counted = until_us == huge or until_ms == began + span or blocked and until_ms == finish
    -- An attempt that began a block counts until the block's end. Where a refund has lifted that
    -- block since, only the time of the charge shows that the attempt belongs to the count.
    if charged_us then
      local charged_ms = floor(charged_us / 1000)
      counted = counted or charged_ms >= began and charged_ms <= now
    end
    if count > 0 and counted then
      count = count > units and count - units or 0
      dirty = true
      if blocked and count < limit then
        level = max(0, level - 1)
        finish, before = before, 0
        catch_up()
        -- After a step of the clock, the previous block may be in force again, and this count did
        -- not begin it.
        if finish > now then count = 0 end
      end
    end
  end

  local function reconcile(units, until_us)
    local until_ms = floor(until_us / 1000)
    if until_ms > now then
      if count == 0 then began = min(now, max(until_ms - span, finish)) end
      take(units)
    end
  end

  local function restore(seen, until_us, base)
    local code = floor(seen / SEEN)
    local units, steps, held = seen % SEEN, floor(code / 4), code % 4 >= 2
    local until_ms = floor(until_us / 1000)
    if until_ms - now > (held and forget or span) then return base or count end
    -- It is not known when the block before a running count ended, only that the count began later.
    local last = held and until_ms or until_ms - span
    if steps > level and last + forget > now then
      level = steps
      dirty = true
      if finish <= now then
        finish = max(finish, min(last, now))
        -- Otherwise the count would seem to be from before that block.
        began = max(began, finish)
      end
    end
    if held then
      -- No block begins while another stands. So if a count has begun this block while the one that
      -- was seen should have stood, that one was lost. It stands again, until its own end.
      local beside = count > 0 and until_ms ~= finish
      if until_ms > now and (beside or until_ms > finish) then hold_until(until_ms) end
    elseif until_ms > now and finish <= now and last >= finish then
      -- A later end means that the count was lost and began anew. It becomes the old one again,
      -- with the attempts of both.
      local lost = count > 0 and until_ms < began + span
      local known = base or lost and 0 or count
      if units > known then
        if lost or count == 0 then began = last end
        -- Only an attempt begins a block.
        count = min(count + units - known, MAX_UNITS)
        dirty = true
      end
      return max(known, units)
    end
    return base or count
  end

  local function block(ms)
    local ends = now + min(ms, forget)
    if finish <= now or ends > finish then
      hold_until(ends)
    elseif count > 0 then
      -- A longer block stays, and no refund lifts it any more.
      hold_until(finish)
    end
  end

  local function unblock()
    if finish > now then
      count, began, finish = 0, now, now
      dirty = true
    end
  end
end
