import 'vitest'

declare module 'vitest' {
  export interface ProvidedContext {
    postgresUrls: Record<'conformance' | 'processes' | 'start' | 'store', string>
  }
}
