/* The toy with a mount that does not survive an unreadable page: -DCRASHES, -DHANGS, -DSLEEPS, -DEXITS or -DABORTS. */
#define _POSIX_C_SOURCE 200809L
#include "nandlab.h"
#include <stdlib.h>
#include <unistd.h>

static int read_or_end(nl_device *device, uint32_t page, uint32_t offset, uint32_t length, void *to)
{
    int status = nl_read(device, page, offset, length, to);
    if (status == NL_ECC) {
#ifdef CRASHES
        *(volatile int *)16 = 1;
#elif defined HANGS
        for (volatile int turn = 0;; turn++)
            ;
#elif defined SLEEPS
        for (;;)
            pause();
#elif defined EXITS
        exit(3);
#else
        abort();
#endif
    }
    return status;
}

#define nl_read read_or_end
#include "../../../../examples/firmware/toy/toy.c"
