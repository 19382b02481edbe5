/** The hook as a program, `hook.js <harness> <socket>`, where there is no curl. Imports little: loading takes most of its time. */
import { msLeft, passOn } from './pass-on.ts'

const [, , harness = '', socket = ''] = process.argv
void passOn({ harness, socket, env: process.env, input: process.stdin, deadlineMs: msLeft(process.env) }).then((said) =>
  process.stdout.write(said, () => process.exit(0)),
)
process.stdout.on('error', () => process.exit(0))
