"""A small messenger on SQLite: the program whose disk requests are recorded.

Usage: python3 application.py DATABASE JOURNAL_MODE, with JOURNAL_MODE `delete` or `wal`.

It keeps contacts, their messages and photos (metadata and a thumbnail) in one
database, as a phone does: messages arrive for a few busy contacts, conversations
are opened and marked as read, rows are edited, thumbnails are replaced by
smaller or larger ones, old rows are deleted at night, and at the end of each
month the database is vacuumed. Everything random comes from one seeded generator
and time is simulated, so that each journal mode executes the same statements.
"""

import random
import sqlite3
import sys
from collections.abc import Callable

SEED = 20261121
PAGE_BYTES = 4096
CACHE_PAGES = 200
CONTACTS = 3_000
MESSAGES_AT_START = 70_000
PHOTOS_AT_START = 2_200
ROWS_PER_BATCH = 250
MONTHS = 3
DAYS_PER_MONTH = 12
ACTIONS_PER_DAY = 170
DAY_S = 86_400
HISTORY_S = 120 * DAY_S

# All settings a build may have changed are set here, so that one recording equals the
# next. Without memory mapping each access is a system call, and with temporary
# tables in memory the database has only its three files.
PRAGMAS = f"""
    PRAGMA page_size = {PAGE_BYTES};
    PRAGMA auto_vacuum = NONE;
    PRAGMA cache_size = {CACHE_PAGES};
    PRAGMA mmap_size = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA secure_delete = OFF;
    PRAGMA locking_mode = NORMAL;
    PRAGMA synchronous = FULL;
    PRAGMA wal_autocheckpoint = 1000;
    PRAGMA journal_size_limit = -1;
"""

TABLES = """
    CREATE TABLE contacts (
        id INTEGER PRIMARY KEY, name TEXT NOT NULL, phone TEXT NOT NULL, city TEXT NOT NULL,
        unread INTEGER NOT NULL DEFAULT 0, last_message INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY, contact INTEGER NOT NULL, sent_at INTEGER NOT NULL,
        outgoing INTEGER NOT NULL, seen INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE TABLE photos (
        id INTEGER PRIMARY KEY, contact INTEGER NOT NULL, taken_at INTEGER NOT NULL,
        place TEXT NOT NULL, caption TEXT NOT NULL, thumbnail BLOB NOT NULL);
"""

INDEXES = """
    CREATE UNIQUE INDEX contacts_by_phone ON contacts (phone);
    CREATE INDEX contacts_by_name ON contacts (name);
    CREATE INDEX contacts_by_last_message ON contacts (last_message);
    CREATE INDEX messages_by_contact ON messages (contact, sent_at);
    CREATE INDEX messages_by_time ON messages (sent_at);
    CREATE INDEX messages_unseen ON messages (contact) WHERE seen = 0;
    CREATE INDEX photos_by_time ON photos (taken_at);
    CREATE INDEX photos_by_contact ON photos (contact, taken_at);
    CREATE INDEX photos_by_place ON photos (place);
"""

INSERT_MESSAGE = "INSERT INTO messages (contact, sent_at, outgoing, seen, body) VALUES (?, ?, ?, ?, ?)"
INSERT_PHOTO = "INSERT INTO photos (contact, taken_at, place, caption, thumbnail) VALUES (?, ?, ?, ?, ?)"
SYLLABLES = "ka lo mi ren tas vo du bel sha ni gor pa fe lin zu ro".split()  # noqa: SIM905
CITIES = 240


