/** A request as bytes, and its answer: nothing on the way puts it right. */
import { connect } from 'node:net'

export type Wire = { head: string; body?: Buffer | undefined }
/** `hung`: no end of an answer came. `ended`: the connection was ended without one. */
export type Answered = { status: number; headers: string; body: string } | 'hung' | 'ended'

/** A caller may ask the daemon to wait; a machine under load takes its time. */
const LONGEST_MS = 60_000

/** A stream without an end is left after its head. */
export function send(socketPath: string, { head, body }: Wire): Promise<Answered> {
  return new Promise((resolve) => {
    const socket = connect(socketPath)
    const chunks: Buffer[] = []
    const settle = (answered: Answered) => {
      clearTimeout(timer)
      socket.destroy()
      resolve(answered)
    }
    const timer = setTimeout(() => settle('hung'), LONGEST_MS)
    const parsed = () => parse(Buffer.concat(chunks), head.startsWith('HEAD '))
    socket.on('data', (chunk) => {
      chunks.push(chunk)
      const { isWhole, answer } = parsed()
      if (answer && isWhole) settle(answer)
    })
    socket.on('error', () => {})
    socket.on('close', () => settle(parsed().answer ?? 'ended'))
    // At once: a daemon that has answered the head already may end the connection.
    socket.write(Buffer.concat([Buffer.from(head, 'latin1'), body ?? Buffer.alloc(0)]))
  })
}

const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'

function parse(all: Buffer, isHead: boolean): { isWhole: boolean; answer?: Exclude<Answered, string> } {
  const bytes = all.subarray(all.indexOf(CONTINUE) === 0 ? CONTINUE.length : 0)
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return { isWhole: false }
  const headers = bytes.subarray(0, end).toString('latin1')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(headers)?.[1])
  const rest = bytes.subarray(end + 4)
  const isChunked = /^transfer-encoding: chunked/im.test(headers)
  const length = Number(/^content-length: (\d+)/im.exec(headers)?.[1] ?? Number.POSITIVE_INFINITY)
  const isStream = headers.includes('text/event-stream')
  const isWhole =
    isHead || isStream || status === 204 || rest.length >= length || (isChunked && rest.includes('\r\n0\r\n\r\n'))
  const body = isChunked ? unchunked(rest) : rest.subarray(0, Math.min(length, rest.length)).toString()
  return { isWhole, answer: { status, headers, body } }
}

function unchunked(bytes: Buffer): string {
  const parts: Buffer[] = []
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    const size = Number.parseInt(bytes.toString('latin1', at, line < 0 ? at : line), 16)
    if (line < 0 || !(size > 0)) return Buffer.concat(parts).toString()
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = line + 4 + size
  }
}
