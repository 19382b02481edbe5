/** A map of bounded size: when it is full, the entry that was used least recently goes. */
export function createLru<Key, Value>(capEntries: number) {
  const entries = new Map<Key, Value>()
  return {
    get: (key: Key): Value | undefined => {
      const value = entries.get(key)
      if (value === undefined) return undefined
      entries.delete(key)
      entries.set(key, value)
      return value
    },
    set: (key: Key, value: Value): void => {
      entries.delete(key)
      entries.set(key, value)
      if (entries.size > capEntries) entries.delete(entries.keys().next().value as Key)
    },
    has: (key: Key): boolean => entries.has(key),
    delete: (key: Key): boolean => entries.delete(key),
    clear: (): void => entries.clear(),
    values: () => entries.values(),
  }
}
