/** Server-sent events, byte chunks in, events out. */

export type RawEvent = { type: string; data: string }

/** A reader that never sees the end of an event must not collect for ever. */
const LONGEST_EVENT = 1_000_000

export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RawEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const chunk of chunks) {
    pending += decoder.decode(chunk, { stream: true })
    for (let end = pending.indexOf('\n\n'); end >= 0; end = pending.indexOf('\n\n')) {
      const event = parseEvent(pending.slice(0, end))
      pending = pending.slice(end + 2)
      if (event) yield event
    }
    if (pending.length > LONGEST_EVENT) throw new Error('an event is longer than 1,000,000 characters')
  }
}

function parseEvent(block: string): RawEvent | undefined {
  let type = 'message'
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event:')) type = line.slice(6).trim()
    if (line.startsWith('data:')) data.push(line.slice(5).trim())
  }
  return data.length > 0 ? { type, data: data.join('\n') } : undefined
}
