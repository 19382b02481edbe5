/**
 * Transcripts that lie anywhere: in folders that somebody names, not where a harness keeps them. Says what each file is
 * and why one is left. Reads none of them, and goes neither into our own folder nor into private ones.
 */
import { realpathSync } from 'node:fs'
import { recognise, rootFor, type Unrecognised } from './recognise.ts'
import { type Root, type Source, sourceOf } from './source.ts'
import { walkNames } from './walk.ts'

/** `harness`: all of it is of this one; else each file is looked at. */
export type Folder = { dir: string; harness: string | undefined }

export type Candidate = { path: string } | { left: 'link' }

type Deps = {
  /** Where harnesses keep theirs: what lies there is known by the name it has there. */
  roots: () => readonly Root[]
  stateDir: string
  isPrivate: (folder: string) => boolean
}

export type Anywhere = {
  files(dir: string): AsyncGenerator<Candidate[]>
  sourceAt(path: string, folder: Folder): Source | Unrecognised
}

/** Backups of whole homes are deep. */
const DEPTH = 16

export function createAnywhere({ roots, stateDir, isPrivate }: Deps): Anywhere {
  const own = realpath(stateDir)
  return {
    files: async function* (dir) {
      const enters = (name: string) => `${dir}/${name}` !== own && !isPrivate(`${dir}/${name}`)
      const isWanted = (name: string) => name.endsWith('.jsonl')
      for await (const entries of walkNames(dir, '', { depth: DEPTH, isWanted, enters }))
        yield entries.map(({ name, kind }) => (kind === 'link' ? { left: 'link' } : { path: `${dir}/${name}` }))
    },
    sourceAt: (path, { dir, harness }) => {
      const known = keptBy(roots(), path)
      if (known) return known
      const recognised = harness === undefined ? recognise(path) : { harness }
      if ('left' in recognised) return recognised
      return { harness: recognised.harness, root: rootFor(recognised.harness, path, dir), path }
    },
  }
}

/** The same file by two names would be two files. */
function keptBy(roots: readonly Root[], path: string): Source | undefined {
  for (const root of roots)
    for (const base of [root.path, realpath(root.path)]) {
      const source = path.startsWith(`${base}/`) ? sourceOf(root, path.slice(base.length + 1)) : undefined
      if (source) return source
    }
  return undefined
}

function realpath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return path
  }
}
