import { describe, expect, it } from 'vitest'
import { learner } from '../support/learner.ts'

const RULE = 'Please always run the linter before you commit, because CI rejects everything else.'
const asks = (text: string) => ({ type: 'user', text })
const answers = { type: 'assistant', text: 'Done.', end: 'final' }
const NOTHING_NEW = { done: { skipped: 'there is nothing new in it' } }
const counts = (more: object) => ({ saved: 0, waiting: 0, known: 0, refused: 0, ...more })

describe('how far a session was looked through', () => {
  it('is on record after a run that found nothing, one that saved a memory, and one that knew all of it', async () => {
    const { say, run, extraction, sessions, session } = await learner()
    const parts: [string, unknown][] = [
      ['Can you fix the failing test?', { skipped: 'nothing is stated in it' }],
      [RULE, counts({ saved: 1 })],
      [RULE, counts({ known: 1 })],
    ]
    for (const [text, done] of parts) {
      await say(asks(text), answers)
      expect(await run(extraction.job)).toMatchObject({ done })
      expect(await run(extraction.job)).toEqual(NOTHING_NEW)
    }
    // Of the run that wrote nothing there is nothing to tell.
    expect(sessions.notices.list(session.sessionId, {}).items).toHaveLength(1)
  })

  it('is on record with what waits for a person, and without a notice of it', async () => {
    const { say, run, extraction, sessions, session } = await learner({ settings: { review: 'required' } })
    await say(asks(RULE), answers)
    expect(await run(extraction.job)).toMatchObject({ done: counts({ waiting: 1 }) })
    expect(await run(extraction.job)).toEqual(NOTHING_NEW)
    expect(sessions.notices.list(session.sessionId, {}).items).toEqual([])
  })

  it('stays where it was when the run has lost its job', async () => {
    const { say, run, extraction, loseLease, sessions } = await learner()
    await say(asks(RULE), answers)
    loseLease()
    expect(await run(extraction.job)).toEqual({ failed: 'another run has taken it over' })
    expect(sessions.progress.find({ harness: 'generic', session: 's', kind: 'extract' })).toBeUndefined()
  })
})
