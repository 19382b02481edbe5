/** How many tokens a text is, where nobody has counted: errs on the side of too many for most languages. */
export const BYTES_PER_TOKEN = 4

export function tokensIn(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN)
}
