/**
 * Answers whose JSON is put together from parts that were made before: it goes along with the answer to whoever sends it. A copy
 * of the answer, which may have been changed, does not have it.
 */
const JSON_TEXT = Symbol('json')

type Ready = { [JSON_TEXT]?: () => string }

/** `json` must be what the answer's schema makes of it. */
export function withJson<T extends object>(answer: T, json: () => string): T {
  return Object.defineProperty(answer, JSON_TEXT, { value: json, enumerable: false })
}

export function jsonOf(answer: unknown): string | undefined {
  return typeof answer === 'object' && answer !== null ? (answer as Ready)[JSON_TEXT]?.() : undefined
}

/** A text as it stands between quotation marks. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
