-- Redis runs Lua 5.1 with these globals; a script may read them and set none of its own.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct' }
max_line_length = 100

-- prologue.lua stands above the rest of a script, and uses nothing of what it sets.
local prologue = {
  'call', 'pcall', 'ceil', 'floor', 'huge', 'max', 'min', 'format', 'match', 'EPOCH_MS', 'MAX_UNITS', 'mode', 'us',
  'slack',
}
-- How many numbers the policies of a script have.
files['packages/core/src/algorithms/prologue.lua'] = { unused = false, read_globals = { 'numbers' } }
-- The build adds what a kernel returns: its functions, by their names. tools/kernel-lua.mjs knows all of them.
files['packages/core/src/algorithms/*/kernel.lua'] = {
  read_globals = prologue,
  ignore = {
    '211/read', '211/used', '211/take', '211/retry_after', '211/reset_after', '211/write', '211/refund', '211/reconcile',
    '211/restore', '211/within', '211/ahead', '211/cancel', '211/may_begin', '211/refuse', '211/block', '211/unblock', '211/renew',
    '211/settle', '211/spend',
    '212/limit',
  },
}
-- A script makes the counters of its policies before the driver, and says what its mode does.
files['packages/core/src/algorithms/driver.lua'] = {
  read_globals = {
    'counters', 'numbers', 'judges', 'changes', 'takes', 'gives', 'marks', 'notes', 'tells', 'corrects', 'reserves', 'settles',
    'leases', 'begins', 'notifies', 'tells_used',
    unpack(prologue),
  },
}
