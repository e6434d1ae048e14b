/* The library's kernel in C. */

#include "normalise.h"

#include <math.h>
#include <stdio.h>

enum { ROWS = 6, COLUMNS = 100 };

static int failed(void) {
  fprintf(stderr, "%s\n", imbrex_error_text());
  return 1;
}

int main(void) {
  const imbrex_stream on = {IMBREX_HOST, 0, NULL};
  float x[ROWS * COLUMNS], scale[COLUMNS], y[ROWS * COLUMNS];
  for (int i = 0; i < ROWS * COLUMNS; ++i) x[i] = (float)(i % 17 - 8);
  for (int j = 0; j < COLUMNS; ++j) scale[j] = 1 + (float)j;

  const imbrex_array from = {x, {ROWS, COLUMNS}, {COLUMNS, 1}}, by = {scale, {COLUMNS}, {1}},
                     to = {y, {ROWS, COLUMNS}, {COLUMNS, 1}};
  if (normalise_rms_norm(&on, &from, &by, &to, 1e-5f) != IMBREX_OK) return failed();

  double worst = 0;
  for (int i = 0; i < ROWS; ++i) {
    double squares = 0;
    for (int j = 0; j < COLUMNS; ++j) squares += x[i * COLUMNS + j] * x[i * COLUMNS + j];
    for (int j = 0; j < COLUMNS; ++j) {
      const double expected = x[i * COLUMNS + j] / sqrt(squares / COLUMNS + 1e-5) * scale[j];
      const double error = fabs(y[i * COLUMNS + j] - expected) / (fabs(expected) + 1e-30);
      if (error > worst) worst = error;
    }
  }
  printf("%d rows of %d elements, largest relative error %.1e\n", ROWS, COLUMNS, worst);
  return worst < 1e-5 ? 0 : 1;
}
