/** Programs that not every machine has. A test that needs one says so and is skipped without it. */
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { TestContext } from 'vitest'

const said = new Set<string>()

export function needPrograms({ skip }: TestContext, ...names: string[]): void {
  const missing = names.filter((name) => !isThere(name))
  if (missing.length === 0) return
  const reason = `not on this machine: ${missing.join(', ')}`
  if (!said.has(reason)) console.warn(`skipped, ${reason}`)
  said.add(reason)
  skip(reason)
}

export function isThere(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
