// @ts-check
// One PostgreSQL server for all test files, with a database for each: stores sweep their table by
// their own clock, and the clocks of the files differ.

import { readFile } from 'node:fs/promises'
import { startPostgres } from '@weir/testkit'
import { Client } from 'pg'

const FILES = /** @type {const} */ (['conformance', 'processes', 'start', 'store'])

/** @type {import('@weir/testkit').PostgresServer} */
let server

/** @param {import('vitest/node').TestProject} project */
export async function setup(project) {
  server = await startPostgres()
  const urlOf = /** @param {string} name */ (name) => server.url.replace(/[^/]*$/, name)
  await asked(server.url, ...FILES.map((name) => `CREATE DATABASE ${name}`))
  for (const name of FILES) await createTable(urlOf(name))
  const urls = FILES.map((name) => [name, urlOf(name)])
  project.provide('postgresUrls', Object.fromEntries(urls))
}

export const teardown = () => server.stop()

/** @param {string} connectionString */
export async function createTable(connectionString) {
  await asked(connectionString, await readFile(new URL('../schema.sql', import.meta.url), 'utf8'))
}

/** @param {string} connectionString @param {string[]} statements */
async function asked(connectionString, ...statements) {
  const client = new Client({ connectionString })
  await client.connect()
  for (const statement of statements) await client.query(statement)
  await client.end()
}
