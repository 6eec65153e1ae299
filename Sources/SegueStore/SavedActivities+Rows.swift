// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

/// The tables. `words` holds no text of its own: it indexes `title`, `keywords` and `text` of `saved`, which have
/// blanks around what is a word by itself (`SearchText`).
extension SavedActivities {
  static let schema = Schema(
    steps: [
      """
      CREATE TABLE saved (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        app TEXT NOT NULL,
        team TEXT NOT NULL,
        activity BLOB NOT NULL CHECK (length(activity) = 16),
        persistent TEXT,
        type TEXT NOT NULL,
        shown TEXT,
        webpage TEXT,
        saved REAL NOT NULL,
        expires REAL NOT NULL,
        size INTEGER NOT NULL CHECK (size >= 0),
        title TEXT NOT NULL,
        keywords TEXT NOT NULL,
        text TEXT NOT NULL
      ) STRICT;
      CREATE UNIQUE INDEX saved_by_name ON saved (app, persistent) WHERE persistent IS NOT NULL;
      CREATE INDEX saved_by_activity ON saved (app, activity);
      CREATE INDEX saved_by_expiry ON saved (expires, size);
      CREATE TABLE documents (
        number INTEGER PRIMARY KEY,
        document BLOB NOT NULL
      ) STRICT;
      CREATE VIRTUAL TABLE words USING fts5 (title, keywords, text, content = 'saved', content_rowid = 'number',
        tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3');
      """,
      """
      ALTER TABLE saved ADD COLUMN app_name TEXT NOT NULL DEFAULT '';
      ALTER TABLE saved ADD COLUMN account BLOB;
      CREATE INDEX saved_by_account ON saved (account, number, size) WHERE account IS NOT NULL;
      """,
      StoredClock.table,
      // A saved activity without a date of its own ended 30 days after it was saved.
      """
      ALTER TABLE saved ADD COLUMN expiration REAL;
      UPDATE saved SET expiration = expires WHERE expires <> saved + 2592000.0;
      """,
    ],
    probes: [
      StoredClock.row,
      newest, matching, named, "SELECT number, document FROM documents",
      "SELECT title, keywords, text, account, expiration FROM saved",
    ])

  static let newest: StaticString = """
    SELECT number, app, activity, persistent, type, shown, webpage, saved, expires, team, app_name FROM saved
    WHERE expires > ?1 AND (?2 IS NULL OR app = ?2) AND number < ?4 ORDER BY number DESC LIMIT ?3
    """

  static let matching: StaticString = """
    SELECT saved.number, app, activity, persistent, type, shown, webpage, saved, expires, team, app_name
    FROM words JOIN saved ON saved.number = words.rowid
    WHERE words MATCH ?5 AND words.rowid < ?4 AND expires > ?1 AND (?2 IS NULL OR app = ?2)
    ORDER BY words.rowid DESC LIMIT ?3
    """

  /// Two queries: SQLite uses one index at most for alternatives, and would read all that the app has saved.
  static let named: StaticString = """
    SELECT number, app, activity, persistent, type, shown, webpage, saved, expires, team, app_name FROM saved
    WHERE ?3 IS NOT NULL AND app = ?2 AND persistent = ?3 AND expires > ?1
    UNION ALL
    SELECT number, app, activity, persistent, type, shown, webpage, saved, expires, team, app_name FROM saved
    WHERE ?3 IS NULL AND app = ?2 AND activity = ?4 AND persistent IS NULL AND expires > ?1
    """

  /// The entries that a saved activity replaces; two queries for the same reason.
  static let earlier: StaticString = """
    SELECT number FROM saved WHERE app = ?1 AND activity = ?2
    UNION
    SELECT number FROM saved WHERE app = ?1 AND persistent = ?3
    """
}
