/* A process for AArch64 Linux, without a C library, that executes what a test has put into memory
 * they share (guest_mail.h). Emulated, so that the test needs no such machine. */
#include "guest_mail.h"

#include <stddef.h>

struct guest_mail *mail;

enum { kRead = 63, kWrite = 64, kExit = 93, kMmap = 222 };

static long ask_kernel(long number, long a, long b, long c, long d, long e) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  register long x5 __asm__("x5") = 0;
  __asm__ volatile("svc #0"
                   : "+r"(x0)
                   : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                   : "memory");
  return x0;
}

static void say(char what) { ask_kernel(kWrite, 1, (long)&what, 1, 0, 0); }

/* The other end closes the pipe when it is done with us. */
static void read_all(void *to, size_t bytes) {
  if (ask_kernel(kRead, 0, (long)to, (long)bytes, 0, 0) != (long)bytes)
    ask_kernel(kExit, 0, 0, 0, 0, 0);
}

static void await(void) {
  char go;
  read_all(&go, 1);
}

void forward_call(void) {
  say('c');
  await();
}

/* Function, its six arguments, the stack that it runs on. */
void call_on_stack(uint64_t function, const uint64_t *arguments, uint64_t stack);
extern char calls[];

_Static_assert(offsetof(struct guest_mail, x) == 8 && kGuestCalls == 32 && kGuestCallBytes == 8,
               "the assembly below has these numbers");
__asm__(".globl _start\n"
        "_start:\n"
        "  mov x29, #0\n"
        "  mov x30, #0\n"
        "  bl serve\n"
        "call_on_stack:\n"
        "  stp x29, x30, [sp, #-32]!\n"
        "  str x19, [sp, #16]\n"
        "  mov x29, sp\n"
        "  mov x19, sp\n"
        "  mov sp, x2\n"
        "  mov x16, x0\n"
        "  mov x17, x1\n"
        "  ldp x0, x1, [x17]\n"
        "  ldp x2, x3, [x17, #16]\n"
        "  ldp x4, x5, [x17, #32]\n"
        "  blr x16\n"
        "  mov sp, x19\n"
        "  ldr x19, [sp, #16]\n"
        "  ldp x29, x30, [sp], #32\n"
        "  ret\n"
        "calls:\n"
        "  .set number, 0\n"
        "  .rept 32\n"
        "  mov x17, #number\n"
        "  b forward\n"
        "  .set number, number + 1\n"
        "  .endr\n"
        "forward:\n"
        "  stp x29, x30, [sp, #-16]!\n"
        "  mov x29, sp\n"
        "  adrp x16, mail\n"
        "  ldr x16, [x16, :lo12:mail]\n"
        "  str x17, [x16]\n"
        "  stp x0, x1, [x16, #8]\n"
        "  stp x2, x3, [x16, #24]\n"
        "  stp x4, x5, [x16, #40]\n"
        "  stp x6, x7, [x16, #56]\n"
        "  bl forward_call\n"
        "  adrp x16, mail\n"
        "  ldr x16, [x16, :lo12:mail]\n"
        "  ldr x0, [x16, #8]\n"
        "  ldp x29, x30, [sp], #16\n"
        "  ret\n");

__attribute__((noreturn)) void serve(void) {
  struct guest_memory memory;
  read_all(&memory, sizeof memory);
  enum { kReadWriteExecute = 7, kSharedAtThisAddress = 0x11 };
  const long at = ask_kernel(kMmap, (long)memory.base, (long)memory.bytes, kReadWriteExecute,
                             kSharedAtThisAddress, kGuestMemoryFile);
  if (at != (long)memory.base) ask_kernel(kExit, 1, 0, 0, 0, 0);
  mail = (struct guest_mail *)memory.base;
  mail->calls = (uint64_t)calls;
  say('d');
  for (;;) {
    await();
    call_on_stack(mail->function, mail->x, memory.stack);
    say('d');
  }
}
