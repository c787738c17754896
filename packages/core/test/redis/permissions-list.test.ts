// What servers of all generations reply to a user without permission, which a run on one of them
// cannot show.

import { expect, test } from 'vitest'
import { isRefusal } from '../../src/redis/permissions.js'

test.each([
  "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
  'NOPERM this user has no permissions to access one of the keys used as arguments',
  "NOPERM User weir has no permissions to run the 'evalsha' command",
  'NOPERM No permissions to access a key',
  // In a script: Redis 6.2, 7.0, 7.2 and Valkey.
  "ERR Error running script (call to f_1): @user_script:3: @user_script: 3: The user executing the script can't run this command or subcommand",
  "ERR The user executing the script can't run this command or subcommand script: 104a, on @user_script:1.",
  "ERR ACL failure in script: User weir has no permissions to run the 'time' command script: 104a, on @user_script:3.",
])('a lack of permission is recognized: %s', (message) => {
  expect(isRefusal(new Error(message))).toBe(true)
})

test.each([
  'OOM command not allowed when used memory > maxmemory',
  'NOAUTH Authentication required.',
  'WRONGPASS invalid username-password pair or user is disabled.',
  'READONLY You can not write against a read only replica.',
  'connect ECONNREFUSED 127.0.0.1:6379',
])('another failure is not taken for one: %s', (message) => {
  expect(isRefusal(new Error(message))).toBe(false)
})
