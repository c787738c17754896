// One script is both the page and the worker that reads a log, which the page makes from the same
// text. So the kernels are in the file only once.

import { startWorker } from './log/worker.js'
import { startPage } from './page/page.js'

if (typeof document === 'undefined') startWorker()
else startPage(document.currentScript?.textContent ?? '')
