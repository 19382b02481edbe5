/** JSON from somebody else: undefined where it is none. Pure. */

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
