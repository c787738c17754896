-- Redis runs Lua 5.1 with these globals; a script may read them and set none of its own.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct' }
