// One script is both: the page, and the worker that the page makes of the same text to go through a
// log. So the kernels are in the file once.

import { startWorker } from './log/worker.js'
import { startPage } from './page/page.js'

if (typeof document === 'undefined') startWorker()
else startPage(document.currentScript?.textContent ?? '')
