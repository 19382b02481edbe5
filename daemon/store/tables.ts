/** The tables of both databases, as the steps that made them. A step that has landed is never edited: append another. */
import type { Migration } from './migrations.ts'

/** What cannot be derived again. */
export const historyMigrations: readonly Migration[] = [
  (db) =>
    db.exec(`
      CREATE TABLE pauses (
        project TEXT PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT;
    `),
  (db) =>
    db.exec(`
      -- Every version of every memory, once, with credentials taken out.
      CREATE TABLE contents (
        key TEXT PRIMARY KEY,
        text TEXT NOT NULL
      ) STRICT;

      -- The journal. Hashes are of the bytes on disk, null where there was no file.
      CREATE TABLE changes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        dir TEXT NOT NULL,
        file TEXT NOT NULL,
        op TEXT NOT NULL CHECK (op IN ('create', 'update', 'delete', 'undo', 'refused')),
        actor TEXT NOT NULL,
        reason TEXT NOT NULL,
        run TEXT,
        part_of INTEGER REFERENCES changes (id),
        before_hash TEXT,
        before_key TEXT REFERENCES contents (key),
        after_hash TEXT,
        after_key TEXT REFERENCES contents (key),
        undoable INTEGER NOT NULL,
        evidence TEXT NOT NULL
      ) STRICT;
      CREATE INDEX changes_by_file ON changes (dir, file, id);
      CREATE INDEX changes_by_run ON changes (run) WHERE run IS NOT NULL;
      CREATE INDEX changes_by_whole ON changes (part_of) WHERE part_of IS NOT NULL;
      CREATE INDEX changes_by_before ON changes (before_key);
      CREATE INDEX changes_by_after ON changes (after_key);

      -- What a person rejected, by the hash of its normalised value.
      CREATE TABLE tombstones (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        dir TEXT NOT NULL,
        file TEXT NOT NULL,
        excerpt TEXT NOT NULL
      ) STRICT;
      CREATE TABLE tombstone_values (
        dir TEXT NOT NULL,
        value TEXT NOT NULL,
        tombstone INTEGER NOT NULL REFERENCES tombstones (id) ON DELETE CASCADE,
        PRIMARY KEY (dir, value, tombstone)
      ) STRICT;

      -- Model-made changes that wait for a person.
      CREATE TABLE reviews (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        dir TEXT NOT NULL,
        file TEXT NOT NULL,
        op TEXT NOT NULL CHECK (op IN ('create', 'update', 'delete')),
        actor TEXT NOT NULL,
        reason TEXT NOT NULL,
        run TEXT,
        base_hash TEXT,
        before_text TEXT,
        after_text TEXT,
        evidence TEXT NOT NULL
      ) STRICT;

      -- Memory directories that were seen, so that edits made while the daemon was away are noticed.
      CREATE TABLE directories (
        dir TEXT PRIMARY KEY,
        root TEXT NOT NULL
      ) STRICT;

      -- Single numbers: 'applied' is the last change known to be on disk.
      CREATE TABLE marks (
        name TEXT PRIMARY KEY,
        value INTEGER NOT NULL
      ) STRICT;
    `),
  (db) =>
    db.exec(`
      -- The memory prompt that a session was given: the same bytes until the session is cleared or compacted.
      -- 'at' is when it was last asked for, to the day.
      CREATE TABLE prompts (
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        dir TEXT NOT NULL,
        at INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (harness, session, dir)
      ) STRICT;
      CREATE INDEX prompts_by_time ON prompts (at);

      -- Purges that have not reached every copy yet: the memory, the change that deleted it, the keys of its contents.
      -- Once every copy is clean, file and keys are empty: all that is left to do is to sweep the free pages.
      CREATE TABLE purges (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        dir TEXT NOT NULL,
        file TEXT NOT NULL,
        change INTEGER NOT NULL REFERENCES changes (id),
        keys TEXT NOT NULL
      ) STRICT;

      -- Moved projects whose memories have not all followed yet: a directory that is renamed as a whole is told by its
      -- inode, one whose memories join others by the files that are brought.
      CREATE TABLE moves (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        from_dir TEXT NOT NULL,
        from_root TEXT NOT NULL,
        to_dir TEXT NOT NULL,
        to_root TEXT NOT NULL,
        inode TEXT,
        files TEXT NOT NULL,
        followed INTEGER NOT NULL
      ) STRICT;

      -- Several projects may share one directory: all of them are known.
      ALTER TABLE directories RENAME TO old_directories;
      CREATE TABLE directories (
        dir TEXT NOT NULL,
        root TEXT NOT NULL,
        PRIMARY KEY (dir, root)
      ) STRICT;
      INSERT INTO directories SELECT dir, root FROM old_directories;
      DROP TABLE old_directories;
    `),
  (db) =>
    db.exec(`
      -- Folders whose transcripts somebody had read: when index.db is made anew, nothing else would lead there.
      CREATE TABLE imports (
        dir TEXT PRIMARY KEY,
        harness TEXT,
        at INTEGER NOT NULL
      ) STRICT;
    `),
  (db) =>
    db.exec(`
      -- When each calendar schedule is next due, as it was worked out at 'planned_at' from 'expression'. Times in ms.
      CREATE TABLE schedules (
        name TEXT PRIMARY KEY,
        expression TEXT NOT NULL,
        next_due INTEGER NOT NULL,
        planned_at INTEGER NOT NULL
      ) STRICT;
    `),
  (db) =>
    db.exec(`
      -- Every call of a model, written down before it is made: one that nobody settled may have cost what was reserved.
      -- 'day' is the local calendar day. Money is in billionths of a dollar, null where the price is unknown;
      -- 'uncached' are the input tokens that count against the cap.
      CREATE TABLE ledger (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        day TEXT NOT NULL,
        job TEXT NOT NULL,
        project TEXT,
        model TEXT NOT NULL,
        outcome TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        nanos INTEGER,
        uncached INTEGER NOT NULL,
        input INTEGER NOT NULL DEFAULT 0,
        cache_read INTEGER NOT NULL DEFAULT 0,
        cache_write INTEGER NOT NULL DEFAULT 0,
        output INTEGER NOT NULL DEFAULT 0,
        latency_ms INTEGER,
        request TEXT
      ) STRICT;
      CREATE INDEX ledger_by_day ON ledger (day);
      CREATE INDEX ledger_by_model ON ledger (model, id);
    `),
  (db) =>
    db.exec(`
      -- How a session is told to models: from which message on ('anchor', a number below), what stands in for what was
      -- before it, and which number the next message gets. 'at': when it was last told, in ms.
      CREATE TABLE renderings (
        id INTEGER PRIMARY KEY,
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        anchor INTEGER NOT NULL,
        notes TEXT NOT NULL,
        next INTEGER NOT NULL,
        at INTEGER NOT NULL,
        UNIQUE (session, harness)
      ) STRICT;
      CREATE INDEX renderings_by_time ON renderings (at);

      -- What was decided for each message when it was told first: its number, and what is left out of it (JSON).
      CREATE TABLE rendered_messages (
        rendering INTEGER NOT NULL REFERENCES renderings (id) ON DELETE CASCADE,
        number INTEGER NOT NULL,
        message TEXT NOT NULL,
        cuts TEXT NOT NULL,
        PRIMARY KEY (rendering, number),
        UNIQUE (rendering, message)
      ) STRICT;
    `),
  (db) =>
    db.exec(`
      -- How far each session was worked through, by what kind of work: the last message, and when it was said.
      CREATE TABLE progress (
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        kind TEXT NOT NULL,
        message TEXT NOT NULL,
        at INTEGER NOT NULL,
        PRIMARY KEY (session, harness, kind)
      ) STRICT;

      -- What a session is told of what was saved for it. 'files' is a JSON list of names.
      CREATE TABLE notices (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        kind TEXT NOT NULL,
        files TEXT NOT NULL,
        text TEXT NOT NULL
      ) STRICT;
      CREATE INDEX notices_by_session ON notices (session, id);
      CREATE INDEX notices_by_time ON notices (at);
    `),
  (db) =>
    db.exec(`
      -- What the notes of a session cover, by the hash of what is in their file: two rows while they are written anew.
      -- 'tokens' is what was in the context of the session then.
      CREATE TABLE session_notes (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        folder TEXT NOT NULL,
        hash TEXT NOT NULL,
        message TEXT NOT NULL,
        said_at INTEGER NOT NULL,
        tokens INTEGER NOT NULL,
        source TEXT NOT NULL CHECK (source IN ('model', 'rules')),
        at INTEGER NOT NULL,
        UNIQUE (session, harness, hash)
      ) STRICT;
      CREATE INDEX session_notes_by_folder ON session_notes (folder COLLATE NOCASE);
    `),
  (db) =>
    db.exec(`
      -- Which memories a session was given, and how much of its context they took. Not 'live': before the session was
      -- compacted, so that it may be given them again.
      CREATE TABLE recalled (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        dir TEXT NOT NULL,
        file TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        mode TEXT NOT NULL,
        live INTEGER NOT NULL DEFAULT 1
      ) STRICT;
      CREATE INDEX recalled_by_session ON recalled (session, id);
      CREATE INDEX recalled_by_time ON recalled (at);
    `),
  (db) =>
    db.exec(`
      -- What was decided for each result of a tool: 'shown' stands in the context for one that is kept in a file, null for
      -- one that stays as it is. 'at': when its session was last used, to the day.
      CREATE TABLE tool_results (
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        tool_use TEXT NOT NULL,
        message TEXT,
        chars INTEGER NOT NULL,
        shown TEXT,
        at INTEGER NOT NULL,
        PRIMARY KEY (session, harness, tool_use)
      ) STRICT;
      CREATE INDEX tool_results_by_time ON tool_results (at);
    `),
  (db) =>
    db.exec(`
      -- What came of each dream, in numbers (JSON). What it changed is in the journal, under its run. Times in ms.
      CREATE TABLE dreams (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        run TEXT NOT NULL UNIQUE,
        dir TEXT NOT NULL,
        watermark TEXT NOT NULL,
        trigger TEXT NOT NULL,
        began_at INTEGER NOT NULL,
        ended_at INTEGER NOT NULL,
        outcome TEXT NOT NULL CHECK (outcome IN ('applied', 'nothing', 'review', 'failed', 'killed')),
        why TEXT,
        facts TEXT NOT NULL
      ) STRICT;
      CREATE INDEX dreams_by_dir ON dreams (dir, id);
    `),
  (db) =>
    db.exec(`
      -- Agents that registered. 'born' tells the process from another one that gets the same number later.
      CREATE TABLE agents (
        name TEXT PRIMARY KEY,
        harness TEXT NOT NULL,
        session TEXT NOT NULL,
        cwd TEXT NOT NULL,
        pid INTEGER NOT NULL,
        born TEXT,
        summaries INTEGER NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX agents_by_session ON agents (session);

      -- Mail in the order in which it came. 'box' is whose it is, 'addressed' what the sender wrote. Once acknowledged, it
      -- says nothing any more; that it was is known until it would have expired: a damaged file must not bring it back.
      CREATE TABLE mail (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        sender TEXT NOT NULL,
        box TEXT NOT NULL,
        addressed TEXT NOT NULL,
        kind TEXT NOT NULL,
        body TEXT NOT NULL,
        summary TEXT,
        request TEXT,
        approve INTEGER,
        acknowledged INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX mail_waiting ON mail (box, id) WHERE acknowledged = 0;
      CREATE INDEX mail_by_request ON mail (request) WHERE request IS NOT NULL;
      CREATE INDEX mail_by_time ON mail (at);
    `),
  (db) =>
    db.exec(`
      -- What became of the last compactions of a session: how many failed in a row, and which summary came of the last
      -- that did not. 'session' and 'summary' are hashes. Times in ms.
      CREATE TABLE compactions (
        session TEXT PRIMARY KEY,
        failures INTEGER NOT NULL,
        summary TEXT,
        answers INTEGER NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
    `),
  (db) =>
    db.exec(`
      -- When each harness last ran a hook of ours.
      CREATE TABLE hooks_seen (
        harness TEXT PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT;
    `),
]

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

/** What can be derived again; may be deleted at any time. */
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
        -- Whoever is at it. A killed job keeps its owner until its run has really ended.
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
      -- 1: it has to be read from its beginning. So do those of which nothing stands anywhere: nobody had noted why.
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
      -- Nobody asks for every word of every turn any more, only for those of a question: they can stand in more parts.
      INSERT INTO message_words (message_words, rank) VALUES ('automerge', 64);
      INSERT INTO message_words (message_words, rank) VALUES ('crisismerge', 256);
    `),
]
