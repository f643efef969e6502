/* The floor of the browser leg: a native messaging host that does nothing but ask and wait, timing each round trip.
   argv[1]: file for the results. The extension answers three kinds of question, told apart by their first letter. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 300, WARM = 30, FRAME_MAX = 1 << 20 };

static int read_all(char *to, size_t n) {
  while (n > 0) {
    ssize_t got = read(0, to, n);
    if (got <= 0) return -1;
    to += got;
    n -= (size_t)got;
  }
  return 0;
}

static int round_trip(const char *json, char *answer) {
  char frame[64];
  uint32_t n = (uint32_t)strlen(json);
  memcpy(frame, &n, 4);
  memcpy(frame + 4, json, n);
  if (write(1, frame, n + 4) != (ssize_t)(n + 4)) return -1;
  if (read_all((char *)&n, 4) < 0 || n > FRAME_MAX) return -1;
  return read_all(answer, n);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  static const struct { const char *name, *json; } kinds[] = {
      {"echo", "\"e\""}, {"tabs", "\"t\""}, {"content", "\"c\""}};
  static char answer[FRAME_MAX];
  static double times[ROUNDS];
  if (argc < 2) return 2;
  FILE *out = fopen(argv[1], "w");
  if (!out) return 2;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (int i = -WARM; i < ROUNDS; i++) {
      double begun = now_ms();
      if (round_trip(kinds[k].json, answer) < 0) return 1;
      if (i >= 0) times[i] = now_ms() - begun;
    }
    qsort(times, ROUNDS, sizeof *times, by_size);
    fprintf(out, "%s %.4f %.4f\n", kinds[k].name, times[ROUNDS / 2], times[ROUNDS * 95 / 100]);
  }
  fprintf(out, "done 0 0\n");
  fclose(out);
  return round_trip("\"q\"", answer) < 0 ? 0 : 0;
}
