/** A path as Claude Code spells it in a folder name. Pure. Two paths may share a slug: it names a folder, not a project. */

const LONGEST_SLUG = 200

/** Works on UTF-16 units and normalises nothing: a composed and a decomposed é give different slugs, as in the client. */
export function slugOf(path: string): string {
  const slug = path.replace(/[^A-Za-z0-9]/g, '-')
  if (slug.length <= LONGEST_SLUG) return slug
  return `${slug.slice(0, LONGEST_SLUG)}-${Math.abs(hashOf(path)).toString(36)}`
}

/** Of the path itself, not of the slug: long paths that differ only in their punctuation stay apart. */
function hashOf(path: string): number {
  let hash = 0
  for (let unit = 0; unit < path.length; unit++) hash = (Math.imul(hash, 31) + path.charCodeAt(unit)) | 0
  return hash
}
