/** `memoryd demo`: a tour in a temporary home, through a real daemon, without a network, that leaves nothing behind. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pc from 'picocolors'
import type { Event } from '../../../schema/event.ts'
import { passOn } from '../../hooks/pass-on.ts'
import { type Context, harmless, type Print } from '../context.ts'
import { openStage, type Stage, sessions } from './stage.ts'

const PATIENCE_MS = 15_000
const SIGNALS = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

export async function demo(context: Context): Promise<void> {
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
  // In place of the listener that exits at once: a closed pipe must not leave a home behind.
  process.stdout.removeAllListeners('error').on('error', () => leave(0))
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
  const seconds = ((performance.now() - begunMs) / 1_000).toFixed(1)
  screen.say(`The daemon is stopped and its home deleted, after ${seconds} s.`)
  screen.say(`Next: ${context.self} start, then ${context.self} connect claude-code (or codex, gemini, pi).`)
}

async function walk(stage: Stage, screen: Screen): Promise<void> {
  const { client, cwd, socket, play } = stage
  const { monday, tuesday, wednesday } = sessions
  const nextEvent = await listen(stage)

  screen.chapter('Sessions become memories')
  for (const session of [monday, tuesday]) {
    screen.dim(session.title)
    for (const [n, { asks }] of session.turns.entries()) {
      screen.say(`> ${asks}`)
      play(session, n)
      const { files } = (await nextEvent(({ type }) => type === 'saved')) as { files: string[] }
      for (const file of files.filter((name) => name !== 'MEMORY.md')) screen.good(`+ ${file}`)
    }
  }

  screen.chapter('The right one comes back with the prompt it fits')
  for (const prompt of ['How do I deploy the shop?', 'What is the capital of France?']) {
    screen.say(`> ${prompt}`)
    const said = JSON.stringify({ hook_event_name: 'UserPromptSubmit', session_id: 'demo', cwd, prompt })
    const input = ReadableStream.from([Buffer.from(said)])
    const printed = await passOn({ harness: 'claude-code', socket, env: {}, input, deadlineMs: PATIENCE_MS })
    if (printed === '') screen.dim('nothing fits, so the agent is told nothing')
    else screen.quote(contextIn(printed), 6)
  }

  screen.chapter('A dream puts them in order')
  const { dir, items } = await client.memories({ cwd })
  const twin = items.find(({ file }) => readFileSync(join(dir, file), 'utf8').includes('release'))
  if (twin) {
    writeFileSync(join(dir, 'copy_of_deploys.md'), readFileSync(join(dir, twin.file)))
    screen.dim(`${twin.file} was copied by hand: the same stands there twice`)
  }
  const before = await snapshot(stage)
  const begun = await client.dream({ cwd, force: true })
  if (!begun.started) throw new Error(`no dream was started: ${begun.why ?? begun.gate}`)
  await nextEvent((event) => event.type === 'job' && event.id === begun.jobId && event.state === 'done')
  const { last } = await client.dreamStatus({ cwd })
  screen.say(`${last?.merged ?? 0} merged, ${last?.updated ?? 0} updated, ${last?.removed ?? 0} removed, as one run:`)
  for (const { file, op } of last?.files ?? []) screen.good(`${op} ${file}`)

  screen.chapter('Everything can be undone')
  await client.undoRun({ id: last?.runId ?? '' })
  const isSame = (await snapshot(stage)) === before
  screen.say(`undid the dream: ${isSame ? 'every file is as it was, byte for byte' : 'the files are back'}`)

  screen.chapter('A long session is compacted, and loses nothing that matters')
  const { harness, id, title, turns } = wednesday
  screen.dim(`${title}: ${turns.length} turns with long results of tools`)
  for (const n of turns.keys()) play(wednesday, n)
  do await nextEvent((event) => event.type === 'turn' && event.sessionId === id)
  while ((await client.session({ id, harness })).turns < turns.length)
  const how = { model: 'claude-haiku-5-5', trigger: 'manual', preview: true } as const
  const { tokensBefore, tokensAfter, summary } = await client.compact({ sessionId: id, harness, cwd, ...how })
  screen.say(`about ${tokensBefore} tokens become ${tokensAfter}, without a model:`)
  screen.quote(summary.replace(/^_.*_$/gm, ''), 10)
}

function contextIn(printed: string): string {
  const { hookSpecificOutput } = JSON.parse(printed) as { hookSpecificOutput: { additionalContext: string } }
  return hookSpecificOutput.additionalContext.replace(/<\/?(?:system-reminder|memoryd-context)>\n?/g, '')
}

async function snapshot({ client, cwd }: Stage): Promise<string> {
  const { dir, items } = await client.memories({ cwd })
  const files = ['MEMORY.md', ...items.map(({ file }) => file)].sort()
  return JSON.stringify(files.map((file) => [file, readFileSync(join(dir, file), 'utf8')]))
}

async function listen({ client }: Stage) {
  const events = client.events()[Symbol.asyncIterator]()
  await events.next()
  return async (isWanted: (event: Event) => boolean): Promise<Event> => {
    const late = new Promise<never>((_, reject) => {
      setTimeout(() => reject(new Error('the daemon did not do in time what was shown')), PATIENCE_MS).unref()
    })
    for (;;) {
      const event = await Promise.race([events.next(), late])
      if (event.done) throw new Error('the daemon stopped')
      if (isWanted(event.value)) return event.value
    }
  }
}

type Screen = ReturnType<typeof createScreen>

const NARROWEST = 39
const WIDEST = 110

export function createScreen(write: (text: string) => void, colour: Print['colour'], columns: number | undefined) {
  const paint = pc.createColors(colour === 'on')
  const width = Math.max(NARROWEST, Math.min((columns ?? 80) - 1, WIDEST))
  let chapters = 0
  const line = (text: string, style: (text: string) => string) =>
    write(`${style(cut(harmless(text, 'off').replaceAll('\n', ' '), width))}\n`)
  const lines = (style: (text: string) => string) => (text: string) => {
    for (const each of wrapped(text, width - 3)) line(`   ${each}`, style)
  }
  return {
    chapter: (title: string) => {
      write('\n')
      line(`${++chapters}. ${title}`, paint.bold)
    },
    say: lines(String),
    dim: lines(paint.dim),
    good: lines(paint.green),
    quote: (text: string, most: number) => {
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
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
