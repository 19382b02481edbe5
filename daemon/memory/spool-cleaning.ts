/** Takes credentials out of everything that came with an import and is wanted of it, without keeping others waiting long. */
import type { ChangeLine, TombstoneLine } from '../../schema/transfer.ts'
import type { Clock } from '../platform/clock.ts'
import { redact } from '../secrets/redact.ts'
import type { Spool } from './spool.ts'
import { nameWithoutCredential } from './write-checks.ts'

/** Each takes a millisecond or two. */
const AT_A_TIME = 20
const MOST_REMEMBERED = 1_000

export async function cleanSpool(spool: Spool, clock: Clock): Promise<void> {
  const clean = remembering(async (text) => (await redact(text)).text)
  const cleanName = remembering(nameWithoutCredential)
  const cleanChange = async ({ file, reason, evidence, ...same }: ChangeLine): Promise<ChangeLine> => ({
    ...same,
    file: await cleanName(file),
    reason: await clean(reason),
    evidence: await Promise.all(evidence.map(async (each) => ({ ...each, excerpt: await clean(each.excerpt) }))),
  })
  const cleanTombstone = async ({ file, excerpt, ...same }: TombstoneLine): Promise<TombstoneLine> => ({
    ...same,
    file: await cleanName(file),
    excerpt: await clean(excerpt),
  })
  /** Tells whether there was one. */
  const cleanOne = async (): Promise<boolean> => {
    const text = spool.uncleanText()
    if (text) spool.cleanText(text.key, (await redact(text.text)).text)
    const change = spool.uncleanChange()
    if (change) spool.cleanChange(change.line, await cleanChange(change.change))
    const grave = spool.uncleanTombstone()
    if (grave) spool.cleanTombstone(grave.id, await cleanTombstone(grave.tombstone))
    return text !== undefined || change !== undefined || grave !== undefined
  }
  for (let done = 0; await cleanOne(); done++) if (done % AT_A_TIME === 0) await clock.delay(0)
}

/** The reasons of a journal are a handful of sentences, said over and over. */
function remembering(clean: (text: string) => Promise<string>): (text: string) => Promise<string> {
  const known = new Map<string, string>()
  return async (text) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const after = await clean(text)
    if (known.size < MOST_REMEMBERED && text.length < 200) known.set(text, after)
    return after
  }
}
