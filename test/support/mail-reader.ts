/**
 * An agent that reads its mail: `mail-reader <socket> <name> <file>`. What it was given is written to the file before it
 * acknowledges it, and what was acknowledged after that: whatever it is killed at, the file says no more than was.
 */
import { appendFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { connect } from '../../client/index.ts'

const [socket = '', name = '', file = ''] = process.argv.slice(2)
const client = connect({ socket, deadlineMs: 5_000 })
/** Sixteen that ask without pause would keep a daemon from starting. */
const PAUSE_MS = 100
const note = (fact: object) => appendFileSync(file, `${JSON.stringify(fact)}\n`)

const me = { name, sessionId: `of-${name}`, cwd: '/', pid: process.pid }
while (!(await client.registerAgent(me))) await delay(PAUSE_MS)
for (;;) {
  const mail = await client.mail({ agent: name, wait: '30' })
  if (!mail) {
    await delay(PAUSE_MS)
    continue
  }
  if (mail.items.length === 0) continue
  note({ got: mail.items.map(({ id, from, body }) => ({ id, from, body })) })
  const acknowledged = await client.acknowledgeMail({ agent: name, ids: mail.items.map(({ id }) => id) })
  if (acknowledged) note({ acknowledged: mail.items.map(({ id }) => id) })
}
