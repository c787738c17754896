// A Nest application with limits on controllers, handlers and a service.
//
//   PORT=3000   the port to listen on; 0 picks a free one

import 'reflect-metadata'
import { NestFactory } from '@nestjs/core'
import { AppModule } from './app.module.js'

const app = await NestFactory.create(AppModule, { logger: ['error', 'warn'] })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void app.close())

await app.listen(Number(process.env.PORT ?? 3000), '127.0.0.1')
const url = await app.getUrl()
console.log(`
Weir with Nest, counting in memory, listening on ${url} (Ctrl-C ends it). Try:

  curl -i ${url}/reports                           three at once, then one a second
  curl -i -X POST -H 'x-user: ann' ${url}/reports  two a minute for each user
  curl -i ${url}/reports/health                    as often as you like
  curl -i -d account=ann -d password=guess ${url}/login
`)
