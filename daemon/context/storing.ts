/** Decides which results of tools are kept in a file, and what stands in the context for one. Pure. */

export type Candidate = { toolUseId: string; tool: string; chars: number }

export type StoringLimits = {
  /** The most of one result that stays in the context. */
  chars: number
  /** The same for single tools. */
  charsOf: Readonly<Record<string, number>>
  /** The most of all results of one message. */
  charsPerMessage: number
}

const PREVIEW_BYTES = 2_000

/** `stays`: what stays in the context of the same message whatever is decided here. */
export function toStore(fresh: readonly Candidate[], stays: number, limits: StoringLimits): Set<string> {
  const limitOf = (tool: string) =>
    Object.hasOwn(limits.charsOf, tool) ? (limits.charsOf[tool] as number) : limits.chars
  const large = fresh.filter(({ tool, chars }) => chars > limitOf(tool))
  const stored = new Set(large.map(({ toolUseId }) => toolUseId))
  const rest = fresh.filter(({ toolUseId }) => !stored.has(toolUseId)).toSorted((a, b) => b.chars - a.chars)
  let shown = stays + rest.reduce((sum, { chars }) => sum + chars, 0) + stored.size * PREVIEW_BYTES
  for (const { toolUseId, chars } of rest) {
    // What is no longer than its stand-in saves nothing.
    if (shown <= limits.charsPerMessage || chars <= 2 * PREVIEW_BYTES) break
    stored.add(toolUseId)
    shown -= chars - PREVIEW_BYTES
  }
  return stored
}

/** What stands in the context for a result: how long it is, where it is, and how it begins. */
export function standIn(text: string, path: string): string {
  const preview = beginning(text)
  const more = preview.length < text.length ? '\n…' : ''
  return `<persisted-output>
The output has ${text.length} characters (${Buffer.byteLength(text)} bytes) and is kept in ${path}
How it begins:
${preview}${more}
</persisted-output>`
}

/** Whole lines where there are any, never half a character, and nothing that would end the block. */
function beginning(text: string): string {
  const bytes = Buffer.from(text.slice(0, PREVIEW_BYTES))
  const part = bytes.length <= PREVIEW_BYTES ? text.slice(0, PREVIEW_BYTES) : wholeCharacters(bytes)
  const cut = part.length < text.length ? atLine(part) : part
  return cut.replace(/<(?=\/?persisted-output)/gi, '&lt;').replace(/[\ud800-\udbff]$/, '')
}

function wholeCharacters(bytes: Buffer): string {
  return bytes
    .subarray(0, PREVIEW_BYTES)
    .toString('utf8')
    .replace(/\ufffd+$/, '')
}

function atLine(text: string): string {
  const end = text.lastIndexOf('\n')
  return end > text.length / 2 ? text.slice(0, end) : text
}
