/** The part that is used here, which is missing in the types of Node 20. */
declare module 'node:sqlite' {
  export class DatabaseSync {
    constructor(path: string)
    exec(sql: string): void
    prepare(sql: string): {
      run(...values: (string | number)[]): unknown
      get(...values: (string | number)[]): Record<string, unknown> | undefined
    }
    close(): void
  }
}
