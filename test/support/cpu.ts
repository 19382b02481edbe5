/** What work costs in CPU time, which a busy machine hardly changes; tests compare it with room for a factor of several. */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}
