/** What a handler is given of a request. */
import type { ServerResponse } from 'node:http'
import type { Caller } from '../../schema/caller.ts'

/** What is read from a request. */
export type Input = {
  params: unknown
  query: unknown
  body: unknown
  /** What is uploaded, where the route takes that. */
  lines: AsyncIterable<Uint8Array> | undefined
  caller: Caller
}

/**
 * A class for the sake of its getter: most handlers never look at the signal, and making one for each request would
 * double what a small answer costs.
 */
export class Call {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  readonly lines: AsyncIterable<Uint8Array> | undefined
  readonly caller: Caller
  readonly #response: ServerResponse
  readonly #drained: AbortSignal
  #signal: AbortSignal | undefined

  constructor({ params, query, body, lines, caller }: Input, response: ServerResponse, drained: AbortSignal) {
    this.params = params
    this.query = query
    this.body = body
    this.lines = lines
    this.caller = caller
    this.#response = response
    this.#drained = drained
  }

  /** Aborts when the caller has hung up, who waits for nothing any more, or when the drain time is over. */
  get signal(): AbortSignal {
    if (this.#signal) return this.#signal
    const gone = new AbortController()
    const ended = () => {
      if (!this.#response.writableFinished) gone.abort()
    }
    // Whoever asks late may have missed it.
    if (this.#response.destroyed) ended()
    else this.#response.once('close', ended)
    this.#signal = AbortSignal.any([gone.signal, this.#drained])
    return this.#signal
  }
}
