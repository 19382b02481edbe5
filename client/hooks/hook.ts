/**
 * The hook as a program of its own, `hook.js <harness> <socket>`, for where there is no curl. Imports little: to find and read
 * modules takes longer than all it does.
 */
import { msLeft, passOn } from './pass-on.ts'

const [, , harness = '', socket = ''] = process.argv
void passOn({ harness, socket, env: process.env, input: process.stdin, deadlineMs: msLeft(process.env) }).then((said) =>
  process.stdout.write(said, () => process.exit(0)),
)
process.stdout.on('error', () => process.exit(0))
