/**
 * Hostile ways to name a memory, and hostile trees to put one into. Each must be refused with words, and leave everything
 * as it was. A table: each way to write memories runs all of it.
 */
import { spawnSync } from 'node:child_process'
import { linkSync, mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Ground, type HostileCase, hostileNames, printable } from './hostile-names.ts'

/** A home with a memory folder of ordinary files and, beside it, what an attacker is after. */
export function prepareGround(home: string): Ground {
  const ground = { home, memory: join(home, 'memory'), outside: join(home, 'outside') }
  for (const folder of [ground.memory, ground.outside])
    for (const part of ['', 'team', 'a', 'a/b', 'a/b/c']) mkdirSync(join(folder, part), { mode: 0o700 })
  for (const file of ['MEMORY.md', 'team/MEMORY.md', 'user_role.md', 'a/x.md', 'a/b/x.md', 'a/b/c/x.md']) {
    writeFileSync(join(ground.memory, file), `inside ${file}\n`, { mode: 0o600 })
    writeFileSync(join(ground.outside, file), `outside ${file}\n`, { mode: 0o600 })
  }
  return ground
}

const put = (path: string, text = 'there\n') => writeFileSync(path, text, { mode: 0o600 })

/** Replaces what is at `path` by a link. */
function relink(path: string, target: string): undefined {
  rmSync(path, { recursive: true, force: true })
  symlinkSync(target, path)
}

const links: HostileCase[] = [
  { file: 'link.md', to: 'user_role.md', what: 'a file outside' },
  { file: 'link.md', to: 'not-there.md', what: 'nothing outside' },
  { file: 'link.md', to: '.', what: 'a folder outside' },
  { file: 'MEMORY.md', to: 'MEMORY.md', what: 'an index outside' },
  { file: 'team/MEMORY.md', to: 'team/MEMORY.md', what: 'a team index outside' },
  { file: 'a/x.md', to: 'a/x.md', what: 'a file outside, one folder down' },
  { file: 'a/b/x.md', to: 'a/b/x.md', what: 'a file outside, two folders down' },
  { file: 'a/b/c/x.md', to: 'a/b/c/x.md', what: 'a file outside, three folders down' },
].map(({ file, to, what }) => ({
  group: 'symbolic link',
  name: `${file} links to ${what}`,
  path: file,
  setUp: ({ memory, outside }) => relink(join(memory, file), join(outside, to)),
  says: 'is a link',
}))

const odderLinks: HostileCase[] = [
  { name: 'to a file inside', target: () => 'user_role.md' },
  { name: 'to a file inside, by its path', target: ({ memory }: Ground) => join(memory, 'user_role.md') },
  { name: 'relative, to a file outside', target: () => '../outside/user_role.md' },
  { name: 'to itself', target: () => 'link.md' },
  { name: 'to /dev/null', target: () => '/dev/null' },
  { name: 'to /dev/zero, which never ends', target: () => '/dev/zero' },
  { name: 'to its own process', target: () => '/proc/self/environ' },
  { name: 'with a name that is only a slash', target: () => '/' },
].map(({ name, target }) => ({
  group: 'symbolic link',
  name: `link.md links ${name}`,
  path: 'link.md',
  setUp: (ground) => relink(join(ground.memory, 'link.md'), target(ground)),
  says: 'is a link',
}))

const linkedParents: HostileCase[] = [
  {
    folder: 'a',
    paths: ['a/x.md', 'a/new.md', 'a/b/x.md', 'a/b/new.md', 'a/b/c/x.md', 'a/new/x.md', 'a/new/new/x.md'],
  },
  { folder: 'a/b', paths: ['a/b/x.md', 'a/b/new.md', 'a/b/c/x.md', 'a/b/new/x.md'] },
  { folder: 'a/b/c', paths: ['a/b/c/x.md', 'a/b/c/new.md'] },
  { folder: 'team', paths: ['team/MEMORY.md', 'team/new.md', 'team/a/x.md'] },
  { folder: 'new', paths: ['new/x.md', 'new/a/x.md'] },
].flatMap(({ folder, paths }) =>
  paths.map((path) => ({
    group: 'linked parent',
    name: `${path} where ${folder} links to a folder outside`,
    path,
    setUp: ({ memory, outside }: Ground) =>
      relink(join(memory, folder), join(outside, folder === 'new' ? 'a' : folder)),
    says: 'is not a folder',
  })),
)

