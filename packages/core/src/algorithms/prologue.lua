-- The beginning of every script: functions and constants for the kernels and the driver, the mode,
-- the time and, if that is injected, some slack, as real time must not delete a key whose injected
-- time has not come. The arguments are driver.lua's; `numbers` says how many of them are policies'
-- numbers. A function that the loop for plain requests does not need is looked up after that loop
-- (redis/transport/script.ts): each lookup takes 1 % of a script's time. Commands are given texts,
-- as Redis would print a number with %.17g, which takes 0.1 us longer.

local ARGV, KEYS, tonumber = ARGV, KEYS, tonumber
local call = redis.call
local pcall = redis.pcall
local ceil = math.ceil
local floor = math.floor
local huge = math.huge
local max = math.max
local min = math.min
local format = string.format
local match = string.match
local EPOCH_MS = 1735689600000
local MAX_UNITS = 2 ^ 50

local mode = ARGV[numbers + 2] or 'consume'
local us, slack = ARGV[numbers + 1] or '', 600000
if us == '' then
  local time = call('TIME')
  us = time[1] * 1000000 + time[2]
  slack = 0
else
  us = us + 0
end
