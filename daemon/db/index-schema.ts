/** The tables of `index.db`, what can be derived again, as the steps that made them. One that has landed is never edited: append another. */
import type { Migration } from './database.ts'

/** Apart from the step that made it: a purge throws this part of the index away and begins it anew. */
export const MEMORY_WORDS = `
  CREATE TABLE memories (
    id INTEGER PRIMARY KEY,
    dir TEXT NOT NULL,
    file TEXT NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (dir, file)
  ) STRICT;
  -- Words only, not the text.
  CREATE VIRTUAL TABLE memory_words USING fts5 (
    name, description, body, content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
  );`

/** The catalogue of memory files, by the stamps under which they were read. */
export const MEMORY_FILES = `
  CREATE TABLE memory_files (
    dir TEXT NOT NULL,
    file TEXT NOT NULL,
    stamp TEXT NOT NULL,
    modified_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    hash TEXT NOT NULL,
    -- The hash of what the body says, however it is written.
    value TEXT,
    name TEXT,
    description TEXT,
    type TEXT,
    trust TEXT,
    PRIMARY KEY (dir, file)
  ) STRICT, WITHOUT ROWID;`

export const indexMigrations: readonly Migration[] = [
  (db) => db.exec(MEMORY_WORDS),
  (db) =>
    db.exec(`
      -- Every transcript that was seen, and how far it was read. The cursor is the tailer's, 'known' what its lines have
      -- told of its session so far; both as JSON.
      CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        harness TEXT NOT NULL,
        root TEXT NOT NULL,
        path TEXT NOT NULL UNIQUE,
        -- When the file came to be, in ms: of two with the same messages the later one is the fork.
        born INTEGER NOT NULL,
        cursor TEXT NOT NULL,
        known TEXT NOT NULL,
        gone INTEGER NOT NULL DEFAULT 0
      ) STRICT;

      -- Lines that could not be used, counted by why.
      CREATE TABLE skipped_lines (
        file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        reason TEXT NOT NULL,
        count INTEGER NOT NULL,
        PRIMARY KEY (file, reason)
      ) STRICT;

      -- A conversation, by the harness's own name of it. Where it began is where it belongs. Times in ms.
      CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        fork_of TEXT,
        cwd TEXT,
        project TEXT,
        branch TEXT,
        started_at INTEGER,
        last_at INTEGER,
        interactive INTEGER,
        UNIQUE (session, harness)
      ) STRICT;
      CREATE INDEX sessions_by_project ON sessions (project, last_at);

      -- Where each message stands, in the order of their first arrival. Its text is read back from there.
      CREATE TABLE messages (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (id) ON DELETE CASCADE,
        file INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        offset INTEGER NOT NULL,
        length INTEGER NOT NULL,
        uid TEXT NOT NULL,
        sub_agent TEXT NOT NULL,
        at INTEGER,
        said_by TEXT NOT NULL,
        answer TEXT,
        starts_turn INTEGER NOT NULL,
        ends TEXT,
        tool_calls INTEGER NOT NULL,
        input_tokens INTEGER,
        output_tokens INTEGER,
        cache_read_tokens INTEGER,
        cache_write_tokens INTEGER,
        -- The same message stands in another session, from which this one was forked.
        copied INTEGER NOT NULL DEFAULT 0,
        rewound INTEGER NOT NULL DEFAULT 0,
        -- The file was rewritten and does not hold it any more.
        gone INTEGER NOT NULL DEFAULT 0,
        UNIQUE (uid, session, sub_agent)
      ) STRICT;
      CREATE INDEX messages_by_session ON messages (session);
      CREATE INDEX messages_by_file ON messages (file);

      -- The tokens of messages, not their text. Made outside, so that the tokenizer has only to part them.
      CREATE VIRTUAL TABLE message_words USING fts5 (
        tokens, content = '', contentless_delete = 1, tokenize = 'ascii'
      );
      -- Every token there ever was, once, and the threes of characters in it: finds tokens by a part of them.
      CREATE TABLE terms (
        id INTEGER PRIMARY KEY,
        term TEXT NOT NULL UNIQUE
      ) STRICT;
      CREATE VIRTUAL TABLE term_parts USING fts5 (
        term, content = '', columnsize = 0, detail = none, tokenize = 'trigram case_sensitive 1'
      );
    `),
  (db) =>
    db.exec(`
      -- Work that became due, and what became of it. Ids are not numbers: a new index would give them out again. Times in ms.
      CREATE TABLE jobs (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        key TEXT NOT NULL,
        dir TEXT,
        state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'waiting', 'done', 'failed', 'killed')),
        watermark TEXT NOT NULL,
        input TEXT NOT NULL,
        created_at INTEGER NOT NULL,
        started_at INTEGER,
        ended_at INTEGER,
        -- It may run when both have passed; 'since' is when the later of them was set.
        not_before INTEGER NOT NULL,
        retry_at INTEGER NOT NULL DEFAULT 0,
        since INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        -- In a row: runs that failed, and runs whose process died.
        failures INTEGER NOT NULL DEFAULT 0,
        losses INTEGER NOT NULL DEFAULT 0,
        -- The worker that runs it. A killed job keeps its owner until its run has really ended.
        owner TEXT,
        lease_until INTEGER,
        error TEXT,
        result TEXT,
        run TEXT,
        truncated INTEGER NOT NULL DEFAULT 0,
        -- What became due while it ran, newest only, as JSON; then the job that was made of it.
        trailing TEXT,
        followed_by TEXT
      ) STRICT;
      CREATE UNIQUE INDEX jobs_active ON jobs (kind, key) WHERE state IN ('queued', 'waiting', 'running');
      CREATE INDEX jobs_by_key ON jobs (kind, key, seq);
      CREATE INDEX jobs_by_state ON jobs (state, seq);
      CREATE INDEX jobs_owned ON jobs (owner) WHERE owner IS NOT NULL;
      CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
    `),
  (db) =>
    db.exec(`
      -- Terms, one in a line, in the order in which they came, and bits for the threes of characters in them: finds terms by
      -- a part of them. Where no bits are, nothing is known of the threes.
      CREATE TABLE term_blocks (
        id INTEGER PRIMARY KEY,
        threes BLOB NOT NULL,
        terms TEXT NOT NULL
      ) STRICT;
      INSERT INTO term_blocks (threes, terms)
        SELECT x'', group_concat(term, char(10)) FROM terms GROUP BY id / 3000;
      DROP TABLE terms;
      DROP TABLE term_parts;
      -- Of as many small parts at once as a question can look through: each level of merging writes all words once more.
      INSERT INTO message_words (message_words, rank) VALUES ('automerge', 16);
      INSERT INTO message_words (message_words, rank) VALUES ('crisismerge', 64);
    `),
  (db) =>
    db.exec(`
      -- 'holder' holds messages that stand in 'stands'.
      CREATE TABLE other_holders (
        stands INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        holder INTEGER NOT NULL REFERENCES files (id) ON DELETE CASCADE,
        PRIMARY KEY (stands, holder)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_holders_by_holder ON other_holders (holder);
      -- 1: it has to be read from its beginning. So do those of which nothing stands anywhere: the reason was not noted.
      ALTER TABLE files ADD COLUMN again INTEGER NOT NULL DEFAULT 0;
      -- 1: where the session runs is known only from one of its sub-agents.
      ALTER TABLE sessions ADD COLUMN guessed INTEGER NOT NULL DEFAULT 0;
      UPDATE files SET again = 1 WHERE gone = 0 AND NOT EXISTS (SELECT 1 FROM messages WHERE file = files.id);
    `),
  (db) =>
    db.exec(`
      -- Which job is next, of each kind and by either order, and when the next one becomes due: without a look at all that
      -- wait, which after a long absence are a hundred thousand.
      CREATE INDEX jobs_oldest ON jobs (kind, max(not_before, retry_at, created_at)) WHERE state IN ('queued', 'waiting');
      CREATE INDEX jobs_newest ON jobs (kind, -coalesce(input ->> 'at', created_at)) WHERE state IN ('queued', 'waiting');
      CREATE INDEX jobs_ready ON jobs (max(not_before, retry_at)) WHERE state IN ('queued', 'waiting');
    `),
  (db) =>
    db.exec(`
      -- Queries ask for the words of some turns only, no longer for every word of every turn: they can stand in more parts.
      INSERT INTO message_words (message_words, rank) VALUES ('automerge', 64);
      INSERT INTO message_words (message_words, rank) VALUES ('crisismerge', 256);
    `),
  // To look through all terms takes milliseconds.
  (db) => db.exec('ALTER TABLE term_blocks DROP COLUMN threes'),
  (db) => db.exec(MEMORY_FILES),
]
