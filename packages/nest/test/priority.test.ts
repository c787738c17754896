// Classes in the module and in decorators: by route, and by who asks.

import { Controller, Get } from '@nestjs/common'
import { fixedWindow, RateLimit, RateLimitModule, type RateLimitModuleOptions } from '@weir/nest'
import { expect, test } from 'vitest'
import { start } from './app.js'

const policy = fixedWindow({ name: 'p', limit: 10, window: '1h' })
const reserve = { normal: 0.2, batch: 0.5 }

@Controller()
class Shop {
  @Get('browse') browse() {}
  @RateLimit({ priority: 'critical' }) @Get('checkout') checkout() {}
  @RateLimit({ priority: 'batch' }) @Get('export') export() {}
}

@Controller()
class Own {
  @RateLimit({ policy, priority: 'batch' }) @Get() get() {}
}

@Controller()
class Wrong {
  @RateLimit({ priority: 'bacth' }) @Get() get() {}
}

function shop(options: RateLimitModuleOptions, Shops: new () => object = Shop) {
  return start({ imports: [RateLimitModule.forRoot(options)], controllers: [Shops] })
}

const times = (path: string) => Array<string>(7).fill(path)

async function passed(
  { statuses }: Awaited<ReturnType<typeof shop>>,
  path: string,
): Promise<number> {
  return (await statuses(...times(path))).filter((status) => status === 200).length
}

test('routes of several classes share a limit of the module', async () => {
  const app = await shop({ policy, reserve, priority: () => 'normal' })
  expect(await passed(app, '/export')).toBe(5)
  expect(await passed(app, '/browse')).toBe(3)
  expect(await passed(app, '/checkout')).toBe(2)
})

test('a class works with a policy of the route, with the module’s reserve', async () => {
  const app = await shop({ reserve }, Own)
  expect(await passed(app, '/')).toBe(5)
})

test('an unknown class is refused at the start', async () => {
  const code = 'WEIR_INVALID_PRIORITY'
  await expect(shop({ policy, reserve }, Wrong)).rejects.toMatchObject({ code })
})
