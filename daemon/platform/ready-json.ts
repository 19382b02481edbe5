/**
 * Answers whose JSON is put together from parts that were made before: it goes along with the answer to whoever sends it. For a
 * copy of the answer, which may have been changed, it does not count.
 */
const JSON_TEXT = Symbol('json')

/** With its bytes: where they were counted part by part before, nobody has to look through the whole for them. */
export type Json = { text: string; bytes: number }

type Ready = { [JSON_TEXT]?: { of: object; json: () => Json } }

/** `json` must be what the answer's schema makes of it. */
export function withJson<T extends object>(answer: T, json: () => Json): T {
  // Not as a hidden property: to define one takes longer than all else that is done for a short answer.
  ;(answer as Ready)[JSON_TEXT] = { of: answer, json }
  return answer
}

export function jsonOf(answer: unknown): Json | undefined {
  const ready = typeof answer === 'object' && answer !== null ? (answer as Ready)[JSON_TEXT] : undefined
  return ready?.of === answer ? ready?.json() : undefined
}

export function counted(text: string): Json {
  return { text, bytes: Buffer.byteLength(text) }
}

/** A text as it stands between quotation marks. */
export function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
