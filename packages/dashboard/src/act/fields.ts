// The fields of a request's JSON, each checked when it is read.

import { invalidRequest } from './problem.js'

/** The longest key that is accepted, in characters. */
const LONGEST_KEY = 8_192
const LONGEST_NAME = 200

export interface Fields {
  /** A name, an id or a handle. */
  name(field: string): string
  /** One of some texts. */
  oneOf<Text extends string>(field: string, texts: readonly Text[]): Text
  /** A key: one of `key` and `handle`. */
  key(): { readonly key: string } | { readonly handle: string }
  text(field: string): string
  flag(field: string): boolean
  wholeNumber(field: string): number
  /** An object, such as a policy as data. */
  object(field: string): object
}

/** @throws {Refused} now or from any method, for invalid fields */
export function fieldsOf(body: unknown): Fields {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw invalidRequest('send an object as JSON')
  const given = (field: string): unknown => {
    return Object.hasOwn(body, field) ? (body as Record<string, unknown>)[field] : undefined
  }

  function limited(field: string, most: number): string {
    const value = given(field)
    if (typeof value === 'string' && value !== '' && value.length <= most) return value
    throw invalidRequest(`${field} should be a text of 1 to ${most} characters`)
  }

  return {
    name: (field) => limited(field, LONGEST_NAME),
    text: (field) => limited(field, LONGEST_KEY),
    oneOf(field, texts) {
      const found = texts.find((text) => text === given(field))
      if (found !== undefined) return found
      throw invalidRequest(`${field} should be one of ${texts.join(', ')}`)
    },
    key() {
      if (given('handle') !== undefined && given('key') !== undefined)
        throw invalidRequest('give key or handle, not both')
      if (given('handle') !== undefined) return { handle: limited('handle', LONGEST_NAME) }
      return { key: limited('key', LONGEST_KEY) }
    },
    flag(field) {
      const value = given(field)
      if (typeof value === 'boolean') return value
      throw invalidRequest(`${field} should be true or false`)
    },
    wholeNumber(field) {
      const value = given(field)
      if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
      throw invalidRequest(`${field} should be a whole number from 0`)
    },
    object(field) {
      const value = given(field)
      if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value
      throw invalidRequest(`${field} should be an object`)
    },
  }
}
