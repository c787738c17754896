-- The driver: answers many requests of one policy set (one list of policies) and one mode in one
-- call. Twin of driver.ts. redis/transport/script.ts puts before it: prologue.lua; a loop that
-- answers plain requests of few policies in less time; `counters`, each policy's kernel with that
-- policy's numbers; `begins`: whether one of the policies may begin a block when it refuses; and
-- `notifies`: whether one of them has a `notifyAt`.
--
-- KEYS  request by request: a key for each policy; to refund, cancel, settle, reset, restore,
--       unblock, release or renew, then their marks
-- ARGV  the numbers of each policy (see its kernel); if nothing follows, a last one of 0 may be
--       missing
--       then nothing, to consume by the server's clock; or now in microseconds, or '' for that
--       clock; and the mode: consume | peek | reserve | preview | lease | refund | cancel |
--       settle | penalty | reconcile | restore | reset | block | unblock | release | renew. The
--       calls `reserve` and `lease` consume, and `preview` peeks, with three more arguments.
--       then nothing, if each request stands for one, of cost 1; or request by request: how many
--       equal requests it stands for. Where not all costs are 1, and always where a mode corrects
--       or reserves, each of these numbers is followed by: a cost for each policy (to restore: the
--       units that were seen in use; to settle, below 0: the units given back; to block: ms); to
--       reserve, preview or lease, the fewest requests to be granted, how many ms the caller waits,
--       or '' (to lease: how many ms the units may be kept), and for each policy the units that
--       must remain; where a mode corrects, for each policy until when (in us) the units count, or
--       ''; where the mode has marks, when (in us) they were charged or seen, or ''; to restore,
--       since when (in us) something may be lost, or ''; and to settle, for each policy what was
--       charged, or ''
-- Reply one msgpack array of whole numbers; where plain-loop.ts decides a lone request, doubles:
--       now in microseconds, then request by request: how often it is granted, and for each policy:
--       units left, ms to wait, us to reset; and, if a policy notifies and the mode may take what
--       no request was judged by, or reserves: units that were in use before
--       granted  to restore, 0: nothing was lost; to renew, 0: the key was forgotten since. -i: the
--                i-th key holds something foreign, the request changed nothing, and its other
--                numbers are 0
--       wait     denied: until the cost fits; nothing left: until a unit is available. -1: never
--
-- A turn is reserved where one policy decides alone: it comes when all units in use, those of the
-- turn included, fit the limit.
--
-- A mark (STRING 'forgotten:given', in us) says when a key was last forgotten on purpose, and when
-- units were last given back to it. Units seen before that, or less than 100 ms later, as the clock
-- may have stepped back, are not restored, as only lost keys are restored; and units charged before
-- a key was forgotten are not given back, as they would be the units of others. After a loss, the
-- mark goes on with ':base:begun': what has been restored (see the kernels), and when (in us) that
-- began. It says nothing of what was seen, or lost, later.
--
-- Requests run in order and see each other's writes. Within a request everything is read and judged
-- before the first write, so a full Redis, which refuses the first write of a script, leaves
-- nothing half done.

local policies = #counters

local stride = marks and 2 * policies or policies

-- What a request carries: see ARGV.
local costs, untils, since, loss, charged = {}, {}, huge, huge, {}
local least, patience, keeps = 1, nil, {}
-- When a kernel takes leased units, if that is not now.
local aheads = {}

local lefts, changed = {}, {}
-- What was in use before, where the reply says so, and how many numbers it has for a policy.
local useds = notifies and tells_used and {}
local width = useds and 4 or 3
for i = 1, policies do costs[i] = 1 end
-- After the time and the mode.
local argument = numbers + 3
-- With costs there are at least two arguments for each request.
local plain = #ARGV - argument < #KEYS / stride

