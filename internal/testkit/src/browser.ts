// A globalSetup of vitest: one Chromium for all test files of a package. They open pages in it by
// `openPage()`.

import { type BrowserServer, chromium } from 'playwright-core'
import type {} from 'vitest'
import type { TestProject } from 'vitest/node'
import { chromiumBinary } from './chromium.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the Chromium. */
    chromium: string
  }
}

let server: BrowserServer | undefined

export async function setup(project: TestProject): Promise<void> {
  server = await chromium.launchServer({ executablePath: chromiumBinary(), timeout: 100_000 })
  project.provide('chromium', server.wsEndpoint())
}

export async function teardown(): Promise<void> {
  await server?.close()
}
