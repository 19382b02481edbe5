/** The YAML libraries, loaded when the first front matter is read: a start does not wait for a third of all our code. */
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

export const yaml = (): typeof import('yaml') => load('yaml')
export const grayMatter = (): typeof import('gray-matter') => load('gray-matter')
