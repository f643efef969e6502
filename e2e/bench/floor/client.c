/* A client that does nothing but call tab_list and wait, timing each round trip: the bare host's counterpart, so that what
   is compared is genkan and not the runtime of a client. argv[1]: the genkan program. */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "times.h"

enum { LINE_MAX_BYTES = 1 << 20 };

static const char CALL[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"tab_list\",\"arguments\":{},"
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";

/* One call and the line that answers it; -1 where the server has gone or refused. */
static int call(int to, int from, char *line) {
  if (write(to, CALL, sizeof CALL - 1) != (ssize_t)(sizeof CALL - 1)) return -1;
  size_t length = 0;
  while (length == 0 || line[length - 1] != '\n') {
    ssize_t got = read(from, line + length, LINE_MAX_BYTES - 1 - length);
    if (got <= 0) return -1;
    length += (size_t)got;
  }
  line[length] = 0;
  return strstr(line, "\"isError\":true") == NULL ? 0 : -1;
}

int main(int argc, char **argv) {
  static char line[LINE_MAX_BYTES];
  static double times[ROUNDS];
  int in[2], out[2];
  if (argc < 2 || pipe(in) < 0 || pipe(out) < 0) return 2;
  pid_t server = fork();
  if (server == 0) {
    dup2(in[0], 0);
    dup2(out[1], 1);
    close(in[0]), close(in[1]), close(out[0]), close(out[1]);
    execl(argv[1], argv[1], (char *)NULL);
    _exit(127);
  }
  close(in[0]), close(out[1]);
  for (int i = -WARM; i < ROUNDS; i++) {
    double begun = now_ms();
    if (call(in[1], out[0], line) < 0) return fprintf(stderr, "refused: %s\n", line), 1;
    if (i >= 0) times[i] = now_ms() - begun;
  }
  print_times(stdout, "tab_list", times);
  close(in[1]);
  return waitpid(server, NULL, 0) == server ? 0 : 1;
}
