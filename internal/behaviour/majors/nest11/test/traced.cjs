// A Nest application under a tracer, which hooks into `require`, as in production: prints how many
// of four requests to each handler pass.
//
//   node traced.cjs opentelemetry|sentry|none

const [, , tracer] = process.argv

/** How often the tracer has made a span of a handler. */
let spans = 0
/** Decorators of the tracer's own. */
let Traced = () => () => {}

if (tracer === 'opentelemetry') {
  const { trace } = require('@opentelemetry/api')
  const { registerInstrumentations } = require('@opentelemetry/instrumentation')
  const { NestInstrumentation } = require('@opentelemetry/instrumentation-nestjs-core')
  registerInstrumentations({
    instrumentations: [new NestInstrumentation()],
    tracerProvider: {
      getTracer: () => ({
        startSpan(...args) {
          if (args[1]?.attributes?.['nestjs.type'] === 'handler') spans += 1
          return trace.wrapSpanContext({
            traceId: '0'.repeat(32),
            spanId: '0'.repeat(16),
            traceFlags: 0,
          })
        },
      }),
    },
  })
} else if (tracer === 'sentry') {
  const Sentry = require('@sentry/nestjs')
  Sentry.init({
    dsn: 'http://key@127.0.0.1:1/1',
    tracesSampleRate: 1,
    transport: () => ({ send: async () => ({}), flush: async () => true }),
  })
  Sentry.getClient().on('spanStart', (span) => {
    if (Sentry.spanToJSON(span).data['nestjs.type'] === 'handler') spans += 1
  })
  Traced = Sentry.SentryTraced
}

require('reflect-metadata')
const { Controller, Get, Module } = require('@nestjs/common')
const { NestFactory } = require('@nestjs/core')
const { fixedWindow, RateLimit, RateLimitModule, SkipRateLimit } = require('@weir/nest')

/** Replaces a method by an anonymous function, as many decorators do. */
const Replaced = () => (_, __, descriptor) => {
  const original = descriptor.value
  descriptor.value = [
    function (...args) {
      return original.apply(this, args)
    },
  ][0]
  for (const key of Reflect.getMetadataKeys(original))
    Reflect.defineMetadata(key, Reflect.getMetadata(key, original), descriptor.value)
}

const limit = (count) => fixedWindow({ limit: count, window: '1h' })
const MARKS = {
  limited: RateLimit(limit(1)),
  override: RateLimit({ override: { api: { policy: limit(1) } } }),
  skipped: SkipRateLimit(),
  plain: () => {},
}

/** A controller with a handler for each mark. */
function controllerOf(path, decorators) {
  const Made = { [`${path}Controller`]: class {} }[`${path}Controller`]
  for (const [name, mark] of Object.entries(MARKS)) {
    const value = { [name]: () => 'ok' }[name]
    const descriptor = { value, configurable: true, writable: true }
    // Decorators look at the prototype.
    Object.defineProperty(Made.prototype, name, descriptor)
    const made = Reflect.decorate(
      [...decorators(mark), Get(name)],
      Made.prototype,
      name,
      descriptor,
    )
    Object.defineProperty(Made.prototype, name, made)
  }
  Controller(path)(Made)
  return Made
}

/** Decorators of a handler, the lowest last. */
const ORDERS = {
  above: (mark) => [mark, Replaced()],
  below: (mark) => [Replaced(), mark],
  aboveTraced: (mark) => [mark, Traced()],
  belowTraced: (mark) => [Traced(), mark],
  between: (mark) => [Replaced(), mark, Replaced(), Traced()],
}
const controllers = Object.entries(ORDERS).map(([path, decorators]) =>
  controllerOf(path, decorators),
)

class AppModule {}
Module({
  imports: [
    RateLimitModule.forRoot({
      policies: { api: { policy: limit(2), perHandler: true } },
      defaults: ['api'],
    }),
  ],
  controllers,
})(AppModule)

async function main() {
  const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false })
  await app.listen(0, '127.0.0.1')
  const url = await app.getUrl()
  /** @type {Record<string, Record<string, number>>} */
  const passed = {}
  for (const path of Object.keys(ORDERS)) {
    passed[path] = {}
    for (const name of Object.keys(MARKS)) {
      const statuses = []
      for (let i = 0; i < 4; i += 1) statuses.push((await fetch(`${url}/${path}/${name}`)).status)
      passed[path][name] = statuses.filter((status) => status === 200).length
    }
  }
  await app.close()
  console.log(JSON.stringify({ passed, spans }))
  // Sentry keeps the process open.
  process.exit(0)
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
