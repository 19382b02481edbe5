/** The version in package.json, the only place it is written. */
import { readFileSync } from 'node:fs'

export function readVersion(): string {
  // Compiled files stand in dist/daemon/, sources in daemon/: the package is the first one upwards.
  for (const up of ['../../package.json', '../package.json']) {
    try {
      const { name, version } = JSON.parse(readFileSync(new URL(up, import.meta.url), 'utf8'))
      if (name === 'memoryd') return version
    } catch {}
  }
  throw new Error('package.json is missing beside memoryd')
}
