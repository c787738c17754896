-- Redis runs Lua 5.1 with these globals; a script may read them and set none of its own.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct' }
max_line_length = 100

-- prologue.lua stands above the rest of a script, and uses nothing of what it sets.
local prologue = {
  'call', 'pcall', 'ceil', 'floor', 'max', 'min', 'find', 'format', 'match', 'EPOCH_MS', 'MAX_UNITS', 'mode', 'us', 'slack',
}
files['packages/core/src/algorithms/prologue.lua'] = { unused = false }
files['packages/core/src/algorithms/*/kernel.lua'] = { read_globals = prologue }
-- A script lists the kernels of its policies before the driver.
files['packages/core/src/algorithms/driver.lua'] = { read_globals = { 'kernels', unpack(prologue) } }
