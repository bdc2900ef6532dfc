
static nl_block_firmware *firmware;

/* A sector's versions: the synced one, and all written since. 0 is never written, or trimmed. */
struct versions {
    uint32_t *allowed, count, latest;
};
static struct versions *model;
static uint32_t sectors, sector_bytes, next_version = 1;
static uint8_t *bytes, *wanted;

/* A failure in the firmware's own words, if it has some. */
static const char *words(int answer)
{
    static char number[40];
    const char *why = firmware->why == NULL ? NULL : firmware->why(mounted);
    snprintf(number, sizeof number, "the answer is %d", answer);
    return why == NULL ? number : why;
}

static void answered(const char *what, uint32_t sector, int answer)
{
    check_rules();
    if (answer != 0)
        found("the %s of sector %" PRIu32 " failed: %s", what, sector, words(answer));
}

/* A sector's contents: its number, the version, and bytes made from both. */
static void fill(uint32_t sector, uint32_t version, uint8_t *to)
{
    uint64_t state = (uint64_t)sector << 32 | version;
    for (uint32_t at = 0; at < sector_bytes; at++) {
        uint32_t word = at / 4;
        if (at % 4 == 0 && word > 1)
            state = mixed(state);
        uint32_t value = word == 0 ? sector : word == 1 ? version : (uint32_t)(state >> 33);
        to[at] = (uint8_t)(value >> at % 4 * 8);
    }
}

static void allow(uint32_t sector, uint32_t version)
{
    struct versions *now = &model[sector];
    now->allowed = room(now->allowed, (now->count + 1) * sizeof *now->allowed);
    now->allowed[now->count++] = version;
    now->latest = version;
}

static void mount_firmware(void)
{
    char why[200] = "";
    nl_geometry shape;
    load();
    firmware = table_of("nl_block", sizeof *firmware);
    mounted = firmware->mount(device, why, sizeof why);
    check_rules();
    if (mounted == NULL)
        found("the mount failed: %s", why);
    if (model != NULL)
        return;
    nl_get_geometry(device, &shape);
    sectors = firmware->sectors(mounted);
    sector_bytes = firmware->sector_bytes == NULL ? shape.page_bytes : firmware->sector_bytes(mounted);
    if (sectors == 0 || sector_bytes < 16)
        found("an empty device has %" PRIu32 " sectors of %" PRIu32 " bytes", sectors, sector_bytes);
    bytes = room(NULL, sector_bytes);
    wanted = room(NULL, sector_bytes);
    model = room(NULL, sectors * sizeof *model);
    memset(model, 0, sectors * sizeof *model);
    for (uint32_t sector = 0; sector < sectors; sector++)
        allow(sector, 0);
}

static void write_sector(uint32_t sector)
{
    uint32_t version = next_version++;
    fill(sector, version, bytes);
    allow(sector, version);
    answered("write", sector, firmware->write(mounted, sector, bytes));
}

static void sync_all(void)
{
    int answer = firmware->sync(mounted);
    check_rules();
    if (answer != 0)
        found("the sync failed: %s", words(answer));
    for (uint32_t sector = 0; sector < sectors; sector++) {
        model[sector].allowed[0] = model[sector].latest;
        model[sector].count = 1;
    }
}

static const char *told(uint32_t version, char *to, size_t size)
{
    snprintf(to, size, version == 0 ? "nothing" : "write %" PRIu32, version);
    return to;
}

/* Compares a sector in `bytes` with the model. The version found is the latest from now on. */
static void compare_sector(uint32_t sector)
{
    uint32_t version = 0, same = 1, place = 0;
    for (uint32_t at = 1; at < sector_bytes; at++)
        same += bytes[at] == bytes[0];
    if (same < sector_bytes || (bytes[0] != 0 && bytes[0] != 0xFF)) {
        version = bytes[4] | (uint32_t)bytes[5] << 8 | (uint32_t)bytes[6] << 16 | (uint32_t)bytes[7] << 24;
        fill(sector, version, wanted);
        if (version == 0 || memcmp(wanted, bytes, sector_bytes) != 0)
            found("sector %" PRIu32 " has bytes that nobody wrote there", sector);
    }
    while (place < model[sector].count && model[sector].allowed[place] != version)
        place++;
    if (place == model[sector].count) {
        char has[20], synced[20];
        found("sector %" PRIu32 " has %s, and %s was synced", sector, told(version, has, sizeof has),
              told(model[sector].allowed[0], synced, sizeof synced));
    }
    model[sector].latest = version;
}

static void compare(void)
{
    for (uint32_t sector = 0; sector < sectors; sector++) {
        memset(bytes, 0xEE, sector_bytes);
        answered("read", sector, firmware->read(mounted, sector, bytes));
        compare_sector(sector);
    }
}

static void play(const struct step *step)
{
    uint32_t sector = step->number % sectors;
    if (strcmp(step->what, "w") == 0)
        write_sector(sector);
    if (strcmp(step->what, "t") == 0 && firmware->trim != NULL) {
        allow(sector, 0);
        answered("trim", sector, firmware->trim(mounted, sector));
    }
    if (strcmp(step->what, "s") == 0)
        sync_all();
    if (strcmp(step->what, "m") == 0) {
        mount_firmware();
        compare();
    }
}

/* A sync after each eighth write. */
static void write_on(uint32_t pages)
{
    for (uint32_t number = 0; number < pages; number++) {
        write_sector((number * 7 + 3) % sectors);
        if (number % 8 == 7)
            sync_all();
    }
    sync_all();
    compare();
}
