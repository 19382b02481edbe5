/** `memoryd edit`: a memory in the person's own editor, written back as the person's, never over somebody else's edit. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { MemoryError } from '../../schema/errors.ts'
import type { Context } from './context.ts'
import { asPerson } from './person.ts'
import type { Where } from './read-memories.ts'

export async function edit(context: Context, file: string, { cwd }: Where): Promise<void> {
  const memory = await asPerson(context, (client) => client.memory({ cwd, file }))
  const folder = mkdtempSync(join(tmpdir(), 'memoryd-'))
  const draft = join(folder, basename(file))
  try {
    writeFileSync(draft, memory.content, { mode: 0o600 })
    runEditor(context, draft)
    const content = readFileSync(draft, 'utf8')
    if (content === memory.content) return context.print.result({ changed: false }, () => ['nothing was changed'])
    const write = { cwd, file, content, ifHash: memory.hash, reason: 'edited' }
    const done = await asPerson(context, (client) => client.putMemory(write)).catch((error: unknown) => {
      // The work of a person is not thrown away because somebody else was faster.
      const kept = join(tmpdir(), `memoryd-${Date.now()}-${basename(file)}`)
      writeFileSync(kept, content, { mode: 0o600 })
      process.stderr.write(`your text is kept in ${kept}\n`)
      throw error
    })
    context.print.result({ changed: true, ...done }, () => [
      `saved ${file}; take it back with: ${context.self} undo ${done.changeId}`,
    ])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Through a shell, as git does it: people write `code --wait` into their environment. */
function runEditor({ env }: Context, draft: string): void {
  const editor = env.VISUAL || env.EDITOR || 'vi'
  const { status } = spawnSync('sh', ['-c', `${editor} "$1"`, 'sh', draft], {
    stdio: 'inherit',
    env: env as NodeJS.ProcessEnv,
  })
  if (status !== 0) throw new MemoryError('INTERNAL', `${editor} ended with ${status}`, { hint: 'set EDITOR' })
}
