/**
 * The front matter that nearly every file has, `key: some words` line by line, read without the YAML library: it costs a
 * fiftieth. Whatever could mean anything else to YAML is left to the library.
 */

/** A value that begins with a letter is text, unless it spells a constant; a colon or a hash with space around it is syntax. */
const PLAIN_LINE = /^([A-Za-z_][\w-]*):[ ]+(\p{L}[^\p{Cc}\uFEFF\u2028\u2029\uFFFE\uFFFF\p{Cs}]*)$/u
const SYNTAX = /:(?:[ ]|$)|[ ]#/
const CONSTANT = /^(?:true|false|null|__proto__)$/i

/** Nothing when it is not as plain as that. */
export function readPlainYaml(yaml: string): Record<string, string> | undefined {
  const data: Record<string, string> = {}
  for (const line of yaml.replace(/\n$/, '').split('\n')) {
    const [, key, rest] = PLAIN_LINE.exec(line) ?? []
    if (key === undefined || rest === undefined) return undefined
    const value = rest.replace(/ +$/, '')
    if (SYNTAX.test(value) || CONSTANT.test(value) || CONSTANT.test(key) || Object.hasOwn(data, key)) return undefined
    data[key] = value
  }
  return data
}
