/** Where a session of Gemini CLI runs: not in its lines, but in a file beside them or in the list of projects. Pure. */
import { fields, folder, parseLine } from './fields.ts'

const PROJECTS = '../projects.json'

/** Relative to the root, as the transcript is. */
export function folderFiles(path: string): string[] {
  const [slug] = path.split('/')
  return slug ? [`${slug}/.project_root`, PROJECTS] : []
}

export function folderOf(path: string, texts: ReadonlyMap<string, string>): string | undefined {
  const [slug = ''] = path.split('/')
  return folder(texts.get(`${slug}/.project_root`)?.trim()) ?? listed(slug, texts.get(PROJECTS) ?? '')
}

/** `{"projects": {"/the/folder": "slug"}}` */
function listed(slug: string, projects: string): string | undefined {
  const found = Object.entries(fields(parseLine(projects)?.projects)).find(([, named]) => named === slug)
  return folder(found?.[0])
}
