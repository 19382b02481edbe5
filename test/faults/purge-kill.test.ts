import { describe, it } from 'vitest'
import { killAnywhere, killWhen, moments } from '../support/purge-kills.ts'

describe('a purge that is killed', () => {
  it.each(Object.entries(moments))('when %s is finished at the next start', (_when, moment) => killWhen(moment))

  it('anywhere has happened as a whole or not at all', () => killAnywhere(1, 400))
})
