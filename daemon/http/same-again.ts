/**
 * The same request again, as harnesses send it for every prompt: what was read from it the first time still holds, so it is
 * neither routed nor parsed anew, which costs more than to answer it. What fails is left to those who do that.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Ready } from './ready.ts'

type Known = { headers: readonly string[]; answer: (response: ServerResponse) => Promise<Ready> }

export type SameAgain = {
  serve(request: IncomingMessage, response: ServerResponse): void
  /** `answer` must do what the request asks for, and change nothing. */
  remember(request: IncomingMessage, answer: Known['answer']): void
  /** From now on everything goes the usual way. */
  stop(): void
}

type Deps = {
  send: (response: ServerResponse, answer: Ready) => void
  /** The usual way. */
  otherwise: (request: IncomingMessage, response: ServerResponse) => void
}

const MOST_KEPT = 64
/** Of URL and headers together: what nobody sends twice by chance is not worth its room. */
const LONGEST_CHARS = 8_192

export function createSameAgain({ send, otherwise }: Deps): SameAgain {
  const known = new Map<string, Known>()
  let stopped = false
  return {
    serve: (request, response) => {
      const same = request.method === 'GET' ? known.get(request.url ?? '') : undefined
      // Whatever a header may mean: where all of them are the same, so is what they mean.
      if (!same || !areEqual(same.headers, request.rawHeaders)) return otherwise(request, response)
      void same.answer(response).then(
        (ready) => send(response, ready),
        () => otherwise(request, response),
      )
    },
    remember: ({ method, url = '', rawHeaders }, answer) => {
      const chars = rawHeaders.reduce((sum, text) => sum + text.length, url.length)
      if (stopped || method !== 'GET' || chars > LONGEST_CHARS) return
      known.delete(url)
      known.set(url, { headers: rawHeaders, answer })
      // The oldest goes: whoever still sends it is remembered again.
      if (known.size > MOST_KEPT) known.delete(known.keys().next().value as string)
    },
    stop: () => {
      stopped = true
      known.clear()
    },
  }
}

function areEqual(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false
  for (let n = 0; n < a.length; n++) if (a[n] !== b[n]) return false
  return true
}
