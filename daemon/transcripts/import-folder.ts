/** Whether a folder may be imported, and by which path it is known. Touches nothing. */
import { accessSync, constants, realpathSync, statSync } from 'node:fs'
import { MemoryError } from '../../schema/errors.ts'
import { pathHasSecret, type Redact } from './clean.ts'

type Deps = { stateDir: string; privateBecause: (dir: string) => string | undefined; redact: Redact }

/** With its links followed: the same folder by two names would be read twice. */
export async function importFolder(named: string, { stateDir, privateBecause, redact }: Deps): Promise<string> {
  const dir = followed(named)
  const isWithin = (folder: string) => dir === folder || dir.startsWith(`${folder}/`)
  if (dir === '/') throw refused('path', '/ is everything there is', 'name the folder that has the transcripts')
  if (isWithin(realpathSync(stateDir)))
    throw refused('path', `${named} is memoryd's own folder`, 'what is pushed is read from there by itself')
  const secret = privateBecause(dir)
  if (secret !== undefined) throw refused('path', secret, 'take it out of `private` in the configuration first')
  if (await pathHasSecret(dir, redact))
    throw refused('secret', 'the path holds what looks like a credential', 'give the folder another name')
  try {
    accessSync(dir, constants.R_OK | constants.X_OK)
  } catch (cause) {
    throw refused(
      'permission',
      `${named} cannot be looked into`,
      `make it readable for you: chmod u+rx ${named}`,
      cause,
    )
  }
  return dir
}

function followed(named: string): string {
  try {
    if (statSync(named).isDirectory()) return realpathSync(named)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EACCES' || code === 'EPERM')
      throw refused(
        'permission',
        `there is no way to ${named} for you`,
        'look at the permissions of the folders above',
        cause,
      )
    if (code === 'ENAMETOOLONG' || code === 'ELOOP')
      throw new MemoryError('BAD_REQUEST', `${named} cannot be a folder (${code})`, { cause })
    throw new MemoryError('NOT_FOUND', `there is no folder ${named}`, { hint: 'name a folder with transcripts', cause })
  }
  throw new MemoryError('BAD_REQUEST', `${named} is not a folder`, { hint: 'name the folder it is in' })
}

function refused(
  reason: 'path' | 'permission' | 'secret',
  message: string,
  hint: string,
  cause?: unknown,
): MemoryError {
  return new MemoryError('REFUSED', message, { reason, hint, cause })
}
