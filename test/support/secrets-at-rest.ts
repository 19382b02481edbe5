/** Credentials come in by every way there is, and look-alikes: what of them is on disk afterwards. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect } from 'vitest'
import { createTrace, filesAtRest } from './at-rest.ts'
import { connectAs } from './connect-as.ts'
import { startDaemon } from './daemon.ts'
import { harmlessSamples } from './harmless-samples.ts'
import { type Home, makeHome } from './home.ts'
import { topic } from './memory.ts'
import { type SecretSample, secretSamples } from './secret-samples.ts'
import { makeGround, waysIn } from './secret-ways.ts'
import { seeded } from './seed.ts'

const MARKER = 'plain-marker-without-a-secret'

function homeWith(config: object): Home {
  const home = makeHome()
  writeFileSync(home.places.configFile, JSON.stringify({ ...config, log: { level: 'debug' } }))
  return home
}

/** Every kind comes by every way: one of a kind after the other takes the next. */
function wayOf(samples: readonly SecretSample[], n: number): number {
  const { kind } = samples[n] as SecretSample
  const before = samples.slice(0, n).filter((sample) => sample.kind === kind).length
  return (n + before) % waysIn.length
}

export async function keepNone(count: number): Promise<void> {
  const home = homeWith({ review: 'required', team: { enabled: true } })
  const samples = secretSamples(seeded('secrets at rest'), count)
  const kinds = new Set(samples.map(({ kind }) => kind))
  expect(kinds.size).toBeGreaterThanOrEqual(20)
  const pairs = new Set(samples.map(({ kind }, n) => `${kind} by way ${wayOf(samples, n)}`))
  expect(pairs.size).toBe(kinds.size * waysIn.length)
  const first = await startDaemon(home)
  const clients = { person: connectAs(home, 'user'), agent: connectAs(home, 'agent:test') }
  const byOthers = new Set<string>()
  const errands = await Promise.all(
    waysIn.map(async (way, at) => {
      // A project for each way: an index of a thousand lines would only test patience.
      const cwd = join(home.dir, `way-${at}`)
      mkdirSync(cwd)
      const { dir } = await clients.person.memories({ cwd })
      const ground = makeGround(home, clients, { cwd, dir, wrote: (path) => byOthers.add(path) })
      return { way, ground, share: samples.filter((_sample, n) => wayOf(samples, n) === at) }
    }),
  )
  await clients.person.putMemory({ cwd: home.dir, file: 'marker.md', content: topic(MARKER, MARKER) })
  for (const { way, ground, share } of errands) await way.send(ground, share)

  // The home holds everything: memories, databases with their logs, backups, the daemon's log.
  const secrets = errands.flatMap(({ way, share }) =>
    share.map(({ kind, secret }) => ({ name: `${way.name}, ${kind}`, text: secret })),
  )
  const traceSecrets = createTrace(secrets)
  const leaks = (except: ReadonlySet<string>) =>
    filesAtRest(home.dir)
      .filter(({ path }) => !except.has(path))
      .flatMap((file) => traceSecrets(file).map(({ name, piece }) => `${basename(file.path)}: ${name}: ${piece}`))
  await first.kill9()
  expect(leaks(byOthers)).toEqual([])

  const second = await startDaemon(home)
  for (const { way, ground, share } of errands) await way.afterNoticing?.(ground, share)
  expect(leaks(byOthers)).toEqual([])
  await second.stop()
  // Without today's backup the next start makes one, of all that has been said by now.
  const backups = join(home.places.stateDir, 'backups')
  rmSync(backups, { recursive: true })
  const third = await startDaemon(home)
  expect(leaks(byOthers)).toEqual([])
  await third.stop()
  expect(leaks(byOthers)).toEqual([])

  // The same search finds what is there: a plain word in all those places, and what others wrote by hand.
  const placesOf = (text: string) => {
    const trace = createTrace([{ name: text, text }])
    return filesAtRest(home.dir).flatMap((file) => (trace(file).length > 0 ? [basename(file.path)] : []))
  }
  const [backup] = readdirSync(backups)
  expect(placesOf(MARKER).sort()).toEqual(['MEMORY.md', backup, 'history.db', 'index.db', 'marker.md'].sort())
  expect(placesOf('memoryd is ready')).toEqual([basename(home.places.logFile)])
  expect(leaks(new Set()).length).toBeGreaterThan(count / waysIn.length / 2)
}

/** At most one in a hundred is refused or altered. */
export async function keepHarmless(count: number): Promise<void> {
  const home = homeWith({ team: { enabled: true } })
  await startDaemon(home)
  const person = connectAs(home, 'user')
  const samples = harmlessSamples(seeded('harmless at rest'), count)
  const kept = async (file: string, texts: readonly string[]) => {
    const content = topic(texts.join('\n\n'))
    const done = await person.putMemory({ cwd: home.dir, file, content }).catch(() => undefined)
    return done !== undefined && (await person.memory({ cwd: home.dir, file })).content === content
  }
  for (const folder of ['', 'team/']) {
    const lost: string[] = []
    for (let at = 0; at < count; at += 20) {
      const group = samples.slice(at, at + 20).map(({ text }) => text)
      if (await kept(`${folder}${at}.md`, group)) continue
      for (const text of group) if (!(await kept(`${folder}${at}.md`, [text]))) lost.push(text)
    }
    expect(lost.slice(count / 100)).toEqual([])
  }
  const oneOfEach = [...new Map(samples.map(({ kind, text }) => [kind, text])).values()]
  const cwd = join(home.dir, 'elsewhere')
  const answers = await Promise.all(oneOfEach.map((text) => person.remember({ cwd, text })))
  expect(answers.flatMap(({ redacted }) => redacted)).toEqual([])
}
