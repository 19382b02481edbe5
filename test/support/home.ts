/** A HOME of its own for every test, with a path short enough for a socket. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { inject, onTestFinished } from 'vitest'
import { type Environment, findPlaces, type Places } from '../../schema/rendezvous.ts'

export type Home = { dir: string; env: Environment; places: Places }

/** For a home whose commands delete the cache of compiled code: others share one, so that a command starts in half the time. */
export const ownCache: Environment = { XDG_CACHE_HOME: '', NODE_COMPILE_CACHE: '' }

/** No part of `/dev`, where homes in memory are: what stands there is the machine's, which no conversation is given. */
export const diskFolder = process.platform === 'linux' ? '/tmp' : tmpdir()

/** Nothing of the developer's own environment reaches what a test starts, except the way to its programs. */
export function makeHome(extra: Environment = {}, parent = tmpdir()): Home {
  const dir = mkdtempSync(join(parent, 'md-'))
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, '.config', 'memoryd'), { recursive: true })
  const path = [join(inject('packageRoot'), 'bin'), process.env.PATH].join(delimiter)
  const cache = join(inject('packageRoot'), 'cache')
  const env = { HOME: dir, PATH: path, NO_COLOR: '1', XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: cache, ...extra }
  return { dir, env, places: findPlaces(env) }
}
