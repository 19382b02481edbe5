/** Every command that people are told to type: in the README, the docs and the help of each command. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CliResult } from './cli.ts'
import { projectRoot } from './sources.ts'

export const pages = [
  'README.md',
  ...readdirSync(join(projectRoot, 'docs'))
    .sort()
    .map((name) => `docs/${name}`),
].map((path) => ({ path, text: readFileSync(join(projectRoot, path), 'utf8') }))

/** Lines of the shell blocks of a page, in order, as a person would paste them. */
export function linesIn(page: string): string[] {
  return [...page.matchAll(/^```sh\n([\s\S]*?)^```/gm)]
    .flatMap(([, block = '']) => block.split('\n'))
    .filter((line) => line !== '')
}

/** The scripts that sentences name. */
export function scriptsIn(text: string): string[] {
  return [...text.matchAll(/`[^`\n]*\bnpm run ([a-z0-9:-]+)[^`\n]*`/g)].map(([, name = '']) => name)
}

/** Commands that sentences name, as words: no whole command line, but names and options. */
export function mentionsIn(text: string): string[][] {
  return [...text.matchAll(/`(?:npx )?memoryd ([^`\n]+)`/g)].flatMap(([, said = '']) =>
    alternatives(said).map((words) => words.filter((word) => /^(?:--?)?[a-z][a-z-]*$/.test(word))),
  )
}

/** `review approve|reject` is two of them. */
function alternatives(said: string): string[][] {
  return said
    .split(' ')
    .reduce<string[][]>((lines, word) => lines.flatMap((line) => word.split('|').map((one) => [...line, one])), [[]])
}

type Help = (...args: string[]) => Promise<CliResult>

type Told = { command: string; examples: string[] }

/** Every command with its examples, found by asking each for its help. */
export async function helpOf(memoryd: Help, path: string[] = []): Promise<Told[]> {
  const { stdout } = await memoryd(...path, '--help')
  const [, examples = ''] = /Examples:\n([\s\S]*?)(?:\n\n|$)/.exec(stdout) ?? []
  const [, commands = ''] = /Commands:\n([\s\S]*?)(?:\n\n|$)/.exec(stdout) ?? []
  const own = examples.split('\n').flatMap((line) => (line.trim() === '' ? [] : [withoutRemark(line.trim())]))
  const names = [...commands.matchAll(/^ {2}([a-z][a-z-]*)/gm)].flatMap(([, name = '']) =>
    name === 'help' ? [] : [name],
  )
  const below = await Promise.all(names.map((name) => helpOf(memoryd, [...path, name])))
  return [{ command: ['memoryd', ...path].join(' '), examples: own }, ...below.flat()]
}

/** What it is good for stands behind at least two blanks. */
function withoutRemark(line: string): string {
  return line.replace(/ {2,}.*$/, '')
}
