/**
 * Rare words in many transcripts, over the socket, against a scan of the same texts that are decoded and in memory already.
 * Both must find the same messages.
 */
import { readFileSync } from 'node:fs'
import { textAt } from '../../daemon/transcripts/digest.ts'
import { routeTable } from '../../schema/route-table.ts'
import type { FoundList } from '../../schema/session.ts'
import { openConnection, requestFor } from './connection.ts'
import { type Ground, indexApart, makeGround, prepareIndex, stateDirOf } from './indexing.ts'
import { inRounds, quantile, ratio } from './rounds.ts'
import type { Row } from './row.ts'

/** 1 GB, quickly 58 MB: the ratio grows with the size. */
const FILES = { full: 860, quick: 50 }
const MESSAGES_PER_FILE = 500
const RARE_WORDS = 20
const ROUNDS = { full: 60, quick: 20 }
/** All words so often, until V8 has compiled the hot paths. */
const WARM_UP_PASSES = 5

type Text = { id: string; text: string }

export const search: Row<'literal' | 'word'> = {
  name: 'search',
  what: 'GET /v1/search for a rare word (≤ 50 hits), as a literal and as a word; same messages as the scan',
  yardstick: 'a scan of the same decoded texts in memory',
  goals: { literal: { unit: '×', atLeast: 20 }, word: { unit: '×', atLeast: 20 } },

  run: async (bench) => {
    const home = bench.home()
    const order = { files: FILES[bench.pace], messagesPerFile: MESSAGES_PER_FILE, rareWords: RARE_WORDS }
    const ground = makeGround(home, order)
    const indexedMs = await indexApart(prepareIndex(stateDirOf(home)), ground)
    const texts = textsOf(ground)
    const { socketPath } = await bench.daemon(home)
    const connection = await openConnection(socketPath)

    const ask = async (q: string): Promise<string[]> => {
      const answer = await connection.ask(requestFor(routeTable.search, { q, cwd: ground.cwd, limit: '999' }))
      const { items } = JSON.parse(answer.toString()) as FoundList
      return items.map(({ messageId }) => messageId).sort()
    }
    const scan = (word: string): string[] => {
      const found: string[] = []
      for (const { id, text } of texts) if (text.includes(word)) found.push(id)
      return found.sort()
    }
    const same = async (q: string, word: string) => {
      if ((await ask(q)).join() !== scan(word).join())
        throw new Error(`a search for ${q} found other messages than the scan`)
    }
    for (let pass = 1; pass < WARM_UP_PASSES; pass++)
      for (const { word } of ground.rare) for (const q of [word, `"${word}"`]) await ask(q)
    for (const { word } of ground.rare) {
      await same(word, word)
      await same(`"${word}"`, word)
      // A part of a word, which no index of words has.
      await same(`"${word.slice(1, -1)}"`, word.slice(1, -1))
    }

    let turn = 0
    const word = () => ground.rare[turn++ % RARE_WORDS]?.word ?? ''
    const taken = await inRounds(ROUNDS[bench.pace], {
      literal: () => timed(() => ask(`"${word()}"`)),
      word: () => timed(() => ask(word())),
      scan: () => timed(async () => scan(word())),
    })
    connection.close()
    return {
      figures: { literal: ratio(taken.scan, taken.literal, 0.5), word: ratio(taken.scan, taken.word, 0.5) },
      details: {
        transcriptBytes: ground.bytes,
        textBytes: texts.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0),
        mostHits: Math.max(...ground.rare.map(({ messages }) => messages)),
        indexedMs,
        literalMs: quantile(taken.literal.flat(), 0.5),
        wordMs: quantile(taken.word.flat(), 0.5),
        scanMs: quantile(taken.scan.flat(), 0.5),
      },
    }
  },
}

async function timed(act: () => Promise<unknown>): Promise<number[]> {
  const begunMs = performance.now()
  await act()
  return [performance.now() - begunMs]
}

function textsOf({ paths }: Ground): Text[] {
  const texts: Text[] = []
  for (const path of paths)
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      if (line === '') continue
      // A copy in one piece: what is cut out of a line keeps the whole line.
      const text = Buffer.from(textAt('claude-code', line)).toString()
      texts.push({ id: /"uuid":"([^"]+)"/.exec(line)?.[1] ?? '', text })
    }
  return texts
}
