/** What recall is held against: FTS5 as it comes, any word, ordered by BM25. */
import Database from 'better-sqlite3'

type Text = { file: string; name: string; description: string; body: string }

type PlainSearch = { search(query: string, limit: number): string[]; close(): void }

export function createPlainSearch(texts: readonly Text[]): PlainSearch {
  const db = new Database(':memory:')
  db.exec('CREATE VIRTUAL TABLE texts USING fts5(file UNINDEXED, text)')
  const insert = db.prepare('INSERT INTO texts VALUES (?, ?)')
  for (const { file, name, description, body } of texts) insert.run(file, `${name}\n${description}\n${body}`)
  const select = db.prepare('SELECT file FROM texts WHERE texts MATCH ? ORDER BY bm25(texts) LIMIT ?').pluck()
  return {
    search: (query, limit) => {
      const words = query.match(/[\p{L}\p{N}]+/gu) ?? []
      return words.length === 0 ? [] : (select.all(words.map((word) => `"${word}"`).join(' OR '), limit) as string[])
    },
    close: () => void db.close(),
  }
}
