/** `memoryd demo`: a tour in a temporary home, through a real daemon, without a network, that leaves nothing behind. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pc from 'picocolors'
import type { Contract } from '../../../schema/contract.ts'
import { passOn } from '../../hooks/pass-on.ts'
import { type Context, harmless, type Print } from '../context.ts'
import { openStage, type Session, type Stage, sessions } from './stage.ts'

type Event = Contract['events']['answer']

/** However busy the machine is: a tour that stands still is no tour. */
const PATIENCE_MS = 15_000
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/** `onBrokenPipe`: who listens to this has seen enough. */
export async function demo(context: Context, onBrokenPipe: (leave: () => void) => void): Promise<void> {
  const begunMs = performance.now()
  const leaving = new AbortController()
  const write = (text: string) => {
    if (!leaving.signal.aborted) process.stdout.write(text)
  }
  const screen = createScreen(write, context.print.colour, process.stdout.columns)
  const leave = (code: number) => {
    process.exitCode = code
    leaving.abort()
  }
  onBrokenPipe(() => leave(0))
  // For good: a second Ctrl-C must not stop the tidying up half way.
  for (const [signal, code] of Object.entries(SIGNALS)) process.on(signal, () => leave(code))
  const left = new Promise<void>((resolve) => leaving.signal.addEventListener('abort', () => resolve()))
  screen.say('A tour of memoryd in a temporary home. Nothing of yours is read or changed, and no model is asked.')
  const opening = openStage(context)
  try {
    await Promise.race([opening.then((stage) => walk(stage, screen)), left])
  } finally {
    // Also when the user leaves before it exists.
    await opening.then(
      (stage) => stage.close(),
      () => {},
    )
  }
  screen.chapter('Nothing is left behind')
  screen.say(`The daemon is stopped and its home deleted, after ${seconds(performance.now() - begunMs)}.`)
  screen.say(`Next: ${context.self} start, then ${context.self} connect claude-code (or codex, gemini, pi).`)
}

async function walk(stage: Stage, screen: Screen): Promise<void> {
  const { client, cwd } = stage
  const heard = await listen(stage)
  screen.chapter('Sessions become memories')
  const [monday, tuesday, wednesday] = sessions as [Session, Session, Session]
  for (const session of [monday, tuesday]) {
    screen.dim(session.title)
    for (const n of session.turns.keys()) {
      screen.say(`> ${session.turns[n]?.asks}`)
      stage.play(session, n)
      const { files } = await heard.next((event) => event.type === 'saved')
      for (const file of (files as string[]).filter((name) => name !== 'MEMORY.md')) screen.good(`+ ${file}`)
    }
  }

  screen.chapter('The right one comes back with the prompt it fits')
  for (const prompt of ['How do I deploy the shop?', 'What is the capital of France?']) {
    screen.say(`> ${prompt}`)
    const hook = { hook_event_name: 'UserPromptSubmit', session_id: 'demo', cwd, prompt }
    const printed = await passOn({
      harness: 'claude-code',
      socket: stage.socket,
      env: {},
      deadlineMs: PATIENCE_MS,
      input: (async function* () {
        yield Buffer.from(JSON.stringify(hook))
      })(),
    })
    if (printed === '') screen.dim('nothing fits, so the agent is told nothing')
    else screen.quote(toldIn(printed), 6)
  }

  screen.chapter('A dream puts them in order')
  const { dir, items } = await client.memories({ cwd })
  const twin = items.find(({ file }) => readFileSync(join(dir, file), 'utf8').includes('release'))
  if (twin) {
    writeFileSync(join(dir, 'copy_of_deploys.md'), readFileSync(join(dir, twin.file)))
    screen.dim(`${twin.file} was copied by hand: the same stands there twice`)
  }
  const before = snapshot(dir, (await client.memories({ cwd })).items)
  const begun = await client.dream({ cwd, force: true })
  if (!begun.started) throw new Error(`no dream was started: ${begun.why ?? begun.gate}`)
  await heard.next((event) => event.type === 'job' && event.id === begun.jobId && event.state === 'done')
  const { last } = await client.dreamStatus({ cwd })
  screen.say(`${last?.merged ?? 0} merged, ${last?.updated ?? 0} updated, ${last?.removed ?? 0} removed, as one run:`)
  for (const { file, op } of last?.files ?? []) screen.good(`${op} ${file}`)

  screen.chapter('Everything can be undone')
  const runId = last?.runId ?? ''
  await client.undoRun({ id: runId })
  const after = snapshot(dir, (await client.memories({ cwd })).items)
  screen.say(
    `undid the dream: ${JSON.stringify(before) === JSON.stringify(after) ? 'every file is as it was, byte for byte' : 'the files are back'}`,
  )

  screen.chapter('A long session is compacted, and loses nothing that matters')
  screen.dim(`${wednesday.title}: ${wednesday.turns.length} turns with long results of tools`)
  for (const n of wednesday.turns.keys()) stage.play(wednesday, n)
  await heard.settled(wednesday, wednesday.turns.length)
  const compacted = await client.compact({
    sessionId: wednesday.id,
    harness: wednesday.harness,
    cwd,
    model: 'claude-haiku-5-5',
    trigger: 'manual',
    preview: true,
  })
  screen.say(`about ${compacted.tokensBefore} tokens become ${compacted.tokensAfter}, without a model:`)
  screen.quote(compacted.summary.replace(/^_.*_$/gm, ''), 10)
}

