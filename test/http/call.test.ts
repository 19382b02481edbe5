import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Call } from '../../daemon/http/call.ts'

const input = { params: {}, query: {}, body: undefined, lines: undefined, caller: { actor: 'user', env: {} } }

function callOf(): { call: Call; response: ServerResponse; drain: AbortController } {
  const response = new ServerResponse(new IncomingMessage(new Socket()))
  const drain = new AbortController()
  return { call: new Call(input, response, drain.signal), response, drain }
}

describe('the signal of a call', () => {
  it('tells of a caller who hangs up after it was asked for, and of one who had before', () => {
    const early = callOf()
    expect(early.call.signal.aborted).toBe(false)
    early.response.emit('close')
    expect(early.call.signal.aborted).toBe(true)
    const late = callOf()
    late.response.destroy()
    expect(late.call.signal.aborted).toBe(true)
  })

  it('tells when the time to finish is over', () => {
    const { call, drain } = callOf()
    expect(call.signal.aborted).toBe(false)
    drain.abort()
    expect(call.signal.aborted).toBe(true)
  })
})