class Messenger:
    """The application: one connection, one generator, one simulated clock."""

    def __init__(self, path: str, journal_mode: str) -> None:
        self.path = path
        self.journal_mode = journal_mode
        self.random = random.Random(SEED)
        self.now_s = HISTORY_S
        self.connect()

    def connect(self) -> None:
        """Opens the database, as at program start."""
        self.db = sqlite3.connect(self.path, isolation_level=None)
        self.db.executescript(PRAGMAS)
        (mode,) = self.db.execute(f"PRAGMA journal_mode = {self.journal_mode}").fetchone()
        if mode != self.journal_mode:
            raise SystemExit(f"SQLite kept journal mode {mode} instead of {self.journal_mode}.")

    def restart(self) -> None:
        """Closes and opens the database; SQLite then checkpoints and deletes its WAL."""
        self.db.close()
        self.connect()

    def transaction(self, work: Callable[..., object], *arguments: object) -> None:
        """Runs `work` between BEGIN and COMMIT."""
        self.db.execute("BEGIN IMMEDIATE")
        work(*arguments)
        self.db.execute("COMMIT")

    # Values

    def words(self, count: int) -> str:
        """`count` words with one to three syllables."""
        return " ".join(
            "".join(self.random.choices(SYLLABLES, k=self.random.randint(1, 3))) for _ in range(count)
        )

    def body(self) -> str:
        """A message: log-normal, half up to about 13 words."""
        return self.words(min(400, 1 + int(self.random.lognormvariate(2.5, 0.8))))

    def thumbnail(self) -> bytes:
        """An incompressible blob: log-normal, half below about 6 KiB, at most 48 KiB."""
        return self.random.randbytes(min(49_152, 400 + int(self.random.lognormvariate(8.7, 0.6))))

    def phone(self, contact: int) -> str:
        """A telephone number no other contact has."""
        return f"+{self.random.randrange(10**6):06d}{contact:05d}"

    def place(self) -> str:
        """A name among `CITIES`, the first ones more often."""
        return f"city-{int(CITIES * self.random.random() ** 2):03d}"

    def busy_contact(self) -> int:
        """A contact, skewed: the busiest tenth gets 32 % of the actions."""
        rank = int(CONTACTS * self.random.random() ** 2)
        return 1 + rank * 1_291 % CONTACTS

    def recent_message(self) -> int:
        """A message id, mostly one of the newest; the message may be deleted already."""
        (newest,) = self.db.execute("SELECT max(id) FROM messages").fetchone()
        return newest - int(newest * self.random.random() ** 2)

    def any_photo(self) -> int:
        """A photo id, uniformly; the photo may be deleted already."""
        first, last = self.db.execute("SELECT min(id), max(id) FROM photos").fetchone()
        return self.random.randint(first, last)

    def new_message(self, sent_at_s: int, seen: int) -> tuple:
        """The values for `INSERT_MESSAGE`."""
        return self.busy_contact(), sent_at_s, self.random.randrange(2), seen, self.body()

    def new_photo(self, taken_at_s: int) -> tuple:
        """The values for `INSERT_PHOTO`."""
        return self.busy_contact(), taken_at_s, self.place(), self.words(4), self.thumbnail()

    # First start: a backup is restored in batches, the indexes follow

    def restore_backup(self) -> None:
        """Fills the tables with a history of `HISTORY_S` seconds."""
        self.transaction(self.execute_all, TABLES)
        self.insert_rows(
            "INSERT INTO contacts (id, name, phone, city) VALUES (?, ?, ?, ?)",
            [(i, self.words(2), self.phone(i), self.place()) for i in range(1, CONTACTS + 1)],
        )
        step_s = HISTORY_S / MESSAGES_AT_START
        self.insert_rows(
            INSERT_MESSAGE, [self.new_message(int(i * step_s), 1) for i in range(MESSAGES_AT_START)]
        )
        step_s = HISTORY_S / PHOTOS_AT_START
        self.insert_rows(INSERT_PHOTO, [self.new_photo(int(i * step_s)) for i in range(PHOTOS_AT_START)])
        self.transaction(self.execute_all, INDEXES)

    def execute_all(self, statements: str) -> None:
        """Executes statements separated by semicolons."""
        for statement in statements.split(";"):
            self.db.execute(statement)

    def insert_rows(self, statement: str, rows: list[tuple]) -> None:
        """Inserts `rows` in transactions with `ROWS_PER_BATCH` each."""
        for first in range(0, len(rows), ROWS_PER_BATCH):
            self.transaction(self.db.executemany, statement, rows[first : first + ROWS_PER_BATCH])

    # Daily use: actions by a person and the network

    def receive_messages(self) -> None:
        """One to three messages from one contact, its counter and its place in the inbox."""
        contact, count = self.busy_contact(), self.random.randint(1, 3)
        for _ in range(count):
            self.db.execute(INSERT_MESSAGE, (contact, self.now_s, 0, 0, self.body()))
        self.db.execute(
            "UPDATE contacts SET unread = unread + ?, last_message = ? WHERE id = ?",
            (count, self.now_s, contact),
        )

    def open_conversation(self) -> None:
        """Reads a contact's newest messages and marks them as seen."""
        contact = self.busy_contact()
        self.db.execute(
            "SELECT * FROM messages WHERE contact = ? ORDER BY sent_at DESC LIMIT 12", (contact,)
        ).fetchall()
        self.transaction(self.mark_seen, contact)

    def mark_seen(self, contact: int) -> None:
        """Marks a contact's unseen messages as seen; often there is none."""
        self.db.execute("UPDATE messages SET seen = 1 WHERE contact = ? AND seen = 0", (contact,))
        self.db.execute("UPDATE contacts SET unread = 0 WHERE id = ?", (contact,))

    def edit_message(self) -> None:
        """Replaces a message's text: longer or shorter, in place or on another page."""
        self.db.execute("UPDATE messages SET body = ? WHERE id = ?", (self.body(), self.recent_message()))

    def edit_contact(self) -> None:
        """Moves a contact to another city and number: two indexes change."""
        contact = self.busy_contact()
        self.db.execute(
            "UPDATE contacts SET phone = ?, city = ? WHERE id = ?",
            (self.phone(contact), self.place(), contact),
        )

    def rename_contact(self) -> None:
        """Changes a name and its place in the name index."""
        self.db.execute("UPDATE contacts SET name = ? WHERE id = ?", (self.words(2), self.busy_contact()))

    def take_photo(self) -> None:
        """Adds a photo: a row, its overflow pages and three index entries."""
        self.db.execute(INSERT_PHOTO, self.new_photo(self.now_s))

    def move_photo(self) -> None:
        """Corrects a photo's place: a row and an index entry."""
        self.db.execute("UPDATE photos SET place = ? WHERE id = ?", (self.place(), self.any_photo()))

    def replace_thumbnail(self) -> None:
        """Another blob size: its overflow pages are freed and taken anew."""
        self.db.execute("UPDATE photos SET thumbnail = ? WHERE id = ?", (self.thumbnail(), self.any_photo()))

    def delete_message(self) -> None:
        """Deletes a message."""
        self.db.execute("DELETE FROM messages WHERE id = ?", (self.recent_message(),))

    def delete_photo(self) -> None:
        """Deletes a photo and frees its overflow pages."""
        self.db.execute("DELETE FROM photos WHERE id = ?", (self.any_photo(),))

    def find_contact(self) -> None:
        """A point read by telephone number and a range read by a name's first letters."""
        self.db.execute(
            "SELECT * FROM contacts WHERE phone = (SELECT phone FROM contacts WHERE id = ?)",
            (self.busy_contact(),),
        ).fetchall()
        start = self.random.choice(SYLLABLES)
        self.db.execute("SELECT * FROM contacts WHERE name >= ? ORDER BY name LIMIT 20", (start,)).fetchall()

    def show_inbox(self) -> None:
        """Reads the newest messages' contacts."""
        self.db.execute("SELECT * FROM contacts ORDER BY last_message DESC LIMIT 30").fetchall()

    def browse_photos(self) -> None:
        """A screen with thumbnails somewhere in the history."""
        start_s = int(self.now_s - HISTORY_S * self.random.random() ** 2)
        self.db.execute(
            "SELECT * FROM photos WHERE taken_at <= ? ORDER BY taken_at DESC LIMIT 4", (start_s,)
        ).fetchall()

    def read_photo(self) -> None:
        """Reads one photo with its thumbnail."""
        self.db.execute("SELECT * FROM photos WHERE id = ?", (self.any_photo(),)).fetchall()

    def search_conversation(self) -> None:
        """A search for a word in all messages from one contact."""
        self.db.execute(
            "SELECT id FROM messages WHERE contact = ? AND body LIKE '%gorpa%'", (self.busy_contact(),)
        ).fetchall()

    def abandon_edit(self) -> None:
        """A change the person takes back: the transaction is rolled back."""
        self.db.execute("BEGIN IMMEDIATE")
        self.edit_contact()
        self.edit_message()
        self.db.execute("ROLLBACK")

    # Weight in percent, and whether the action is one transaction.
    ACTIONS = (
        (20, True, receive_messages),
        (10, False, open_conversation),
        (18, True, edit_message),
        (8, True, edit_contact),
        (4, True, rename_contact),
        (4, True, take_photo),
        (10, True, move_photo),
        (5, True, replace_thumbnail),
        (5, True, delete_message),
        (1, True, delete_photo),
        (5, False, find_contact),
        (3, False, show_inbox),
        (2, False, browse_photos),
        (3, False, read_photo),
        (1, False, search_conversation),
        (1, False, abandon_edit),
    )

    def live_a_day(self) -> None:
        """`ACTIONS_PER_DAY` actions spread over a day, then the nightly deletion by age."""
        weights = [weight for weight, _, _ in self.ACTIONS]
        for _ in range(ACTIONS_PER_DAY):
            self.now_s += DAY_S // ACTIONS_PER_DAY
            ((_, is_transaction, action),) = self.random.choices(self.ACTIONS, weights)
            if is_transaction:
                self.transaction(action, self)
            else:
                action(self)
        self.delete_old("messages", "sent_at", 60)
        self.delete_old("photos", "taken_at", 6)

    def delete_old(self, table: str, column: str, rows: int) -> None:
        """Deletes up to `rows` rows older than the history."""
        oldest = f"SELECT id FROM {table} WHERE {column} < ? ORDER BY {column} LIMIT {rows}"
        delete = f"DELETE FROM {table} WHERE id IN ({oldest})"
        self.transaction(self.db.execute, delete, (self.now_s - HISTORY_S,))

    def tidy_up(self) -> None:
        """Month end: deletes the remaining old rows, then rebuilds the database."""
        self.delete_old("messages", "sent_at", 2_000)
        self.delete_old("photos", "taken_at", 100)
        self.db.execute("VACUUM")


def main() -> None:
    """Restores a backup, then lives through `MONTHS` months."""
    _, path, journal_mode = sys.argv
    messenger = Messenger(path, journal_mode)
    messenger.restore_backup()
    messenger.restart()
    for _ in range(MONTHS):
        for _ in range(DAYS_PER_MONTH):
            messenger.live_a_day()
        messenger.tidy_up()
    messenger.db.close()


if __name__ == "__main__":
    main()
