
static nl_file_firmware *firmware;

/* Paths in scripts: three files, two folders, and files in them. */
#define PATHS 8
#define NONE (-1)
static const char *const paths[PATHS] = {"a", "b", "c", "d", "e", "d/a", "d/b", "e/a"};
static const int folder_of[PATHS] = {NONE, NONE, NONE, NONE, NONE, 3, 3, 4};

/* A path's state. Contents are never freed: states share them. */
enum kind { ABSENT, FOLDER, CONTENTS };
struct entry {
    enum kind kind;
    uint8_t *bytes;
    size_t length;
};

/* The states that may be there after a cut. `loose`: contents are being written, and a cut may leave a part. */
struct place {
    struct entry *allowed, latest;
    size_t count;
    int loose;
};
static struct place places[PATHS];

/* Renames without a sync, and the file's contents. */
static struct moved {
    int from, to;
    struct entry file;
} *moves;
static size_t move_count;
static uint32_t next_version = 1;

static int is_folder(int path)
{
    return path == 3 || path == 4;
}

static int path_named(const char *name)
{
    for (int path = 0; path < PATHS; path++)
        if (strcmp(paths[path], name) == 0)
            return path;
    return NONE;
}

static int is_same(const struct entry *one, const struct entry *other)
{
    return one->kind == other->kind && one->length == other->length
        && (one->length == 0 || memcmp(one->bytes, other->bytes, one->length) == 0);
}

/* A failure in the firmware's own words, if it has some. */
static const char *words(int answer)
{
    static char number[40];
    const char *why = firmware->why == NULL ? NULL : firmware->why(mounted);
    snprintf(number, sizeof number, "the answer is %d", answer);
    return why == NULL ? number : why;
}

static void answered(const char *what, const char *of, int answer)
{
    check_rules();
    if (answer != 0)
        found("the %s of %s failed: %s", what, of, words(answer));
}

static int is_allowed(const struct place *place, const struct entry *entry)
{
    for (size_t at = 0; at < place->count; at++)
        if (is_same(&place->allowed[at], entry))
            return 1;
    return 0;
}

/* Contents written without a sync may be there in part: each byte is one of a version, or zero. */
static int is_part(const struct place *place, const struct entry *entry)
{
    size_t longest = 0;
    if (!place->loose || firmware->atomic || entry->kind != CONTENTS)
        return 0;
    for (size_t one = 0; one < place->count; one++)
        longest = place->allowed[one].length > longest ? place->allowed[one].length : longest;
    for (size_t at = 0; at < entry->length; at++) {
        int known = entry->bytes[at] == 0;
        for (size_t one = 0; one < place->count; one++)
            known |= at < place->allowed[one].length && place->allowed[one].bytes[at] == entry->bytes[at];
        if (!known)
            return 0;
    }
    return entry->length <= longest;
}

/* From now on the state may be there. */
static void allow(struct place *place, struct entry entry)
{
    place->allowed = room(place->allowed, (place->count + 1) * sizeof *place->allowed);
    place->allowed[place->count++] = entry;
}

static void set(int path, struct entry entry, int loose)
{
    size_t kept = 0;
    allow(&places[path], entry);
    places[path].latest = entry;
    places[path].loose |= loose;
    for (size_t at = 0; at < move_count; at++)
        if (moves[at].from != path && moves[at].to != path)
            moves[kept++] = moves[at];
    move_count = kept;
}

/* The latest state is durable. */
static void settle(int path)
{
    places[path].allowed[0] = places[path].latest;
    places[path].count = 1;
    places[path].loose = 0;
}

static void mount_firmware(void)
{
    static const struct entry absent;
    char why[200] = "";
    load();
    firmware = table_of("nl_file", sizeof *firmware);
    mounted = firmware->mount(device, why, sizeof why);
    check_rules();
    if (mounted == NULL)
        found("the mount failed: %s", why);
    for (int path = 0; path < PATHS; path++)
        if (places[path].count == 0)
            allow(&places[path], absent);
}

static void *open_to_write(int path)
{
    void *file = firmware->open(mounted, paths[path], 1);
    answered("open", paths[path], file == NULL ? -1 : 0);
    return file;
}

static void sync_and_settle(int path, void *file)
{
    answered("sync", paths[path], firmware->sync(mounted, file));
    settle(path);
}

