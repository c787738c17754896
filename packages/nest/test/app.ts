// A Nest application on a real port, and requests to it.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { onTestFinished } from 'vitest'
import { type Platform, platform } from './platform.js'

export interface StartOptions {
  /** Default: that of the run. */
  readonly on?: Platform
  readonly trust?: Parameters<Platform['adapter']>[0]
  /** Called before the application listens. */
  readonly prepare?: (app: INestApplication) => void
}

export interface Running {
  readonly app: INestApplication
  readonly url: string
  get(path: string, headers?: Record<string, string>): Promise<Response>
  /** The statuses of requests, one after another. */
  statuses(...paths: string[]): Promise<number[]>
}

export function moduleOf(metadata: ModuleMetadata): new () => object {
  class AppModule {}
  Module(metadata)(AppModule)
  return AppModule
}

export async function start(
  metadata: ModuleMetadata,
  options: StartOptions = {},
): Promise<Running> {
  const { on = platform, trust, prepare } = options
  const app = await NestFactory.create(moduleOf(metadata), on.adapter(trust), {
    logger: false,
    abortOnError: false,
  })
  prepare?.(app)
  onTestFinished(() => app.close())
  await app.listen(0, '127.0.0.1')
  const { port } = app.getHttpServer().address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const get = (path: string, headers: Record<string, string> = {}) => fetch(url + path, { headers })
  return {
    app,
    url,
    get,
    async statuses(...paths) {
      const found: number[] = []
      for (const path of paths) {
        const response = await get(path)
        await response.arrayBuffer()
        found.push(response.status)
      }
      return found
    },
  }
}
