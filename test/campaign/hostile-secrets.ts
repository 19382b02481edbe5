/** A credential in every field of every route that takes a text, and what of it is on the disk afterwards. */
import { join } from 'node:path'
import { createTrace, filesAtRest } from '../support/at-rest.ts'
import { type Home, makeHome } from '../support/home.ts'
import { freeStanding } from '../support/secret-values.ts'
import { append, turn } from '../support/transcripts.ts'
import { randomOf, validRequest, wireOf } from './hostile-fuzz.ts'
import type { Operation, Request } from './hostile-spoils.ts'
import type { Ground } from './hostile-values.ts'
import { send } from './hostile-wire.ts'

type Place = { name: string; set: (value: string) => void }

/** The ways in which a text may hold a credential, whatever the field is for. A folder is there, with a transcript in it. */
const forms: Record<string, (secret: string, elsewhere: string) => string> = {
  bare: (secret) => secret,
  sentence: (secret) => `Always use ${secret} for staging; it is valid until Friday.`,
  folder: (secret, elsewhere) => {
    const cwd = join(elsewhere, secret)
    append(join(cwd, 's.jsonl'), { type: 'session', id: 's', cwd }, ...turn('one'))
    return cwd
  },
  file: (secret) => `key_${secret}.md`,
  session: (secret) => `session:${secret}`,
}
export type Form = keyof typeof forms
export const allForms = Object.keys(forms)

/** So many samples of each route: each field that may be left out, and each open form, is in one of them. */
const SAMPLES = 100
/** The first has every field. */
const sampleOf = (n: number) => (n === 0 ? () => 0 : randomOf(n))
const HEADERS = ['x-memoryd-actor', 'x-memoryd-env']

function placesOf({ operation, params, query, body, headers }: Request): Place[] {
  const places: Place[] = []
  for (const name of Object.keys(params)) places.push({ name: `path ${name}`, set: (value) => (params[name] = value) })
  for (const pair of query) places.push({ name: `query ${pair[0]}`, set: (value) => (pair[1] = value) })
  for (const name of HEADERS)
    places.push({
      name: `header ${name}`,
      set: (value) =>
        (headers[name] = name.endsWith('env') ? JSON.stringify({ CLAUDE_CODE_SIMPLE: value }) : `agent:${value}`),
    })
  const walk = (value: unknown, name: string) => {
    if (typeof value !== 'object' || value === null) return
    const holder = value as Record<string, unknown>
    for (const [key, inner] of Object.entries(holder)) {
      const at = `${name}.${Array.isArray(value) ? '*' : key}${formOf(inner)}`
      if (typeof inner === 'string') places.push({ name: at, set: (text) => (holder[key] = text) })
      walk(inner, at)
    }
  }
  walk(body, `body${formOf(body)}${operation.name === 'hook' ? ` of ${String(params.harness)}` : ''}`)
  return places.map(({ name, set }) => ({ name: `${operation.name}: ${name}`, set }))
}

/** Messages and hooks have other fields, and another way, depending on what they are. */
function formOf(value: unknown): string {
  const { hook_event_name: hook, role, type } = (value ?? {}) as Record<string, unknown>
  const form = [hook, role, type].filter((name) => typeof name === 'string')
  return typeof value === 'object' && form.length > 0 ? `(${form.join()})` : ''
}

/** Gives where credentials are on the disk: none. */
export async function sendSecrets(home: Home, operations: readonly Operation[], ground: Ground, some: readonly Form[]) {
  const random = randomOf(7)
  // Not below the folder in which they are looked for.
  const elsewhere = makeHome().dir
  const makers = Object.values(freeStanding)
  const sent: { name: string; text: string }[] = []
  const seen = new Set<string>()
  const problems: string[] = []
  const taken = { kept: 0, refused: 0 }
  for (const operation of operations)
    for (let seed = 0; seed < SAMPLES; seed++) {
      const names = placesOf(validRequest(sampleOf(seed), operation, ground)).map(({ name }) => name)
      for (const [at, name] of names.entries())
        for (const form of some) {
          if (seen.has(`${name} ${form}`)) continue
          seen.add(`${name} ${form}`)
          const text = makers[sent.length % makers.length]?.(random) ?? ''
          // The same request anew: the one before has its secret in it.
          const request = validRequest(sampleOf(seed), operation, ground)
          request.headers['x-memoryd-actor'] = 'user'
          placesOf(request)[at]?.set(forms[form]?.(text, elsewhere) ?? '')
          sent.push({ name: `${name}, ${form}`, text })
          const answered = await send(
            home.places.socketPath,
            wireOf(() => 1, request),
          )
          if (typeof answered === 'string' || answered.status >= 500)
            problems.push(`${name}, ${form}: ${typeof answered === 'string' ? answered : answered.body}`)
          else taken[answered.status < 400 ? 'kept' : 'refused']++
        }
    }
  return {
    ...taken,
    tried: sent.length,
    problems,
    /** Once the daemon has ended: all that it wrote is there. */
    leaks: () => {
      const trace = createTrace(sent)
      return filesAtRest(home.dir).flatMap((file) => trace(file).map(({ name }) => `${file.path}: ${name}`))
    },
  }
}
