/**
 * Starts the bundled daemon with the code V8 compiled last time, which takes half the time of compiling it. Where there
 * is no such code, or it is from another Node, everything works all the same, only slower.
 */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { resetHeap } from './platform/heap.ts'

const bundle = fileURLToPath(new URL('../bundle/daemon.cjs', import.meta.url))
const text = readFileSync(bundle)
// V8 itself would take code of any other text of the same length.
const compiled = `${bundle}.${createHash('sha256').update(text).digest('hex').slice(0, 16)}`

function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file)
  } catch {
    return undefined
  }
}

const source = `(function (exports, require, module, __filename, __dirname) {${text.toString()}\n})`
const cachedData = readIfThere(compiled)
const script = new Script(source, {
  filename: bundle,
  ...(cachedData && { cachedData }),
})
// The build runs the daemon once and keeps what was compiled by then, functions that run late included.
if (process.env.MEMORYD_KEEP_COMPILED) {
  process.on('exit', () => {
    // It is only taken under the flags that it was made under, which will be those of a start.
    resetHeap()
    writeFileSync(compiled, script.createCachedData())
  })
}
const exported = { exports: {} }
script.runInThisContext()(exported.exports, createRequire(bundle), exported, bundle, dirname(bundle))
