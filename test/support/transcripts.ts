/** Transcripts in the roots of a HOME, and waiting for what the daemon makes of them. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Client } from '../../client/index.ts'
import type { Event } from '../../schema/event.ts'
import type { Home } from './home.ts'

export type TurnEvent = Extract<Event, { type: 'turn' }>

/** Sets the roots to nothing but a folder of generic transcripts, whose path is given back. */
export function genericRoot(home: Home, settings: object = {}): string {
  const root = join(home.dir, 'transcripts')
  mkdirSync(root, { recursive: true })
  const roots = { 'claude-code': [], codex: [], gemini: [], pi: [], generic: [root] }
  writeFileSync(home.places.configFile, JSON.stringify({ roots, ...settings }), { mode: 0o600 })
  return root
}

export function append(file: string, ...records: object[]): void {
  mkdirSync(dirname(file), { recursive: true })
  appendFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
}

/** A question and its final answer. */
export function turn(name: string): object[] {
  const at = new Date().toISOString()
  return [
    { type: 'user', id: `q-${name}`, text: `${name}?`, at },
    { type: 'assistant', id: `a-${name}`, text: name, usage: { input: 10, output: 2 }, end: 'final', at },
  ]
}

/** Collects the ends of turns; ready when it is returned. */
export async function turnEvents(client: Pick<Client, 'events'>) {
  const seen: TurnEvent[] = []
  let news = () => {}
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  const collect = async () => {
    for (let next = await events.next(); !next.done; next = await events.next()) {
      if (next.value.type === 'turn') seen.push(next.value)
      news()
    }
  }
  // The stream breaks with its daemon; what a test then misses, it waits for in vain.
  void collect().catch(() => {})
  return {
    /** Waits until so many turns have ended, and takes them. */
    take: async (count: number) => {
      while (seen.length < count)
        await new Promise<void>((resolve) => {
          news = resolve
        })
      return seen.splice(0)
    },
  }
}
