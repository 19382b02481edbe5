import { describe, expect, it } from 'vitest'
import { createTurnEnds, type EndedTurn } from '../../daemon/transcripts/due.ts'
import type { TurnEnd } from '../../daemon/transcripts/ingest.ts'
import { manualTime } from '../support/clock.ts'

function listening() {
  const time = manualTime()
  const told: EndedTurn[] = []
  const ends = createTurnEnds(time.clock, (turn) => told.push(turn))
  const ended = (end: TurnEnd['end'], at?: number): TurnEnd => ({
    end,
    sessionId: 's',
    harness: 'generic',
    ...(at !== undefined && { at }),
  })
  return { time, told, ends, ended }
}

const turn = { sessionId: 's', harness: 'generic' }

describe('the end of a turn', () => {
  it('is told at once where the harness marks it', () => {
    const { told, ends, ended } = listening()
    ends.read('/s', ended('aborted'))
    expect(told).toEqual([{ ...turn, end: 'aborted' }])
  })

  it('is told after a while where it only seems so, unless more is written', () => {
    const { time, told, ends, ended } = listening()
    ends.read('/s', ended('settling'))
    time.pass(4_999)
    ends.read('/s', undefined)
    time.pass(60_000)
    expect(told).toEqual([])
    ends.read('/s', ended('settling'))
    time.pass(5_000)
    expect(told).toEqual([{ ...turn, end: 'final' }])
  })

  it('is no news when it was long ago', () => {
    const { time, told, ends, ended } = listening()
    ends.read('/s', ended('final', time.clock.now() - 11 * 60_000))
    expect(told).toEqual([])
  })
})
