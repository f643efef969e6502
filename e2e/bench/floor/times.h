/* What the two ends of the benchmark share: a clock, and the middle of many times. */
#pragma once
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 300, WARM = 30 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Prints the median and the 95th percentile of ROUNDS times, and leaves them sorted. */
static void print_times(FILE *out, const char *name, double *times) {
  qsort(times, ROUNDS, sizeof *times, by_size);
  fprintf(out, "%s %.4f %.4f\n", name, times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
}
