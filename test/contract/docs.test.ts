import { existsSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { describe, expect, it } from 'vitest'
import { projectRoot } from '../support/sources.ts'
import { pages } from '../support/told-commands.ts'

const wordsIn = (text: string) => text.split(/\s+/).filter((word) => word !== '').length
/** Longer ones: a table row or half a sentence may well stand twice. */
const sentencesIn = (text: string) =>
  text
    .replaceAll(/```[\s\S]*?```/g, '')
    .replaceAll('\n', ' ')
    .split(/(?<=[.:])\s+/)
    .filter((sentence) => wordsIn(sentence) >= 8)

const { files } = JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')) as { files: string[] }
const isPublished = (path: string) =>
  [...files, 'README.md'].some((name) => path === name || path.startsWith(`${name}/`))

describe('the pages', () => {
  it.each(pages)('$path is short, and leads only to files that are there, in the package too', ({ path, text }) => {
    expect(wordsIn(text)).toBeLessThanOrEqual(path === 'README.md' ? 1_200 : 1_500)
    const links = [...text.matchAll(/\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, to = '']) => to)
    const targets = [path, ...links.map((to) => posix.join(posix.dirname(path), to))]
    expect(targets.filter((to) => !existsSync(join(projectRoot, to)) || !isPublished(to))).toEqual([])
  })

  it('are all linked from the README, and no sentence stands twice', () => {
    const [readme, ...docs] = pages
    expect(docs.filter(({ path }) => !readme?.text.includes(`(${path})`))).toEqual([])
    const sentences = pages.flatMap(({ text }) => sentencesIn(text))
    expect(sentences.filter((sentence, at) => sentences.indexOf(sentence) !== at)).toEqual([])
  })
})
