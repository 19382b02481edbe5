/** One thing the doctor looked at. */

export type Finding = {
  check: string
  state: 'ok' | 'warning' | 'problem'
  message: string
  remedy?: string
}

/** Worst first within the order of the checks is not wanted: a person reads from the ground up. */
export function hasProblem(findings: readonly Finding[]): boolean {
  return findings.some((finding) => finding.state === 'problem')
}
