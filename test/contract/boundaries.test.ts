import { posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { type Source, sources } from '../support/sources.ts'

/** Who may import whom: the table of AGENTS.md. A folder may always import itself. */
const allowed: Record<string, readonly string[]> = {
  schema: [],
  'daemon/platform': ['schema'],
  'daemon/store': ['schema', 'daemon/platform'],
  'daemon/config': ['schema', 'daemon/platform'],
  'daemon/http': ['schema', 'daemon/platform'],
  'daemon/status': ['schema', 'daemon/platform'],
  'daemon/secrets': ['schema', 'daemon/platform'],
  'daemon/locate': ['schema', 'daemon/platform'],
  'daemon/instructions': ['schema', 'daemon/platform'],
  'daemon/memory': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/transcripts': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/search': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/llm': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/extraction': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/context': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/switches': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/jobs': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/agent': ['schema', 'daemon/platform', 'daemon/store', 'daemon/llm'],
  'daemon/notes': ['schema', 'daemon/platform', 'daemon/store', 'daemon/agent'],
  'daemon/recall': ['schema', 'daemon/platform', 'daemon/store', 'daemon/llm'],
  'daemon/dream': ['schema', 'daemon/platform', 'daemon/store', 'daemon/memory'],
  'daemon/agents': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/harness': ['schema', 'daemon/platform', 'daemon/store'],
  'daemon/housekeeping': ['schema', 'daemon/platform', 'daemon/store'],
  // A process of its own besides the daemon: it looks at everything a daemon stands on.
  'daemon/doctor': ['schema', 'daemon/platform', 'daemon/store', 'daemon/config', 'daemon/memory'],
  client: ['schema'],
  'client/hooks': ['schema'],
  'client/mcp': ['schema', 'client'],
  'client/cli': ['schema', 'client', 'client/hooks', 'client/mcp'],
}

/** Composition roots, and the doors through which the command line enters the daemon's half. */
const roots = [
  'daemon/main.ts',
  'daemon/daemon.ts',
  'daemon/answering.ts',
  'daemon/dreaming.ts',
  'daemon/dream-asking.ts',
  'daemon/forking.ts',
  'daemon/ground.ts',
  'daemon/learning.ts',
  'daemon/hooking.ts',
  'daemon/house.ts',
  'daemon/keeping.ts',
  'daemon/noting.ts',
  'daemon/capture.ts',
  'daemon/fitting.ts',
  'daemon/background.ts',
  'daemon/company.ts',
  'daemon/reading-thread.ts',
  'daemon/serving.ts',
]
const doors = ['daemon/main.ts', 'daemon/version.ts', 'daemon/doctor/', 'daemon/platform/process-lock.ts']

/** All that the dependency-free client package may load at run time. */
const plainSchema = ['schema/caller.ts', 'schema/errors.ts', 'schema/rendezvous.ts', 'schema/route-table.ts']

type Import = { target: string; typeOnly: boolean }

function importsOf({ path, text }: Source): Import[] {
  const found = text.matchAll(
    /(?:import|export)(\s+type)?[^'"]*?from\s+'([^']+)'|import\(\s*'([^']+)'|^import '([^']+)'/gm,
  )
  return [...found].map(([, type, from, dynamic, bare]) => {
    const target = (from ?? dynamic ?? bare) as string
    return {
      typeOnly: type !== undefined,
      target: target.startsWith('.') ? posix.join(posix.dirname(path), target) : target,
    }
  })
}

function folderOf(path: string): string {
  const known = Object.keys(allowed).filter((folder) => path.startsWith(`${folder}/`))
  return known.sort((a, b) => b.length - a.length)[0] ?? path
}

function isOurs(target: string): boolean {
  return /^(schema|daemon|client|test)\//.test(target)
}

function importViolations(files: Source[]): string[] {
  return files.flatMap((file) => {
    const from = folderOf(file.path)
    if (roots.includes(file.path)) return []
    return importsOf(file).flatMap(({ target, typeOnly }) => {
      const complaint = [`${file.path} imports ${target}`]
      if (from === 'client' && !isOurs(target)) return target.startsWith('node:') ? [] : complaint
      if (from === 'client' && target.startsWith('schema/') && !typeOnly && !plainSchema.includes(target))
        return complaint
      if (!isOurs(target)) return []
      if (from === 'client/cli' && doors.some((door) => target.startsWith(door))) return []
      const to = folderOf(target)
      return to === from || allowed[from]?.includes(to) ? [] : complaint
    })
  })
}

/** Habits of the code that no type checks. */
const habits: { rule: string; pattern: RegExp; applies: (path: string) => boolean }[] = [
  {
    rule: 'process.env is read once, at an entry',
    pattern: /process\.env/,
    applies: (path) =>
      !['daemon/main.ts', 'daemon/launch.ts', 'client/index.ts', 'client/hooks/hook.ts', 'client/cli/main.ts'].includes(
        path,
      ),
  },
  {
    rule: 'only daemon/platform reads clocks and sets timers in the daemon',
    pattern: /Date\.now|performance\.now|setTimeout|setInterval/,
    applies: (path) => path.startsWith('daemon/') && !path.startsWith('daemon/platform/'),
  },
  {
    rule: 'SQL is prepared in daemon/store only',
    pattern: /\.prepare\(/,
    applies: (path) =>
      !path.startsWith('daemon/store/') && path !== 'daemon/platform/process-lock.ts' && !path.startsWith('schema/'),
  },
  {
    rule: 'only the entries of processes exit',
    pattern: /process\.exit\(/,
    applies: (path) => !['daemon/main.ts', 'client/hooks/hook.ts', 'client/cli/main.ts'].includes(path),
  },
  {
    rule: 'no URL outside the route table',
    pattern: /['"`]\/v1\//,
    applies: (path) => path !== 'schema/route-table.ts',
  },
]

function habitViolations(files: Source[]): string[] {
  return files.flatMap(({ path, text }) =>
    habits.filter(({ pattern, applies }) => applies(path) && pattern.test(text)).map(({ rule }) => `${path}: ${rule}`),
  )
}

describe('boundaries', () => {
  const files = sources('schema', 'daemon', 'client')

  it('lets no module import what its folder may not', () => {
    expect(files.length).toBeGreaterThan(40)
    expect(importViolations(files)).toEqual([])
  })

  it('keeps the habits that no type checks', () => {
    expect(habitViolations(files)).toEqual([])
  })

  it.each([
    ['a feature that imports another', 'daemon/switches/x.ts', "import { a } from '../housekeeping/sweep.ts'"],
    ['schema that reaches outside', 'schema/x.ts', "import { a } from '../daemon/platform/files.ts'"],
    ['a client that pulls in the validators', 'client/x.ts', "import { routes } from '../schema/routes.ts'"],
    ['a client with a dependency', 'client/x.ts', "import pc from 'picocolors'"],
    [
      'a command that reaches into the daemon',
      'client/cli/x.ts',
      "const a = await import('../../daemon/store/store.ts')",
    ],
    [
      'a part that imports the configuration',
      'daemon/http/x.ts',
      "import type { Settings } from '../config/settings.ts'",
    ],
  ])('notices %s', (_what, path, text) => {
    expect(importViolations([{ path, text }])).toHaveLength(1)
  })

  it('notices a broken habit', () => {
    expect(habitViolations([{ path: 'daemon/switches/x.ts', text: 'const now = Date.now()' }])).toHaveLength(1)
  })
})
