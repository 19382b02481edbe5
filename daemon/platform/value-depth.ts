/** Whether a value is nested deeper than anybody means: to walk it by recursion, as JSON does, would run out of stack. */

export function isDeeperThan(value: unknown, levels: number): boolean {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    const held = level.filter((each) => typeof each === 'object' && each !== null)
    if (held.length > 0 && depth >= levels) return true
    level = held.flatMap((each) => Object.values(each as object))
  }
  return false
}
