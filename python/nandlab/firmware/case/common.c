
/* The device, and the firmware as it was loaded last. */
static const char *object_path;
static nl_device *device;
static void *object, *mounted;
static jmp_buf after_cut;
static size_t next_cut;

/* Ends the program with a finding. */
static void found(const char *format, ...)
{
    va_list words;
    va_start(words, format);
    vprintf(format, words);
    va_end(words);
    printf("\n");
    exit(1);
}

/* Ends the program: the case cannot run. */
static void failed(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(2);
}

/* Keeps numbers apart; unlike rand() it is the same everywhere. */
static uint64_t mixed(uint64_t state)
{
    return state * UINT64_C(0x5851F42D4C957F2D) + UINT64_C(0x14057B7EF767814F);
}

static void *room(void *memory, size_t bytes)
{
    memory = realloc(memory, bytes);
    if (memory == NULL && bytes > 0)
        failed("the model", "no memory");
    return memory;
}

/* After every call: a broken rule is a finding whatever the firmware answers. */
static void check_rules(void)
{
    if (nl_message(device)[0] != 0)
        found("%s", nl_message(device));
}

/* The firmware's call never returns. */
static void power_lost(void *context)
{
    (void)context;
    longjmp(after_cut, 1);
}

static void plan_cut(void)
{
    if (cuts[next_cut].form == NULL)
        return;
    if (nl_cut(device, cuts[next_cut].nth, cuts[next_cut].form) != NL_OK)
        failed("cut", nl_message(device));
    next_cut++;
}

static void *table_of(const char *name, uint32_t size)
{
    void *table = dlsym(object, name);
    if (table == NULL || *(uint32_t *)table != size)
        failed(object_path, "there is no table of this version");
    return table;
}

/* Loads the firmware anew, so its global variables are as after a reset. */
static void load(void)
{
    if (object != NULL)
        dlclose(object);
    if (dlopen(object_path, RTLD_NOW | RTLD_NOLOAD) != NULL)
        failed(object_path, "the object cannot be unloaded, so its variables would survive the cut");
    object = dlopen(object_path, RTLD_NOW);
    if (object == NULL)
        failed(object_path, dlerror());
}
