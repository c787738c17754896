// A setup file: properties are checked with the same values each time, and with new ones in the
// weekly run.

import { isWeekly } from '@weir/testkit'
import fc from 'fast-check'

if (!isWeekly) fc.configureGlobal({ seed: 20_261_010 })
