/* The floor of the browser leg: a native messaging host that does nothing but ask and wait, timing each round trip.
   argv[1]: file for the results. The extension answers three kinds of question, told apart by their first letter. */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "times.h"

enum { FRAME_MAX = 1 << 20 };

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
    print_times(out, kinds[k].name, times);
  }
  fprintf(out, "done 0 0\n");
  fclose(out);
  return round_trip("\"q\"", answer) < 0 ? 0 : 0;
}
