/**
 * A request whose like was answered before, with another body, as harnesses send one for every prompt: what its headers say was
 * made out then, so it is not routed anew, which costs a good part of a quick answer. Only what is well-formed is answered here:
 * everything else goes, with its body, to those who say what is wrong with it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'

export type Known<T> = {
  /** Nothing where it is not well-formed. */
  parse(request: IncomingMessage, text: string): T | undefined
  /** Says itself what goes wrong. */
  answer(input: T, response: ServerResponse): Promise<void>
}

export type AnotherBody = {
  serve(request: IncomingMessage, response: ServerResponse): void
  remember<T>(request: IncomingMessage, known: Known<T>): void
  /** From now on everything goes the usual way. */
  stop(): void
}

type Kept = Known<unknown> & {
  headers: readonly string[]
  /** Where among the headers the length of the body stands: the one thing that may differ. */
  lengthAt: number
}

const MOST_KEPT = 64
/** Of URL and headers together. */
const LONGEST_CHARS = 8_192
/** A longer body takes its time anyway. */
const LARGEST_BYTES = 65_536

/** `otherwise`: the usual way. */
export function createAnotherBody(otherwise: AnotherBody['serve']): AnotherBody {
  const known = new Map<string, Kept>()
  let stopped = false

  const answer = ({ parse, answer }: Kept, body: Buffer, request: IncomingMessage, response: ServerResponse): void => {
    const input = parse(request, body.toString())
    if (input !== undefined) return void answer(input, response)
    request.pause()
    request.unshift(body)
    otherwise(request, response)
  }

  return {
    serve: (request, response) => {
      const like = request.method === 'POST' ? known.get(request.url ?? '') : undefined
      const bytes = like ? lengthIfAlike(like, request.rawHeaders) : 0
      if (!like || bytes === 0) return otherwise(request, response)
      let body: Buffer | undefined
      // Who hangs up before all of it is here waits for nothing.
      request.on('data', function take(chunk: Buffer) {
        body = body ? Buffer.concat([body, chunk]) : chunk
        if (body.length < bytes) return
        request.off('data', take)
        answer(like, body, request, response)
      })
    },
    remember: ({ method, url = '', rawHeaders }, one) => {
      const lengthAt = 1 + rawHeaders.findIndex((name, n) => n % 2 === 0 && name.toLowerCase() === 'content-length')
      const chars = rawHeaders.reduce((sum, text) => sum + text.length, url.length)
      if (stopped || method !== 'POST' || lengthAt === 0 || chars > LONGEST_CHARS) return
      known.delete(url)
      known.set(url, { ...(one as Known<unknown>), headers: rawHeaders, lengthAt })
      // The oldest goes: whoever still sends it is remembered again.
      if (known.size > MOST_KEPT) known.delete(known.keys().next().value as string)
    },
    stop: () => {
      stopped = true
      known.clear()
    },
  }
}

/** How many bytes its body has; 0 where anything else of it differs, too. */
function lengthIfAlike({ headers, lengthAt }: Kept, theirs: readonly string[]): number {
  if (headers.length !== theirs.length) return 0
  for (let n = 0; n < headers.length; n++) if (n !== lengthAt && headers[n] !== theirs[n]) return 0
  const bytes = Number(theirs[lengthAt])
  return bytes <= LARGEST_BYTES ? bytes : 0
}
