import { basename, posix } from 'node:path'
import { expect, it } from 'vitest'
import { sources } from '../support/sources.ts'

/** Import left, listen right: a folder may import itself and what stands before it. */
const layers =
  'schema platform secrets db settings core.ts projects models jobs transcripts sessions memory agent notes recall extraction dream mail instructions context hooks housekeeping doctor http daemon.ts main.ts'
    .split(' ')
    .map((name, at) => (at === 0 ? name : `daemon/${name}`))
/** What each part of the client may import of ours, and where the command enters the daemon's half. */
const client: Record<string, string[]> = {
  client: ['schema'],
  'client/hooks': ['schema'],
  'client/mcp': ['schema', 'client'],
  'client/cli': 'schema client client/hooks client/mcp daemon/main.ts daemon/doctor daemon/platform'.split(' '),
}
const folders = [...layers, ...Object.keys(client)].sort((one, other) => other.length - one.length)
const folderOf = (path: string) => folders.find((name) => path === name || path.startsWith(`${name}/`)) ?? path

const importsOf = ({ path, text }: { path: string; text: string }): string[] =>
  [...text.matchAll(/(?:from|import\() ?'(\.[^']+)'|^import '(\.[^']+)'/gm)].map(([, from, bare]) =>
    posix.join(posix.dirname(path), (from ?? bare) as string),
  )
const isAllowed = (from: string, to: string) =>
  from === to || (client[from]?.includes(to) ?? (layers.includes(to) && layers.indexOf(to) < layers.indexOf(from)))
const upward = (file: { path: string; text: string }) =>
  importsOf(file).flatMap((to) => (isAllowed(folderOf(file.path), folderOf(to)) ? [] : [`${file.path} -> ${to}`]))

const files = sources('schema', 'daemon', 'client')
/** A route and the contract in `schema/` are named like the folder that serves them; daemon and client may share a name. */
const named = files.map(({ path }) => path).filter((path) => !/^schema\/|\/routes\/|\/index\.ts$/.test(path))
const nameOf = (path: string) => `${path.split('/')[0]} ${basename(path)}`
const twice = named.filter((path) => named.some((other) => other !== path && nameOf(other) === nameOf(path)))

it('imports only what stands left of it', () => expect(files.flatMap(upward)).toEqual([]))
it('uses each file name once', () => expect(twice).toEqual([]))
