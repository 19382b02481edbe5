/** Sends one answer of a script over one connection, or fails to in the way the script wants. */
import type { ServerResponse } from 'node:http'
import type { Answer, Failed, Fault, Said } from './answers.ts'
import type { CacheUsage } from './prefix-cache.ts'
import { asText, eventsOf, wholeMessage } from './stream.ts'
import type { Body } from './wire.ts'

type Stage = {
  body: Body
  usage: CacheUsage
  /** The answer begins: from here on its prompt is in the cache. */
  onBegin(): void
}

export function perform(response: ServerResponse, answer: Answer, stage: Stage): void {
  if ('fault' in answer) performFault(response, answer, stage)
  else if ('status' in answer) sendFailure(response, answer)
  else sendMessage(response, answer, stage)
}

function sendMessage(response: ServerResponse, answer: Said, stage: Stage): void {
  const heading = { model: stage.body.model, usage: stage.usage }
  stage.onBegin()
  if (!stage.body.stream) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(wholeMessage(answer, heading)))
    return
  }
  begin(response)
  response.end(eventsOf(answer, heading).map(asText).join(''))
}

export function sendFailure(response: ServerResponse, { status, type, message, headers = {} }: Failed): void {
  const request_id = response.getHeader('request-id')
  response.writeHead(status, { 'content-type': 'application/json', ...headers })
  response.end(JSON.stringify({ type: 'error', error: { type, message }, request_id }))
}

function begin(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
}

function performFault(response: ServerResponse, answer: Fault, { body, usage, onBegin }: Stage): void {
  if (answer.fault === 'silent') return
  if (answer.fault === 'reset') return void response.socket?.destroy()
  onBegin()
  if (answer.fault === 'raw') {
    response.writeHead(answer.status ?? 200, { 'content-type': answer.contentType })
    response.end(answer.body)
    return
  }
  begin(response)
  // Something of the content and not its end.
  const events = eventsOf(answer.of, { model: body.model, usage })
  const half = Math.max(2, Math.floor(events.length / 2))
  const part = events.slice(0, half).map(asText).join('')
  switch (answer.fault) {
    case 'cut':
      // What was written must be on its way before the connection breaks, or nothing of it arrives.
      response.write(part, () => response.socket?.destroy())
      return
    case 'unfinished':
      response.end(part)
      return
    case 'error-event': {
      const error = { type: 'error', error: { type: answer.type, message: answer.message } }
      response.end(part + asText(error))
      return
    }
    case 'stall':
      response.write(part)
      return
    case 'slow': {
      const rest = events.slice(half).map(asText).join('')
      let left = answer.pings
      response.write((answer.first ?? '') + part)
      const pinging = setInterval(() => {
        if (left-- > 0) response.write(asText({ type: 'ping' }))
        else response.end(rest)
      }, answer.everyMs)
      response.once('close', () => clearInterval(pinging))
    }
  }
}