/* Writes a file anew and syncs it, or appends without a sync. */
static void write_file(int path, uint32_t bytes, int anew)
{
    struct entry old = places[path].latest, new = {CONTENTS, NULL, 0}, empty = {CONTENTS, NULL, 0};
    size_t start = anew || old.kind != CONTENTS ? 0 : old.length;
    uint64_t state = (uint64_t)next_version++ << 20;
    new.length = start + bytes;
    new.bytes = room(NULL, new.length + 1);
    if (start > 0)
        memcpy(new.bytes, old.bytes, start);
    for (size_t at = start; at < new.length; at++) {
        state = mixed(state);
        new.bytes[at] = (uint8_t)(state >> 56);
    }
    if (old.kind == ABSENT)
        set(path, empty, 0);
    set(path, new, 1);
    void *file = open_to_write(path);
    if (anew)
        answered("truncate", paths[path], firmware->truncate(mounted, file, 0));
    for (size_t at = start; at < new.length; at += 128) {
        uint32_t piece = new.length - at < 128 ? (uint32_t)(new.length - at) : 128;
        answered("write", paths[path], firmware->write(mounted, file, at, new.bytes + at, piece));
    }
    if (anew)
        sync_and_settle(path, file);
    answered("close", paths[path], firmware->close(mounted, file));
}

static void truncate_file(int path, uint32_t bytes)
{
    struct entry now = places[path].latest;
    now.length = bytes;
    set(path, now, 1);
    void *file = open_to_write(path);
    answered("truncate", paths[path], firmware->truncate(mounted, file, bytes));
    sync_and_settle(path, file);
    answered("close", paths[path], firmware->close(mounted, file));
}

static void rename_file(int from, int to)
{
    static const struct entry absent;
    struct place before = places[from];
    struct entry file = before.latest;
    /* The other name may get all contents. */
    for (size_t at = 0; before.loose && at < before.count; at++)
        set(to, before.allowed[at], 1);
    int is_settled = before.count == 1 && is_same(&before.allowed[0], &file);
    set(from, absent, 0);
    set(to, file, before.loose);
    if (is_settled) {
        moves = room(moves, (move_count + 1) * sizeof *moves);
        moves[move_count].from = from, moves[move_count].to = to, moves[move_count].file = file;
        move_count++;
    }
    answered("rename", paths[from], firmware->rename(mounted, paths[from], paths[to]));
}

static void sync_all(void)
{
    int answer = firmware->sync(mounted, NULL);
    check_rules();
    if (answer != 0)
        found("the sync failed: %s", words(answer));
    for (int path = 0; path < PATHS; path++)
        settle(path);
    move_count = 0;
}

static struct entry read_file(int path)
{
    struct entry entry = {CONTENTS, NULL, 0};
    void *file = firmware->open(mounted, paths[path], 0);
    int64_t got;
    check_rules();
    if (file == NULL)
        found("a list has %s, and it cannot be opened", paths[path]);
    do {
        entry.bytes = room(entry.bytes, entry.length + 128);
        got = firmware->read(mounted, file, entry.length, entry.bytes + entry.length, 128);
        answered("read", paths[path], got < 0 || got > 128 ? (int)got : 0);
        entry.length += (size_t)got;
    } while (got == 128);
    answered("close", paths[path], firmware->close(mounted, file));
    return entry;
}

static struct entry now[PATHS];
static char names[64][64];
static int name_is_folder[64], name_count;

static void each(void *context, const char *name, int folder)
{
    (void)context;
    if (name_count == 64)
        found("a list has the name %s, twice or where nobody made it", name);
    snprintf(names[name_count], sizeof names[0], "%s", name);
    name_is_folder[name_count++] = folder != 0;
}

/* Reads a folder, its files, and the folders in it. */
static void read_folder(int folder)
{
    int inner[2], inner_count = 0;
    name_count = 0;
    answered("list", folder == NONE ? "the root" : paths[folder],
             firmware->list(mounted, folder == NONE ? "" : paths[folder], each, NULL));
    for (int at = 0; at < name_count; at++) {
        int path = 0;
        const char *last = NULL;
        for (; path < PATHS; path++) {
            last = strrchr(paths[path], '/') == NULL ? paths[path] : strrchr(paths[path], '/') + 1;
            if (folder_of[path] == folder && strcmp(last, names[at]) == 0)
                break;
        }
        if (path == PATHS || is_folder(path) != name_is_folder[at] || now[path].kind != ABSENT)
            found("a list has the name %s, twice or where nobody made it", names[at]);
        if (is_folder(path)) {
            now[path].kind = FOLDER;
            inner[inner_count++] = path;
        } else {
            now[path] = read_file(path);
        }
    }
    while (inner_count > 0)
        read_folder(inner[--inner_count]);
}

