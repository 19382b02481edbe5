/**
 * Forks as the rest of the daemon asks for them: what a session's jobs share, and the runs over it. Puts the parts
 * together and decides only whether a fork goes on from a harness's own request or from what the daemon tells itself.
 */
import type { Db } from '../db/database.ts'
import type { Clock } from '../platform/clock.ts'
import { createForks, type ForkDeps } from './agent-run.ts'
import { createCacheWatch } from './cache-watch.ts'
import {
  barePrefix,
  createHandovers,
  type Handover,
  harnessPrefix,
  type Keep,
  type Last,
  type Own,
  type Prefix,
  renderedPrefix,
} from './prefix.ts'
import { createRendering, createRenderings, type RenderingKey, type Said, sessionName } from './rendering.ts'
import { toolSpecs } from './tools.ts'

type Deps = Omit<ForkDeps, 'cacheWatch'> & {
  history: Db
  clock: Clock
  own: () => Own
}

type Shared = {
  key: RenderingKey
  /** In order, from the anchor on. */
  messages: readonly Said[]
  notes: () => string
  /** For what the daemon tells itself: a harness has chosen its own. */
  model: string
  keep: Keep
}

/** `names`: what a model calls each message, and its id. Empty where it has only seen the words of a harness. */
export type Told = { prefix: Prefix; names: ReadonlyMap<string, string> }

export function createAgent({ history, own, ...deps }: Deps) {
  const { clock, redact } = deps
  const cacheWatch = createCacheWatch({ clock })
  const announce = (key: RenderingKey, because: string) => cacheWatch.announce(sessionName(key), because)
  const renderings = createRenderings(history)
  const rendering = createRendering({ renderings, redact, clock, onBreak: announce })
  const handovers = createHandovers({ clock })
  // The same for every run, and a millisecond to make.
  const tools = toolSpecs()
  return {
    run: createForks({ ...deps, cacheWatch }),
    /** Says beforehand that what a session's jobs share will not be what it was. */
    announce,
    /** The first message that models are still told of a session. */
    anchorOf: rendering.anchorOf,
    /** The harness's own request with which a turn ended. Kept in memory only. */
    handOver: (key: RenderingKey, handover: Handover) => handovers.keep(sessionName(key), handover),
    /** A server did not take what a harness handed over. */
    dropHandover: handovers.drop,
    /** What the jobs of a session share. */
    told: async ({ key, messages, notes, model, keep }: Shared): Promise<Told> => {
      const handed = handovers.find(sessionName(key), own(), lastOf(messages))
      if ('params' in handed) return { prefix: harnessPrefix(sessionName(key), handed.params), names: new Map() }
      const rendered = await rendering.render({ key, messages, notes })
      const names = new Map(rendered.messages.map(({ name, id }) => [name, id]))
      return { prefix: renderedPrefix({ key: sessionName(key), model, keep }, rendered, tools), names }
    },
    /** For a job that is about no session; `key` says about what. */
    toldNothing: (key: string, model: string): Prefix => barePrefix({ key, model, keep: '5m' }, tools),
  }
}

function lastOf(messages: readonly Said[]): Last {
  const lastBy = (who: Said['by']) => messages.findLast(({ by, text }) => by === who && text.trim() !== '')?.text
  return { agent: lastBy('agent'), person: lastBy('person') }
}

export type Agent = ReturnType<typeof createAgent>
