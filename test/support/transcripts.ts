/** Transcripts in the roots of a HOME, and waiting for what the daemon makes of them. */
import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Client } from '../../client/index.ts'
import { collectEvents } from './events.ts'
import type { Home } from './home.ts'

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
  const { seen, until } = await collectEvents(client, 'turn')
  return {
    /** Waits until so many turns have ended, and takes them. */
    take: async (count: number) => {
      await until(({ length }) => length >= count)
      return seen.splice(0)
    },
  }
}
