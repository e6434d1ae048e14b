#include "consumer.h"

#include "app.h"
#include "telling.h"

#include <stdio.h>
#include <string.h>

enum { SIZE = 3000 };

static int failed(const char *what) {
  fprintf(stderr, "%s: %s\n", what, imbrex_error_text());
  return 1;
}

int launch_from_c(void) {
  static float a[SIZE], b[SIZE], c[SIZE];
  const imbrex_stream host = {IMBREX_HOST, 0, NULL};
  const imbrex_grid blocks = {(SIZE + 1023) / 1024, 1, 1};
  const imbrex_array x = {a, {SIZE}, {1}}, y = {b, {SIZE}, {1}}, z = {c, {SIZE}, {1}};
  const imbrex_memory from = {c, sizeof c}, to = {a, sizeof a};
  const imbrex_grid quarters = {(SIZE + 255) / 256, 1, 1};
  const imbrex_array none = {NULL, {SIZE}, {1}};
  int i;
  for (i = 0; i < SIZE; ++i) {
    a[i] = (float)i;
    b[i] = 0.5f;
  }
  if (app_add(&host, &blocks, &x, &y, &z) != IMBREX_OK) return failed("add");
  for (i = 0; i < SIZE; ++i)
    if (c[i] != (float)i + 0.5f) return failed("the sum is wrong");
  /* 0x3c00 is 1 as an f16; whatever is not 0 is true. */
  if (app_scale(&host, &quarters, &from, &to, SIZE, 2.0f, 0x3c00, 2, 3) != IMBREX_OK)
    return failed("scale");
  for (i = 0; i < SIZE; ++i)
    if (a[i] != -(2 * c[i] + 4)) return failed("the multiple is wrong");
  {
    int64_t extents[1] = {SIZE};
    const imbrex_dltensor p = {a, 1, 0, 1, 2, 32, 1, extents, NULL, 0};
    const imbrex_dltensor q = {b, 1, 0, 1, 2, 32, 1, extents, NULL, 0};
    if (app_add_dlpack(&host, &blocks, &p, &p, &q) != IMBREX_OK) return failed("tensors");
    for (i = 0; i < SIZE; ++i)
      if (b[i] != 2 * a[i]) return failed("the tensors' sum is wrong");
  }
  {
    imbrex_event first, last;
    void *pinned = NULL;
    double milliseconds = -1;
    if (imbrex_event_make(&host, &first) != IMBREX_OK ||
        imbrex_event_make(&host, &last) != IMBREX_OK ||
        imbrex_event_record(&first, &host) != IMBREX_OK ||
        imbrex_allocate_pinned(&host, sizeof a, &pinned) != IMBREX_OK ||
        imbrex_start_copy_in(&host, pinned, a, sizeof a) != IMBREX_OK ||
        memcmp(pinned, a, sizeof a) != 0 || imbrex_event_record(&last, &host) != IMBREX_OK ||
        imbrex_stream_wait(&host, &last) != IMBREX_OK ||
        imbrex_event_milliseconds(&first, &last, &milliseconds) != IMBREX_OK || milliseconds < 0)
      return failed("events and pinned memory");
    imbrex_release_pinned(&host, pinned);
    imbrex_event_destroy(&first);
    imbrex_event_destroy(&last);
  }
  if (app_add(&host, &blocks, &none, &y, &z) != IMBREX_BAD_ARGUMENT) return failed("no null");
  return strcmp(imbrex_error_text(),
                "the argument 'a' of 'add', view<const f32, 1>, is a null pointer") != 0
             ? failed("another text")
             : 0;
}

static void say(int status) {
  printf("%d: %s\n", status, status == IMBREX_OK ? "" : imbrex_error_text());
}

int tell_from_c(void) {
  static float x[4] = {1, 2.5f, -0.0f, 1e10f};
  static int32_t n[4];
  const imbrex_stream host = {IMBREX_HOST, 0, NULL};
  const imbrex_grid one = {1, 1, 1};
  const imbrex_array numbers = {x, {4}, {1}}, counts = {n, {4}, {1}};
  say(telling_told(&host, &one, &numbers, 2e10f));
  say(telling_told(&host, &one, &numbers, 3));
  say(telling_counted(&host, &counts, 10));
  return n[3] == 10 ? 0 : 1;
}
