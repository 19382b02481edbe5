/**
 * Whether a git index holds a path. Pure; knows versions 2, 3 and 4, both hash sizes. Whatever it does not understand to
 * the last byte makes it unsure, never wrong.
 */

export type Tracking = 'tracked' | 'untracked' | 'unsure'

/** A name of `length` bytes in `bytes` at `at`; `end` is where the next entry starts. */
type Entry = { bytes: Buffer; at: number; length: number; end: number }

const HEADER_BYTES = 12
/** Times, device, inode, mode, owner and size of the file. */
const STAT_BYTES = 40
const SHA1_BYTES = 20
const SHA256_BYTES = 32
const EXTENDED = 0x4000
const LENGTH_MASK = 0xfff

/**
 * A folder on the way to `path` counts as well: tracked as a link or a submodule it decides what stands at `path`, and a
 * sparse index names a folder instead of its files.
 */
export function trackingOf(index: Buffer, path: string): Tracking {
  const parts = fold(path).split('/')
  const wanted = new Set(parts.map((_part, at) => parts.slice(0, at + 1).join('/')))
  // The index does not say which hash it uses; only the right size makes every length in it come out even.
  return scan(index, SHA1_BYTES, wanted) ?? scan(index, SHA256_BYTES, wanted) ?? 'unsure'
}

function scan(index: Buffer, hashBytes: number, wanted: Set<string>): Tracking | undefined {
  if (index.length < HEADER_BYTES + hashBytes || index.toString('latin1', 0, 4) !== 'DIRC') return undefined
  const version = index.readUInt32BE(4)
  if (version < 2 || version > 4) return undefined
  const count = index.readUInt32BE(8)
  const end = index.length - hashBytes
  const next = version === 4 ? packedEntries(index, hashBytes, end) : paddedEntries(index, hashBytes, end)
  let at = HEADER_BYTES
  let found = false
  for (let number = 0; number < count; number++) {
    const entry = next(at)
    if (!entry) return undefined
    found ||= couldFold(entry) && wanted.has(fold(textOf(entry)).replace(/\/$/, ''))
    at = entry.end
  }
  const extensions = extensionsFrom(index, at, end)
  if (!extensions) return undefined
  if (found) return 'tracked'
  // A small first letter marks what a reader must know: `link` keeps entries in another file, `sdir` only folds folders.
  return extensions.some((name) => /^[^A-Z]/.test(name) && name !== 'sdir') ? 'unsure' : 'untracked'
}

/** Versions 2 and 3: the name whole, filled up with NULs to a multiple of eight. */
function paddedEntries(index: Buffer, hashBytes: number, end: number): (at: number) => Entry | undefined {
  return (at) => {
    const head = headAt(index, at, hashBytes, end)
    const length = head && lengthAt(index, head.nameAt, 0, head.recorded)
    if (!length) return undefined
    const entryEnd = at + ((head.nameAt + length - at + 8) & ~7)
    return entryEnd > end ? undefined : { bytes: index, at: head.nameAt, length, end: entryEnd }
  }
}

/** Version 4: how many bytes to drop from the name before, then what to add. */
function packedEntries(index: Buffer, hashBytes: number, end: number): (at: number) => Entry | undefined {
  let name = Buffer.alloc(4_096)
  let length = 0
  return (at) => {
    const head = headAt(index, at, hashBytes, end)
    const drop = head && varintAt(index, head.nameAt)
    if (!drop || drop.value > length) return undefined
    const kept = length - drop.value
    const whole = lengthAt(index, drop.end, kept, head.recorded)
    const suffixEnd = drop.end + (whole ?? 0) - kept
    if (!whole || suffixEnd >= end) return undefined
    if (whole > name.length) name = Buffer.concat([name], whole * 2)
    index.copy(name, kept, drop.end, suffixEnd)
    length = whole
    return { bytes: name, at: 0, length, end: suffixEnd + 1 }
  }
}

function headAt(index: Buffer, at: number, hashBytes: number, end: number) {
  const flagsAt = at + STAT_BYTES + hashBytes
  if (flagsAt + 4 > end) return undefined
  const flags = index.readUInt16BE(flagsAt)
  return { nameAt: flagsAt + (flags & EXTENDED ? 4 : 2), recorded: flags & LENGTH_MASK }
}

/**
 * The length of a name that ends with a NUL, `kept` bytes of it not standing at `at`. Twelve bits record it; only when all
 * are set, the name is that long or longer and its end must be searched.
 */
function lengthAt(index: Buffer, at: number, kept: number, recorded: number): number | undefined {
  const nul = recorded < LENGTH_MASK ? at + recorded - kept : index.indexOf(0, at)
  const length = kept + nul - at
  return nul >= at && index[nul] === 0 && Math.min(length, LENGTH_MASK) === recorded ? length : undefined
}

function varintAt(index: Buffer, at: number): { value: number; end: number } | undefined {
  let value = 0
  for (let end = at; end < at + 5; end++) {
    const byte = index[end]
    if (byte === undefined) return undefined
    value = value * 128 + (byte & 127)
    if (byte < 128) return { value, end: end + 1 }
    value++
  }
  return undefined
}

function extensionsFrom(index: Buffer, start: number, end: number): string[] | undefined {
  const names: string[] = []
  let at = start
  while (at + 8 <= end) {
    names.push(index.toString('latin1', at, at + 4))
    at += 8 + index.readUInt32BE(at + 4)
  }
  return at === end ? names : undefined
}

/** All that folds to a leading dot starts with one, or with a character outside ASCII. Spares decoding every name. */
function couldFold({ bytes, at, length }: Entry): boolean {
  const first = bytes[at] ?? 0
  return (first === 0x2e || first >= 0x80) && length < 512
}

function textOf({ bytes, at, length }: Entry): string {
  return bytes.toString('utf8', at, at + length)
}

/** As a file system that ignores case or invisible characters would compare: `.Claude` is checked out as `.claude` there. */
function fold(name: string): string {
  return name
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toLowerCase()
}
