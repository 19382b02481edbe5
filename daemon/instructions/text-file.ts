/** Opens what an instruction names: where it really is, whether that is allowed, and its text. Never blocks, never throws. */
import { isUtf8 } from 'node:buffer'
import { closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs'
import { basename, extname, normalize, sep } from 'node:path'
import { message } from '../platform/files.ts'

/** Folders that a path must stay in: by name before the disk is touched, by place once links are followed. */
export type Bounds = { named: string[]; real: string[] }

export type Refusal = { refused: 'outside' | 'unreadable' | 'not-a-file' | 'not-text' | 'too-large'; reason: string }

export const FILE_CAP_BYTES = 5_000_000

export function boundsOf(...folders: string[]): Bounds {
  return {
    named: [...folders.map((folder) => normalize(folder)), ...folders.map(canonical)],
    real: folders.map(canonical),
  }
}

/** One folder, one name: links are followed; a folder that is not there keeps the name it was given. */
export function canonical(folder: string): string {
  try {
    return realpathSync.native(folder)
  } catch {
    return normalize(folder).replace(/(.)\/+$/, '$1')
  }
}

export function isInside(folders: string[], path: string): boolean {
  return folders.some((folder) => path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep))
}

/** Where the path leads; undefined when nothing is there. */
export function locate(path: string, bounds: Bounds | undefined): { real: string } | Refusal | undefined {
  // By name first: to look at a path that a stranger wrote can already mount a share.
  if (bounds && !isInside(bounds.named, path)) return outside
  try {
    const real = realpathSync.native(path)
    return bounds && !isInside(bounds.real, real) ? outside : { real }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG'].includes(code)) return undefined
    return { refused: 'unreadable', reason: `it cannot be read (${code || message(error)})` }
  }
}

const outside: Refusal = { refused: 'outside', reason: 'it leads outside the project' }

/** The text of a path without links, line ends as `\n`, no byte order mark. */
export function readText(real: string): { text: string; bytes: number } | Refusal {
  try {
    // Looked at before it is opened: opening a device may do something, opening a pipe waits.
    if (!statSync(real).isFile()) return notAFile
    const fd = openSync(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    try {
      const stats = fstatSync(fd)
      if (!stats.isFile()) return notAFile
      if (stats.size > FILE_CAP_BYTES)
        return { refused: 'too-large', reason: `it has ${stats.size} bytes, more than ${FILE_CAP_BYTES}` }
      return decode(readAll(fd, stats.size))
    } finally {
      closeSync(fd)
    }
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    return { refused: 'unreadable', reason: `it cannot be read (${code ?? message(error)})` }
  }
}

const notAFile: Refusal = { refused: 'not-a-file', reason: 'it is not a file' }

/** No more than it had when it was looked at. */
function readAll(fd: number, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  let done = 0
  for (let read = -1; read !== 0 && done < size; done += read) read = readSync(fd, bytes, done, size - done, null)
  return bytes.subarray(0, done)
}

function decode(bytes: Buffer): { text: string; bytes: number } | Refusal {
  if (bytes.includes(0) || !isUtf8(bytes)) return { refused: 'not-text', reason: 'it is not UTF-8 text' }
  return {
    text: bytes
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .replaceAll('\r\n', '\n'),
    bytes: bytes.length,
  }
}

/**
 * Whether a name looks like one of a text. Names without an extension do (`README`), except hidden ones: `.env`, `.netrc`
 * and `.git/config` hold credentials, and an include would send them to a model.
 */
export function isTextName(path: string): boolean {
  if (path.split(sep).includes('.git')) return false
  const extension = extname(path).slice(1).toLowerCase()
  return extension === '' ? !basename(path).startsWith('.') : TEXT_EXTENSIONS.has(extension)
}

const TEXT_EXTENSIONS = new Set(
  `md markdown mdx mdc txt text rst adoc asciidoc org tex csv tsv log diff patch
  json jsonc json5 jsonl yaml yml toml ini cfg conf properties xml html htm css scss sass less
  js mjs cjs jsx ts mts cts tsx vue svelte astro py pyi rb php pl lua r jl sh bash zsh fish ps1 bat cmd
  c h cc cpp cxx hpp cs m mm go rs zig swift java kt kts scala groovy gradle dart ex exs erl hrl hs elm clj cljs ml mli fs
  sql graphql gql proto tf hcl nix cmake mk vim el lisp scm asm s`.split(/\s+/),
)
