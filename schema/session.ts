import { z } from 'zod'

/** A session is a harness and an id. */
export const SessionId = z.string().min(1).max(4096).describe('As the harness names the session')
export const Harness = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,64}$/)
  .default('generic')
  .describe('The program that runs the session')