const odderParents: HostileCase[] = [
  { name: 'links to the folder above', target: () => '..' },
  { name: 'links to the memory folder itself', target: () => '.' },
  { name: 'links to another folder inside', target: () => 'team' },
  { name: 'links to itself', target: () => 'way' },
  { name: 'links to nothing', target: ({ outside }: Ground) => join(outside, 'not-there') },
  { name: 'links to a file', target: ({ outside }: Ground) => join(outside, 'user_role.md') },
  { name: 'links to the root of the system', target: () => '/' },
  { name: 'links to the working folder of a process', target: () => '/proc/self/cwd' },
  { name: 'links to a chain of links outside', target: ({ memory }: Ground) => join(memory, 'hop') },
].map(({ name, target }) => ({
  group: 'linked parent',
  name: `way/x.md where way ${name}`,
  path: 'way/x.md',
  setUp: (ground) => {
    symlinkSync(ground.outside, join(ground.memory, 'hop'))
    symlinkSync(target(ground), join(ground.memory, 'way'))
  },
  says: 'is not a folder',
}))

const hardLinks: HostileCase[] = [
  { name: 'a file outside', file: 'hard.md', from: ({ outside }: Ground) => join(outside, 'user_role.md') },
  { name: 'an index outside', file: 'MEMORY.md', from: ({ outside }: Ground) => join(outside, 'MEMORY.md') },
  { name: 'a file inside', file: 'hard.md', from: ({ memory }: Ground) => join(memory, 'user_role.md') },
  { name: 'a file outside, one folder down', file: 'a/x.md', from: ({ outside }: Ground) => join(outside, 'a/x.md') },
  { name: 'a file outside, deep down', file: 'a/b/c/x.md', from: ({ outside }: Ground) => join(outside, 'MEMORY.md') },
].map(({ name, file, from }) => ({
  group: 'hard link',
  name: `${file} is another name of ${name}`,
  path: file,
  setUp: (ground) => {
    rmSync(join(ground.memory, file), { force: true })
    linkSync(from(ground), join(ground.memory, file))
  },
  says: 'hard link',
}))

/** A process that ends without closing its server leaves the socket behind. */
const LEAVE_SOCKET = "require('net').createServer().listen(process.argv[1], () => process.exit(0))"

const made = (program: string, ...args: string[]): false | undefined =>
  spawnSync(program, args).status === 0 ? undefined : false

const oddFiles: HostileCase[] = [
  { name: 'a pipe', make: (path: string) => made('mkfifo', path) },
  { name: 'a folder', make: (path: string) => void mkdirSync(path) },
  { name: 'a folder that is not empty', make: (path: string) => void mkdirSync(join(path, 'x'), { recursive: true }) },
  { name: 'a device without end', make: (path: string) => made('mknod', path, 'c', '1', '5') },
  { name: 'a device that swallows', make: (path: string) => made('mknod', path, 'c', '1', '3') },
  { name: 'a terminal', make: (path: string) => made('mknod', path, 'c', '5', '0') },
  { name: 'a disk', make: (path: string) => made('mknod', path, 'b', '240', '0') },
  { name: 'a socket', make: (path: string) => made(process.execPath, '-e', LEAVE_SOCKET, path) },
].flatMap(({ name, make }) =>
  ['odd.md', 'a/b/odd.md', 'MEMORY.md'].map((file) => ({
    group: 'odd file',
    name: `${file} is ${name}`,
    path: file,
    setUp: ({ memory }: Ground) => {
      rmSync(join(memory, file), { force: true })
      return make(join(memory, file)) as false | undefined
    },
    says: 'not a plain file',
  })),
)

const notFolders: HostileCase[] = [
  { name: 'a file', make: (path: string) => put(path) },
  { name: 'a pipe', make: (path: string) => made('mkfifo', path) },
  { name: 'a device', make: (path: string) => made('mknod', path, 'c', '1', '3') },
].flatMap(({ name, make }) =>
  ['block/x.md', 'block/new/x.md', 'a/block/x.md', 'a/b/block/x.md'].map((path) => ({
    group: 'no folder',
    name: `${path} where block is ${name}`,
    path,
    setUp: ({ memory }: Ground) => make(join(memory, path.slice(0, path.indexOf('block') + 5))) as false | undefined,
    says: 'is not a folder',
  })),
)

const tooLarge: HostileCase[] = [1_048_577, 10_000_000_000].map((bytes) => ({
  group: 'too large',
  name: `user_role.md has ${bytes} bytes`,
  path: 'user_role.md',
  setUp: ({ memory }) => void truncateSync(join(memory, 'user_role.md'), bytes),
  says: 'is larger than',
}))

