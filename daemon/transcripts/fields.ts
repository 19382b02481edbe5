/** Looks into JSON that others wrote: each look gives a value of the kind asked for, or nothing. Throws nothing. */
import { shapeOf } from '../platform/json-shape.ts'
import type { Usage } from './message.ts'

export type Fields = Readonly<Record<string, unknown>>

const NO_FIELDS: Fields = Object.freeze({})
const MAX_ID_CHARS = 512
const MAX_PATH_CHARS = 4096
const MAX_NAME_CHARS = 64
const LATEST_MS = Date.UTC(9999, 11, 31)

/** A line shorter than this cannot hold more than a few megabytes once it is parsed. */
const SHORT_CHARS = 100_000
/** More than any harness writes into one line: a list of a million empty objects already is half a hundred megabytes. */
const MOST_VALUES = 1_000_000
const MOST_DEPTH = 1_000

/** Nothing for what is no JSON object, and for one made to take up more memory than it is worth. */
export function parseLine(line: string): Fields | undefined {
  if (line.length > SHORT_CHARS && isBomb(line)) return undefined
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isBomb(line: string): boolean {
  const { values, depth } = shapeOf(line)
  return values > MOST_VALUES || depth > MOST_DEPTH
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fields(value: unknown): Fields {
  return isFields(value) ? value : NO_FIELDS
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A name or an id; nothing when it is empty or too long to be one. */
export function id(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARS ? value : undefined
}

/** The parent as a line gives it: an id, `null` for none, nothing when the line does not speak of it. */
export function parent(value: unknown): string | null | undefined {
  return value === null ? null : id(value)
}

export function folder(value: unknown): string | undefined {
  if (typeof value !== 'string' || value.length > MAX_PATH_CHARS) return undefined
  return value.startsWith('/') && !value.includes('\0') ? value : undefined
}

/** ISO 8601, seconds or milliseconds. */
export function time(value: unknown): number | undefined {
  const at =
    typeof value === 'string' && value.length <= MAX_NAME_CHARS && /^\d{4}-\d\d-\d\dT/.test(value)
      ? Date.parse(value)
      : typeof value === 'number'
        ? Math.trunc(value < 100_000_000_000 ? value * 1000 : value)
        : Number.NaN
  return at >= 0 && at <= LATEST_MS ? at : undefined
}

/** How many minutes east of Greenwich a time was written, where it says more than that it is reckoned from there. */
export function zone(value: unknown): number | undefined {
  if (typeof value !== 'string' || value.length > MAX_NAME_CHARS) return undefined
  const written = /T.*([+-])(\d\d):?(\d\d)$/.exec(value)
  if (!written || time(value) === undefined) return undefined
  const minutes = Number(written[2]) * 60 + Number(written[3])
  return minutes === 0 ? undefined : written[1] === '-' ? -minutes : minutes
}

export function count(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? Math.trunc(value) : 0
}

/** Nothing where all are zero: harnesses write such usage for what they made up themselves. */
export function usage(input: unknown, output: unknown, cacheRead: unknown, cacheWrite: unknown): Usage | undefined {
  const used = {
    input: count(input),
    output: count(output),
    cacheRead: count(cacheRead),
    cacheWrite: count(cacheWrite),
  }
  return used.input + used.output + used.cacheRead + used.cacheWrite > 0 ? used : undefined
}

/** The name of a type for a count that people see: never a message that stands in its place. */
export function typeName(value: unknown): string {
  return typeof value === 'string' && value.length <= MAX_NAME_CHARS && /^[\w.:/-]+$/.test(value) ? value : 'nameless'
}

/** Without the fields that hold nothing. A loop: every line of every transcript comes through here. */
export function present<T extends object>(all: { [K in keyof T]: T[K] | undefined }): T {
  const held: Partial<T> = {}
  for (const key in all) {
    const value = all[key]
    if (value !== undefined) held[key] = value
  }
  return held as T
}
