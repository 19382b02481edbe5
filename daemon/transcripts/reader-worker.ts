/** The composition root of the thread that reads transcripts: its own connection, so that nobody waits for it. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { openDatabase, prepareForBulk } from '../db/database.ts'
import { createClock } from '../platform/clock.ts'
import { findProjectRoot } from '../projects/git.ts'
import { privateFolder } from '../projects/paths.ts'
import { redact, redactSoon } from '../secrets/redact.ts'
import { createDueAfter } from './due.ts'
import { createIngest } from './ingest.ts'
import { createReadBack } from './live-chain.ts'
import { createMessageWords } from './message-index.ts'
import { pushedLines } from './pushed-lines.ts'
import { createRounds, failed } from './rounds.ts'
import { createTail } from './tail.ts'
import type { FromThread, ThreadData, ToThread } from './thread-messages.ts'
import { createTranscripts } from './transcript-table.ts'

const { indexFile, backlogDays } = workerData as ThreadData
const port = parentPort
if (!port) throw new Error('reader-worker.js is not a program: the daemon starts it as a thread')

const tell = (message: FromThread) => port.postMessage(message)

try {
  begin(port)
} catch (error) {
  tell({ kind: 'broken', error: failed(error) })
  port.close()
}

function begin(port: MessagePort): void {
  const db = openDatabase(indexFile)
  prepareForBulk(db)
  const clock = createClock()
  const tail = createTail({ clock })
  const words = createMessageWords(() => db)
  const projectOf = (cwd: string) => findProjectRoot(cwd).root
  let privatePaths: readonly string[] = []

  const rounds = createRounds({
    ingest: createIngest({
      tail,
      transcripts: createTranscripts(db, words),
      redact: redactSoon,
      projectOf,
      isPrivate: (cwd) => privateFolder(privatePaths, [cwd, projectOf(cwd)]) !== undefined,
      dueAfter: createDueAfter({ clock, backlogDays }),
    }),
    clock,
    turnsOf: createReadBack({ tail, redact }),
    linesOf: (pushed) => pushedLines(pushed, redact),
    setPrivate: (paths) => {
      privatePaths = paths
    },
    merge: words.merge,
    tell,
  })

  port.on('message', (message: ToThread) => {
    if (message.kind !== 'end') return rounds.hear(message)
    rounds.stop()
    // A slice under way fails on the closed database and is read again by the next thread: whole or not at all.
    db.close()
    port.close()
  })
}
