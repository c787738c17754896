// A Nest application on a real port, and requests to it.

import 'reflect-metadata'
import type { AddressInfo } from 'node:net'
import { type INestApplication, Module, type ModuleMetadata } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { ExpressAdapter } from '@nestjs/platform-express'
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify'
import { onTestFinished } from 'vitest'

export type Platform = 'express' | 'fastify'

/** The platform if a test does not name one. */
const PLATFORM = (process.env.WEIR_NEST_PLATFORM ?? 'express') as Platform

export interface StartOptions {
  readonly platform?: Platform
  /** For Express's `trust proxy`, or Fastify's `trustProxy`. */
  readonly trust?: boolean | number | string
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
  const { platform = PLATFORM, trust, prepare } = options
  const fastify = () =>
    new FastifyAdapter({ ...(trust !== undefined && { trustProxy: trust as string }) })
  const adapter = platform === 'express' ? new ExpressAdapter() : fastify()
  const app = await NestFactory.create(moduleOf(metadata), adapter, {
    logger: false,
    abortOnError: false,
  })
  if (platform === 'express' && trust !== undefined)
    app.getHttpAdapter().getInstance().set('trust proxy', trust)
  prepare?.(app)
  onTestFinished(() => app.close())
  await (app as NestFastifyApplication).listen(0, '127.0.0.1')
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