local correct, read_mark, set_mark
-- For each counter that a request has corrected: how long the units in use counted. For each that
-- it has restored: the new base, and when that began.
local lives, bases, begun = {}, marks and {}, marks and {}
if marks or corrects then
  local forgottens, givens = {}, {}

  local function life_of(counter)
    return ceil((counter.life or counter.reset_after)() / 1000) + 1000
  end

  -- Returns when units were last given back, the base, and when that began.
  read_mark = function(i, mark)
    local raw = marks and pcall('GET', mark)
    local forgotten, given, base, began
    if type(raw) == 'string' then
      forgotten, given, base, began = match(raw, '^(%d+):(%d+):?(%d*):?(%d*)$')
    end
    lives[i] = nil
    if marks then bases[i] = nil end
    forgottens[i], givens[i] = tonumber(forgotten) or 0, tonumber(given) or 0
    return givens[i], tonumber(base), tonumber(began)
  end

  -- Restores what was seen and lost. The kernel compares it with the base, and returns a new one.
  local function restore(i, units, given, base, began)
    local gone = max(given, forgottens[i])
    if gone > 0 and gone + 100000 >= since then return end
    if not began or began < max(loss, since) then base, began = nil, us end
    local counter, until_us = counters[i], untils[i]
    local is_over = floor(until_us / 1000) <= floor(us / 1000)
    if not counter.special then return end
    -- Where all that was seen has expired, what the counter holds is the base.
    if is_over and not counter.life then units, until_us = 0, huge end
    local raised = counter.special(units, until_us, base)
    lives[i] = life_of(counter)
    local _, dirty = counter.reset_after()
    -- If one result seemed to show a loss, and nothing was lost, there is no base.
    if raised ~= base and (dirty or loss <= since) then bases[i], begun[i] = raised, began end
  end

  -- Corrects a counter as far as its mark allows, if the units count for a whole ms or more.
  -- Returns 0, which is no wait; false: its key holds something foreign.
  correct = function(i, mark, units)
    local counter, until_us = counters[i], untils[i]
    local given, base, began = read_mark(i, mark)
    if mode == 'restore' then
      restore(i, units, given, base, began)
      return 0
    end
    if (gives or mode == 'renew') and forgottens[i] >= since then return 0 end
    local is_over = floor(until_us / 1000) <= floor(us / 1000)
    local settled = counter.settle and charged[i]
    if is_over and not counter.life and mode ~= 'renew' and not settled then return 0 end
    lives[i] = life_of(counter)
    local special = counter.special
    if settled then
      counter.settle(settled, settled + costs[i], until_us, since)
      return 0
    end
    return (not special or special(units, until_us, given >= since and since) ~= false) and 0
  end

  -- A mark lives as long as anything seen before it may be restored: as long as the units in use
  -- count. For a key that is already lost, nobody knows how long that is.
  set_mark = function(i, mark, forgotten)
    local life = lives[i] or life_of(counters[i])
    -- Peers may notice a loss later.
    if (forgotten or bases[i]) and life < 61000 then life = 61000 end
    life = max(call('PTTL', mark), life + slack)
    local given = bases[i] and givens[i] or us
    local value = format('%d:%d', max(forgotten or 0, forgottens[i] or 0), given)
    if bases[i] then value = format('%s:%d:%d', value, bases[i], begun[i]) end
    call('SET', mark, value, 'PX', format('%d', life))
  end
end

local reply = { us, 0, 0, 0, 0 }
local at = 1

