/** Where the model is and with which key: both only from the user's own environment and configuration. */
import type { Key, Keys, NoKey } from './keys.ts'

export type Access = { key: Key; baseUrl: string }
export type NoAccess = NoKey

export type AccessFinder = {
  known(): Access | NoAccess
  find(): Promise<Access | NoAccess>
}

type Deps = { keys: Keys; env: { ANTHROPIC_BASE_URL?: string | undefined }; baseUrl: () => string | null }

const USUAL_URL = 'https://api.anthropic.com'

export function createAccess({ keys, env, baseUrl }: Deps): AccessFinder {
  const withPlace = (key: Key | NoKey): Access | NoAccess => {
    if ('none' in key) return key
    const from = env.ANTHROPIC_BASE_URL ? 'ANTHROPIC_BASE_URL' : 'model.baseUrl'
    const place = placeOf(env.ANTHROPIC_BASE_URL || baseUrl() || USUAL_URL)
    if ('unfit' in place) return { none: 'trouble', trouble: `${from} ${place.unfit}`, remedy: place.remedy }
    return { key, baseUrl: place.url }
  }
  return { known: () => withPlace(keys.known()), find: async () => withPlace(await keys.find()) }
}

function placeOf(text: string): { url: string } | { unfit: string; remedy: string } {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    return { unfit: 'is not the address of a server', remedy: 'it should begin with https:// or http://' }
  const { username, password } = new URL(text)
  // It would stand in every message about a failure.
  if (username || password)
    return { unfit: 'has a name or a password in it', remedy: 'leave them out; the key goes into apiKeyFile' }
  return { url: text.replace(/\/+$/, '') }
}
