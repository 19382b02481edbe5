/** What every command gets: where things are, how to ask the daemon and the user, how to print. */
import { statSync } from 'node:fs'
import { createInterface } from 'node:readline/promises'
import { MemoryError } from '../../schema/errors.ts'
import type { Environment, Places } from '../../schema/rendezvous.ts'
import type { StrictClient } from '../client.ts'
import type { connect } from '../index.ts'

export type Context = {
  env: Environment
  places: Places
  connect: typeof connect
  /** What the user types to run this program, for hints that work when pasted. */
  self: string
  /** Advice of ours, with the name that works here. Never for text from elsewhere. */
  typed: (advice: string) => string
  print: Print
}

export type Print = ReturnType<typeof createPrint>

type Form = { json: boolean; colour: 'on' | 'off' }

export function createPrint(write: (text: string) => void, { json, colour }: Form) {
  return {
    result: (data: unknown, lines: () => string[]): void => {
      const text = () => lines().map((line) => harmless(line, colour))
      write(`${json ? JSON.stringify(data) : text().join('\n')}\n`)
    },
    colour,
    form: json ? ('json' as const) : ('text' as const),
  }
}

export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([label]) => label.length))
  return rows.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`)
}

/** A folder may be called anything: what would steer the terminal is shown as a replacement character; colours pass. */
export function harmless(text: string, colour: 'on' | 'off'): string {
  return text.replace(/\p{Cc}(?:\[\d{1,3}m)?|[\u202a-\u202e\u2066-\u2069]/gu, (found) =>
    found === '\n' || (colour === 'on' && found.startsWith('\u001b[')) ? found : '\ufffd',
  )
}

/** The name of a file in a list: a line break in it must not make a second entry. */
export function inOneLine(file: string): string {
  return file.replace(/[\r\n]/g, '\ufffd')
}

export function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

export function asked(number: number): string {
  return String(Math.min(Math.max(number, 1), 999))
}

/** Commander reports what is thrown while it parses arguments; this is thrown later. */
export function wrongUsage(message: string, hint: string): MemoryError {
  return new MemoryError('BAD_REQUEST', message, { hint })
}

export function isNumber(text: string): boolean {
  return /^\d{1,15}$/.test(text)
}

export function refuseNoFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return
  throw new MemoryError('REFUSED', `there is no folder ${folder}; nothing was changed`, {
    reason: 'path',
    hint: 'give --project the folder of a project, or run it there without one',
  })
}

export async function asUser<T>({ connect, places }: Context, act: (client: StrictClient) => Promise<T>): Promise<T> {
  const client = connect({ socket: places.socketPath, strict: true, actor: 'user', deadlineMs: 30_000 })
  try {
    return await act(client)
  } finally {
    client.close()
  }
}

export async function confirm(question: string): Promise<'yes' | 'no' | 'no-terminal'> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return 'no-terminal'
  const prompt = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await prompt.question(`${question} [y/N] `)
  prompt.close()
  return /^y(es)?$/i.test(answer.trim()) ? 'yes' : 'no'
}
