/** What a memory that a model writes may be called and look like, beyond what every memory has to. Pure. */
import type { Memory } from './units.ts'

/** They are read by harnesses as instructions, or by people as something else. */
const NOT_OURS = /^(?:claude|agents|gemini|readme|copilot-instructions)(?:\.local)?\.md$/i

type Written = { file: string; isNew: boolean; memory: Memory; problem: string | undefined }

/** Why it is not of the form; nothing where it is. */
export function formTrouble({ file, isNew, memory, problem }: Written): string | undefined {
  const { text, type, body } = memory
  const names = file.split('/')
  const leaf = names.at(-1) ?? ''
  if (NOT_OURS.test(leaf)) return `${file} is no memory; name it after its type and topic`
  if (isNew && (names.length > 2 || (names.length === 2 && names[0] !== 'team')))
    return `${file}: memories are not put into folders other than team/`
  if (problem !== undefined) return `${file}: ${problem}`
  const head = text.slice(0, text.length - body.length)
  if ([...head.matchAll(/^[ \t]*["']?type["']?[ \t]*:/gim)].length > 1)
    return `${file}: its front matter names a type more than once`
  if (/^\uFEFF?---[ \t]*\r?\n[\s\S]*?\n---[ \t]*(?:\r?\n|$)/.test(body.trimStart()))
    return `${file} has a second front matter`
  const named = /^(user|feedback|project|reference)[_-]/i.exec(leaf)?.[1]?.toLowerCase()
  if (isNew && named !== undefined && type !== undefined && named !== type)
    return `${file} is named like a ${named} memory and says that it is a ${type} one`
  return undefined
}