/** [what is there, what is asked for] */
const twins: HostileCase[] = [
  ['note.md', 'Note.md'],
  ['note.md', 'NOTE.md'],
  ['NOTE.md', 'note.md'],
  ['Note.md', 'note.md'],
  ['note.MD', 'note.md'],
  ['note.Md', 'note.md'],
  ['a/note.md', 'a/Note.md'],
  ['a/b/c/NOTE.md', 'a/b/c/note.md'],
  ['Memory.md', 'MEMORY.md'],
  ['memory.md', 'MEMORY.md'],
  ['team/memory.md', 'team/MEMORY.md'],
  ['caf\u0065\u0301.md', 'caf\u00e9.md'],
  ['CAF\u0045\u0301.md', 'caf\u00e9.md'],
  ['CAF\u00c9.md', 'caf\u00e9.md'],
  ['\u1112\u1161\u11ab.md', '\ud55c.md'],
  ['\u212a.md', 'k.md'],
  ['\u212b.md', '\u00e5.md'],
  ['\ufb01le.md', 'file.md'],
  ['file.md', '\ufb01le.md'],
  ['FILE.md', '\ufb01le.md'],
  ['stra\u00dfe.md', 'strasse.md'],
  ['STRASSE.md', 'stra\u00dfe.md'],
  ['stra\u1e9ee.md', 'stra\u00dfe.md'],
  ['\u03bf\u03b4\u03bf\u03c2.md', '\u03bf\u03b4\u03bf\u03c3.md'],
  ['\u039f\u0394\u039f\u03a3.md', '\u03bf\u03b4\u03bf\u03c2.md'],
  ['\u017fun.md', 'sun.md'],
  ['\uff4eote.md', 'note.md'],
  ['note.md', '\uff4eote.md'],
  ['\u2460.md', '1.md'],
  ['x\u00b2.md', 'x2.md'],
  ['\u{1d427}ote.md', 'note.md'],
  ['\u0422\u0415\u041c\u0410.md', '\u0442\u0435\u043c\u0430.md'],
  ['\uff76.md', '\u30ab.md'],
  ['a\u00a0b.md', 'a b.md'],
  ['Notes/x.md', 'notes/x.md'],
  ['Notes/x.md', 'notes/y.md'],
  ['notes/x.md', 'NOTES/new/y.md'],
  ['a/Notes/x.md', 'a/notes/x.md'],
  ['a/b/Notes/x.md', 'a/b/notes/y.md'],
  ['\u0075\u0308ber/x.md', '\u00fcber/x.md'],
  ['\uff4eotes/x.md', 'notes/x.md'],
  ['notes', 'Notes/x.md'],
].map(([there = '', asked = '']) => ({
  group: 'twin',
  name: `${printable(asked)} beside ${printable(there)}`,
  path: asked,
  setUp: ({ memory }) => {
    // Where case does not count, the folder has the one spelling or the other.
    rmSync(join(memory, asked), { recursive: true, force: true })
    if (there.includes('/')) mkdirSync(join(memory, there, '..'), { recursive: true, mode: 0o700 })
    put(join(memory, there))
    return undefined
  },
  says: 'would stand beside',
}))

const away = ({ home, memory }: Ground) => renameSync(memory, join(home, 'away'))

const swappedRoots: HostileCase[] = [
  { name: 'a link to a folder outside', spring: (ground: Ground) => symlinkSync(ground.outside, ground.memory) },
  { name: 'a link to where it is now', spring: ({ memory }: Ground) => symlinkSync('away', memory) },
  { name: 'a link to nothing', spring: ({ memory }: Ground) => symlinkSync('not-there', memory) },
  { name: 'another folder', spring: ({ memory }: Ground) => mkdirSync(join(memory, 'a'), { recursive: true }) },
  { name: 'a file', spring: ({ memory }: Ground) => put(memory) },
  { name: 'nothing', spring: () => {} },
].flatMap(({ name, spring }) =>
  ['user_role.md', 'new.md', 'a/x.md', 'new/x.md'].map((path) => ({
    group: 'swapped root',
    name: `${path} after the memory folder gave way to ${name}`,
    path,
    afterOpening: (ground: Ground) => {
      away(ground)
      spring(ground)
    },
    says: 'was replaced',
  })),
)

export const hostileCases: readonly HostileCase[] = [
  ...hostileNames,
  ...links,
  ...odderLinks,
  ...linkedParents,
  ...odderParents,
  ...hardLinks,
  ...oddFiles,
  ...notFolders,
  ...tooLarge,
  ...twins,
  ...swappedRoots,
]
