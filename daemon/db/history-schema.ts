/** The tables of `history.db`, what cannot be derived again, as the steps that made them. One that has landed is never edited: append another. */
import type { Migration } from './database.ts'

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
      -- Folders whose transcripts a user had read: when index.db is made anew, nothing else would lead there.
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
      -- Every call of a model, written down before it is made: one that was never settled may have cost what was reserved.
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
  (db) =>
    db.exec(`
      -- An index is long, and changes by a line: 'follows' is the change that left what was before, in place of before_key;
      -- 'lines' (JSON) what changed in it, in place of after_key. Older rows are rewritten by housekeeping.
      ALTER TABLE changes ADD COLUMN follows INTEGER;
      ALTER TABLE changes ADD COLUMN lines TEXT;
    `),
]
