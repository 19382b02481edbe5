/** One thing the doctor looked at. */

export type Finding = {
  check: string
  state: 'ok' | 'warning' | 'problem'
  message: string
  remedy?: string
}
