/** Fields of JSON that other programs wrote, each of the kind asked for or nothing. No function here throws. */
import { shapeOf } from '../../platform/json.ts'

export type Fields = Readonly<Record<string, unknown>>

const MAX_ID_CHARS = 512
const MAX_PATH_CHARS = 4096
const LATEST_MS = Date.UTC(9999, 11, 31)
/** A shorter line takes a few megabytes at most once it is parsed. */
const SHORT_CHARS = 100_000
/** More than any harness writes into a line: a million empty objects take fifty megabytes. */
const MOST_VALUES = 1_000_000
const MOST_DEPTH = 1_000

/** Nothing for what is no JSON object, and for one made to take up more memory than it is worth. */
export function parseLine(line: string): Fields | undefined {
  if (line.length > SHORT_CHARS) {
    const { values, depth } = shapeOf(line)
    if (values > MOST_VALUES || depth > MOST_DEPTH) return undefined
  }
  try {
    const value: unknown = JSON.parse(line)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function fields(value: unknown): Fields {
  return isFields(value) ? value : {}
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function id(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_ID_CHARS ? value : undefined
}

export function parent(value: unknown): string | null | undefined {
  return value === null ? null : id(value)
}

export function folder(value: unknown): string | undefined {
  const path = text(value)
  return path.startsWith('/') && path.length <= MAX_PATH_CHARS && !path.includes('\0') ? path : undefined
}

export function time(value: unknown): number | undefined {
  let at = Number.NaN
  if (typeof value === 'number') at = Math.trunc(value < 100_000_000_000 ? value * 1000 : value)
  else if (/^\d{4}-\d\d-\d\dT.{0,53}$/.test(text(value))) at = Date.parse(text(value))
  return at >= 0 && at <= LATEST_MS ? at : undefined
}

/** How many minutes east of Greenwich a time was written, where it says more than that it is reckoned from there. */
export function zone(value: unknown): number | undefined {
  const written = time(value) === undefined ? '' : text(value)
  const [, sign, hours, minutes] = /T.*([+-])(\d\d):?(\d\d)$/.exec(written) ?? []
  if (sign === undefined) return undefined
  const east = Number(hours) * 60 + Number(minutes)
  return east === 0 ? undefined : sign === '-' ? -east : east
}

export function count(value: unknown): number {
  return typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER ? Math.trunc(value) : 0
}

export function present<T extends object>(all: { [K in keyof T]: T[K] | undefined }): T {
  const held: Partial<T> = {}
  for (const key in all) {
    const value = all[key]
    if (value !== undefined) held[key] = value
  }
  return held as T
}

export function wordSet(words: string): ReadonlySet<string> {
  return new Set(words.trim().split(/\s+/))
}
