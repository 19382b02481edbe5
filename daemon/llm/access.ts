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
    const place = placeOf(env.ANTHROPIC_BASE_URL || baseUrl() || USUAL_URL)
    return place === undefined
      ? {
          none: 'trouble',
          trouble: 'ANTHROPIC_BASE_URL is not the address of a server',
          remedy: 'it should begin with https:// or http://',
        }
      : { key, baseUrl: place }
  }
  return { known: () => withPlace(keys.known()), find: async () => withPlace(await keys.find()) }
}

function placeOf(text: string): string | undefined {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) return undefined
  return text.replace(/\/+$/, '')
}
