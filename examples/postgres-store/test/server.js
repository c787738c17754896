// @ts-check
// One PostgreSQL for all test files.

import { readFile } from 'node:fs/promises'
import { startPostgres } from '@weir/testkit'
import { Client } from 'pg'

/** @type {import('@weir/testkit').PostgresServer} */
let server

/** @param {import('vitest/node').TestProject} project */
export async function setup(project) {
  server = await startPostgres()
  await createTable(server.url)
  project.provide('postgresUrl', server.url)
}

export const teardown = () => server.stop()

/** @param {string} connectionString */
export async function createTable(connectionString) {
  const client = new Client({ connectionString })
  await client.connect()
  await client.query(await readFile(new URL('../schema.sql', import.meta.url), 'utf8'))
  await client.end()
}
