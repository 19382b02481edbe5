import { expect, it } from 'vitest'
import { statementsIn } from '../../daemon/extraction/statements.ts'
import { factsOf, recorded, recordings } from '../transcripts/telling.ts'

it('finds nothing to keep in recorded sessions but in the one in which the user asks to remember', () => {
  const said = recordings().flatMap(({ client, harness, scenario, path }) =>
    factsOf(harness, recorded(client, scenario, path)).flatMap((fact) =>
      fact.kind === 'message' && fact.by === 'person' ? [{ scenario, text: fact.text }] : [],
    ),
  )
  expect(said.length).toBeGreaterThan(20)
  const stating = said.filter(({ text }) => statementsIn({ text, atIso: '2026-11-16T10:00:00+00:00' }).length > 0)
  expect(stating.map(({ scenario }) => scenario)).toEqual(['18-automemory'])
})
