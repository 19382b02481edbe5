/** Which cases of the table of failing file calls are tried: some of them by their seed, or those at which a kill tells more. */
import { hashOf } from './fault-oracle.ts'
import { type Case, nameOf } from './fault-table.ts'
import type { FileCall } from './faults.ts'
import { seeded } from './seed.ts'

const CHANGES: readonly FileCall[] = ['open-write', 'write', 'sync', 'rename', 'link', 'unlink', 'mkdir', 'rmdir']

/** At each of the calls that change something, the process ends instead. */
export function kills(cases: readonly Case[]): Case[] {
  const isChange = ({ operation, place, call, times }: Case) =>
    operation.isWrite && (place === 'memory' || place === 'history') && times === 1 && CHANGES.includes(call)
  return cases.filter(isChange).map((each) => ({ ...each, error: 'kill' }))
}

/** So many of them, others each time: by its seed a choice is made again. */
export function sample<T>(all: readonly T[], count: number, name: string): T[] {
  const random = seeded(name)
  const left = [...all]
  const take = () => left.splice(Math.floor(random() * left.length), 1)
  return Array.from({ length: Math.min(count, all.length) }, take).flat()
}

/** So many, spread over operations, calls and places: of those that were chosen least so far the next, by its seed. */
export function spread(all: readonly Case[], count: number, name: string): Case[] {
  const salt = seeded(name)()
  const taken = new Map<string, number>()
  const left = all.map((one) => ({ one, keys: keysOf(one), tie: hashOf(`${salt} ${nameOf(one)}`) }))
  const times = (key: string) => taken.get(key) ?? 0
  const before = (a: (typeof left)[number], b: (typeof left)[number]) =>
    a.keys.reduce((order, key, n) => order || times(key) - times(b.keys[n] as string), 0) || (a.tie < b.tie ? -1 : 1)
  return Array.from({ length: Math.min(count, all.length) }, () => {
    const next = left.reduce((best, each) => (before(each, best) < 0 ? each : best))
    left.splice(left.indexOf(next), 1)
    for (const key of next.keys) taken.set(key, times(key) + 1)
    return next.one
  })
}

/** The coarsest first: each operation in turn, and of it a call, a place and a duration that had theirs least often. */
function keysOf({ operation: { name }, call, place, times }: Case): string[] {
  return [name, `${name} ${call}`, `${place} ${call}`, `${name} ${place}`, `${name} ${times}`]
}