for base = 0, #KEYS - stride, stride do
  local count = (ARGV[argument] or 1) + 0
  argument = argument + 1
  if not plain then
    for i = 1, policies do costs[i] = ARGV[argument + i - 1] + 0 end
    argument = argument + policies
    if reserves then
      least, patience = ARGV[argument] + 0, tonumber(ARGV[argument + 1])
      for i = 1, policies do keeps[i] = costs[i] > 0 and ARGV[argument + 1 + i] + 0 or 0 end
      argument = argument + 2 + policies
    end
    if corrects then
      for i = 1, policies do untils[i] = tonumber(ARGV[argument + i - 1]) or huge end
      argument = argument + policies
    end
    if corrects and marks then
      since = tonumber(ARGV[argument]) or huge
      argument = argument + 1
    end
    if mode == 'restore' then
      loss = tonumber(ARGV[argument]) or huge
      argument = argument + 1
    end
    if settles then
      for i = 1, policies do charged[i] = tonumber(ARGV[argument + i - 1]) end
      argument = argument + policies
    end
  end

  local granted = count
  for i = 1, policies do
    local counter = counters[i]
    if not counter.read(KEYS[base + i]) then
      granted = -i
      break
    end
    local special = counter.special
    aheads[i] = leases and special and costs[i] > 0 and special(us + patience * 1000) or nil
    local limit, used = counter.limit - (keeps[i] or 0), counter.used()
    local left = used < limit and limit - used or 0
    lefts[i] = left
    if useds then useds[i] = used end
    if judges and left < granted * costs[i] then
      if patience and not leases and policies == 1 and special and costs[i] <= limit then
        left = max(left, special(patience) - keeps[i])
      end
      if left < granted * costs[i] then granted = floor(left / costs[i]) end
    end
  end
  -- How many are granted by the policies that cannot begin a block.
  local others = 0
  if begins and judges and granted >= 0 and granted < count then
    others = count
    for i = 1, policies do
      local counter, cost = counters[i], costs[i]
      if lefts[i] < others * cost and not (counter.may_begin and counter.may_begin()) then
        others = floor(lefts[i] / cost)
      end
    end
  end
  if granted >= 0 and granted < least then granted = 0 end
  -- A process that is refused a lease learns what is left without it.
  if leases and granted == 0 then
    for i = 1, policies do
      local counter = counters[i]
      counter.read(KEYS[base + i])
      lefts[i] = max(0, counter.limit - (keeps[i] or 0) - counter.used())
    end
  end
  if not changes and not reserves and granted > 0 then granted = count end

  local place = at + 1
  for i = 1, policies do
    local left, wait, reset = 0, 0, 0
    if granted >= 0 then
      local counter, cost = counters[i], costs[i]
      local units, kept = granted * cost, keeps[i] or 0
      local limit = counter.limit - kept
      left = lefts[i]
      local settled = counter.settle and charged[i]
      -- To restore nothing sets the base.
      if changes and (units ~= 0 or settled or mode == 'restore') then
        if corrects and (units < 0 or settled or not takes) then
          wait = correct(i, KEYS[base + policies + i], units > 0 and units or -units)
        elseif judges or not counter.spend then
          counter.take(units, aheads[i])
        else
          counter.spend(units)
        end
        local used = counter.used()
        left = used < limit and limit - used or 0
      end
      if granted < others and cost > 0 and counter.refuse then counter.refuse() end
      local asked = granted < count and cost > 1 and cost or 1
      if granted == 0 and cost > 0 then asked = least * cost end
      if wait == 0 and left < asked then
        wait = asked > limit and -1 or counter.retry_after(asked + kept)
      end
      if wait then reset, changed[i] = counter.reset_after() else granted = -i end
    end
    reply[place + 1] = left
    reply[place + 2] = wait
    reply[place + 3] = reset
    if useds then reply[place + 4] = useds[i] or 0 end
    place = place + width
  end
  reply[at + 1] = granted
  if granted < 0 then
    for i = at + 2, place do reply[i] = 0 end
  elseif changes then
    local done = 0
    for i = 1, policies do
      local counter = counters[i]
      if mode == 'reset' then
        local mark = KEYS[base + policies + i]
        call('DEL', KEYS[base + i])
        read_mark(i, mark)
        set_mark(i, mark, us)
      elseif changed[i] and (costs[i] ~= 0 or counter.settle and charged[i]) then
        local reset = reply[at + 4 + width * (i - 1)]
        if reset > 0 then counter.write(KEYS[base + i], reset) else call('DEL', KEYS[base + i]) end
        done = 1
        -- Units charged in the instant of a refund count as charged after it. A state may have been
        -- written only because it was healed. Units that have expired may still be renewed or
        -- settled: no refund forgets them.
        if notes and lives[i] and not counter.is_lost and (costs[i] < 0 or not takes) then
          local is_over = reset == 0 and not (counter.is_held or counter.settle)
          set_mark(i, KEYS[base + policies + i], is_over and us - 1)
        end
      end
      if marks and bases[i] then set_mark(i, KEYS[base + policies + i]) end
    end
    if tells then reply[at + 1] = done end
  end
  at = place
end
return cmsgpack.pack(reply)