function toldIn(printed: string): string {
  const { hookSpecificOutput } = JSON.parse(printed) as { hookSpecificOutput: { additionalContext: string } }
  return hookSpecificOutput.additionalContext.replace(/<\/?(?:system-reminder|memoryd-context)>\n?/g, '')
}

function snapshot(dir: string, items: readonly { file: string }[]): [string, string][] {
  return ['MEMORY.md', ...items.map(({ file }) => file)]
    .sort()
    .map((file) => [file, readFileSync(join(dir, file), 'utf8')])
}

/** What happens from now on, nothing of it missed. */
async function listen({ client }: Stage) {
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  const next = async (isIt: (event: Event) => boolean): Promise<Record<string, unknown>> => {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error('the daemon did not do in time what was shown')), PATIENCE_MS).unref()
    })
    for (;;) {
      const event = await Promise.race([events.next(), late])
      if (event.done) throw new Error('the daemon stopped')
      if (isIt(event.value)) return event.value as Record<string, unknown>
    }
  }
  return {
    next,
    /** All turns of a session were read. */
    settled: async ({ id, harness }: Session, turns: number) => {
      for (;;) {
        await next((event) => event.type === 'turn' && event.sessionId === id)
        if ((await client.session({ id, harness })).turns >= turns) return
      }
    },
  }
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}

/** What the tour prints: lines that fit the terminal, and colours only on a terminal. */

export type Screen = {
  /** A new part of the tour. */
  chapter(title: string): void
  say(text: string): void
  dim(text: string): void
  good(text: string): void
  /** Cut to so many lines. */
  quote(text: string, most: number): void
}

const NARROWEST = 39
const WIDEST = 110

export function createScreen(
  write: (text: string) => void,
  colour: Print['colour'],
  columns: number | undefined,
): Screen {
  const paint = pc.createColors(colour === 'on')
  const width = Math.max(NARROWEST, Math.min((columns ?? 80) - 1, WIDEST))
  let chapters = 0
  const line = (text: string, style: (text: string) => string = (same) => same) =>
    write(`${style(cut(harmless(text, 'off').replaceAll('\n', ' '), width))}\n`)
  const lines = (text: string, indent: string, style?: (text: string) => string) => {
    for (const each of wrapped(text, width - indent.length)) line(indent + each, style)
  }
  return {
    chapter: (title) => {
      write('\n')
      line(`${++chapters}. ${title}`, paint.bold)
    },
    say: (text) => lines(text, '   '),
    dim: (text) => lines(text, '   ', paint.dim),
    good: (text) => lines(text, '   ', paint.green),
    quote: (text, most) => {
      const all = text.split('\n').filter((each) => each.trim() !== '')
      for (const each of all.slice(0, most)) line(`   | ${each}`, paint.cyan)
      if (all.length > most) line(`   | ... ${all.length - most} more lines`, paint.dim)
    },
  }
}

function cut(text: string, width: number): string {
  const letters = [...text]
  return letters.length <= width ? text : `${letters.slice(0, width - 3).join('')}...`
}

function wrapped(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/)) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else line = line === '' ? word : `${line} ${word}`
  }
  return line === '' ? lines : [...lines, line]
}
