import { startPage } from './page/page.js'

startPage()
