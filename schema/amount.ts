import { z } from 'zod'

/** How many of something, in a query: 1 to 999. */
export const Amount = z
  .string()
  .regex(/^[1-9]\d{0,2}$/)
  .transform(Number)
