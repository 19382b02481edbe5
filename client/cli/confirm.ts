/** Asks the person at the terminal before something is done that cannot be taken back. */
import { createInterface } from 'node:readline/promises'

/** `nobody`: there is no person at a terminal to be asked. */
export async function confirm(question: string): Promise<'yes' | 'no' | 'nobody'> {
  if (!process.stdin.isTTY || !process.stdout.isTTY) return 'nobody'
  const prompt = createInterface({ input: process.stdin, output: process.stdout })
  const answer = await prompt.question(`${question} [y/N] `)
  prompt.close()
  return /^y(es)?$/i.test(answer.trim()) ? 'yes' : 'no'
}