static const char *told(const struct entry *entry, char *to, size_t size)
{
    if (entry->kind == CONTENTS)
        snprintf(to, size, "a file of %zu bytes", entry->length);
    else
        snprintf(to, size, entry->kind == FOLDER ? "a folder" : "nothing");
    return to;
}

static void compare_path(int path)
{
    struct place *place = &places[path];
    if (!is_allowed(place, &now[path])) {
        char is[40], synced[40];
        const struct entry *latest = &place->latest;
        int same = now[path].kind == CONTENTS && latest->kind == CONTENTS && now[path].length == latest->length;
        if (!is_part(place, &now[path]))
            found("%s is %s, and %s%s was synced", paths[path], told(&now[path], is, sizeof is),
                  told(&place->allowed[0], synced, sizeof synced), same ? " with other contents" : "");
        allow(place, now[path]);
    }
    place->latest = now[path];
}

static void compare(void)
{
    memset(now, 0, sizeof now);
    read_folder(NONE);
    for (int path = 0; path < PATHS; path++) {
        if (is_folder(path) || now[path].kind != ABSENT)
            continue;
        void *file = firmware->open(mounted, paths[path], 0);
        check_rules();
        if (file != NULL)
            found("%s can be opened, and no list has it", paths[path]);
    }
    for (size_t at = 0; at < move_count; at++)
        if (!is_same(&now[moves[at].from], &moves[at].file) && !is_same(&now[moves[at].to], &moves[at].file))
            found("%s was renamed to %s, and is under neither name", paths[moves[at].from], paths[moves[at].to]);
    for (int path = 0; path < PATHS; path++)
        compare_path(path);
}

/* A step without sense, such as a file in a missing folder, is passed over. */
static void play_on_path(const struct step *step, int path, int to)
{
    static const struct entry absent, folder = {FOLDER, NULL, 0};
    const struct entry *latest = &places[path].latest;
    int is_file = latest->kind == CONTENTS, is_used = 0;
    int has_folder = folder_of[path] == NONE || places[folder_of[path]].latest.kind == FOLDER;
    for (int one = 0; one < PATHS; one++)
        is_used |= folder_of[one] == path && places[one].latest.kind != ABSENT;
    if (strcmp(step->what, "put") == 0 && has_folder)
        write_file(path, step->number, 1);
    if (strcmp(step->what, "append") == 0 && is_file)
        write_file(path, step->number, 0);
    if (strcmp(step->what, "truncate") == 0 && is_file && latest->length >= step->number)
        truncate_file(path, step->number);
    if (strcmp(step->what, "move") == 0 && is_file && path != to
        && (folder_of[to] == NONE || places[folder_of[to]].latest.kind == FOLDER))
        rename_file(path, to);
    if (strcmp(step->what, "remove") == 0 && (is_folder(path) ? latest->kind == FOLDER && !is_used : is_file)) {
        set(path, absent, 0);
        answered("remove", paths[path], firmware->remove(mounted, paths[path]));
    }
    if (strcmp(step->what, "mkdir") == 0 && latest->kind == ABSENT && firmware->mkdir != NULL) {
        set(path, folder, 0);
        answered("mkdir", paths[path], firmware->mkdir(mounted, paths[path]));
    }
}

static void play(const struct step *step)
{
    if (strcmp(step->what, "s") == 0)
        sync_all();
    else if (strcmp(step->what, "m") == 0) {
        mount_firmware();
        compare();
    } else
        play_on_path(step, path_named(step->path), path_named(step->to));
}

static uint64_t programmed(void)
{
    nl_counts counts;
    nl_get_counts(device, &counts);
    return counts.programs + counts.copies;
}

/* Until the firmware has programmed this many pages: a file takes more than its contents. */
static void write_on(uint32_t pages)
{
    uint64_t start = programmed();
    for (uint32_t number = 0; number < pages && (number == 0 || programmed() - start < pages); number++) {
        write_file((int)(number % 3), 400, 1);
        if (number % 8 == 7)
            sync_all();
    }
    sync_all();
    compare();
}
