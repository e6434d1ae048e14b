/* What a test and the process that it runs code in share: C, for both. */
#pragma once

#include <stdint.h>

/* Both have mapped the same memory at the same address, so that pointers mean the same. The mail
 * lies at its start. Who waits reads one byte: 'r' runs `function` or returns from a call; 'd' says
 * that it is done; 'c' calls, for the code, the test's function number `function`. */
struct guest_mail {
  uint64_t function;
  uint64_t x[8];  /* the arguments, all integers; the first is the result as well */
  uint64_t calls; /* the code that forwards call 0; others at kGuestCallBytes each */
};

enum { kGuestCalls = 32, kGuestCallBytes = 8, kGuestMemoryFile = 3 };

/* What the guest reads first. */
struct guest_memory {
  uint64_t base, bytes, stack; /* its code runs on a stack in there, for what it calls to see */
};
