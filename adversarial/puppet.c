/* The strongest same-user attacker of the bridge: a process whose running file is the genuine program and whose every
 * instruction is ours. It debugs a process of its own, lets it become the program, writes code over the first
 * instruction and lets go; the kernel goes on naming the genuine file. With it the suite says anything to a program
 * that speaks to nobody but itself; what it may say then is refused by other layers or stated as not stopped.
 *
 *   puppet PROGRAM l SOCKET CONTROL    listen at SOCKET; each connection is carried to a new one to CONTROL
 *   puppet PROGRAM d SOCKET CONTROL    connect to SOCKET, and carry
 *   puppet PROGRAM h SOCKET CONTROL    the same, but hand the connection on to a child that carries
 *   puppet PROGRAM g IN                copy descriptor IN to standard output, as a gateway of ours would
 *   puppet - d SOCKET CONTROL          carry as this foreign program itself
 *   puppet - x SOCKET CONTROL PROGRAM  connect, hand the connection to a child that carries, become PROGRAM
 *   puppet - m PROGRAM ARGUMENTS...    run PROGRAM from a copy in memory
 *
 * Linux on x86-64. Compiled by the suite: cc -Os -ffreestanding -fno-builtin -fno-jump-tables ...
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everything in this section is copied over the program: no library, no constants outside of the code. */
#define PUPPET __attribute__((section("puppet"), used, noinline)) static

enum { LINKS = 16, PIECE = 65536 };

/* Defined first: its first byte lies on the program's first instruction, with the stack as at any start. */
__attribute__((section("puppet"), used, naked)) void puppet_entry(void) {
  __asm__("mov %rsp, %rdi; and $-16, %rsp; call puppet_main");
}

PUPPET long sys(long n, long a, long b, long c, long d, long e, long f) {
  long r;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  register long r9 __asm__("r9") = f;
  __asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return r;
}

PUPPET void leave(int code) {
  for (;;) sys(SYS_exit_group, code, 0, 0, 0, 0, 0);
}

PUPPET int reach(char *path, int listens) {
  volatile struct sockaddr_un address;
  for (unsigned i = 0; i < sizeof address; i++) ((volatile char *)&address)[i] = 0;
  address.sun_family = AF_UNIX;
  for (int i = 0; path[i] && i < 107; i++) address.sun_path[i] = path[i];
  long s = sys(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, 0, 0, 0);
  int on = 1; /* as the program sets it, or our messages name nobody and are refused for that alone */
  sys(SYS_setsockopt, s, SOL_SOCKET, SO_PASSCRED, (long)&on, sizeof on, 0);
  long done = sys(listens ? SYS_bind : SYS_connect, s, (long)&address, sizeof address, 0, 0, 0);
  if (s < 0 || done < 0) leave(3);
  if (listens && sys(SYS_listen, s, 64, 0, 0, 0, 0) < 0) leave(4);
  return s;
}

struct way {
  int from, to, length, start, ended;
  char bytes[PIECE];
};

PUPPET void start_way(struct way *w, int from, int to) {
  w->from = from;
  w->to = to;
  w->length = w->start = w->ended = 0;
}

PUPPET void move(struct way *w, int readable, int writable) {
  if (!w->length && !w->ended && readable) {
    long n = sys(SYS_recvfrom, w->from, (long)w->bytes, PIECE, MSG_DONTWAIT, 0, 0);
    if (n == -EAGAIN || n == -EINTR) return;
    w->start = 0;
    w->length = n > 0 ? n : 0;
    if (n <= 0) {
      w->ended = 1;
      sys(SYS_shutdown, w->to, SHUT_WR, 0, 0, 0, 0);
    }
  } else if (w->length && writable) {
    long n = sys(SYS_sendto, w->to, (long)(w->bytes + w->start), w->length, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
    if (n == -EAGAIN || n == -EINTR) return;
    if (n < 0) {
      w->ended = 1;
      w->length = 0;
      sys(SYS_shutdown, w->from, SHUT_RD, 0, 0, 0, 0);
    } else {
      w->start += n;
      w->length -= n;
    }
  }
}

/* Carries bytes between each pair of connections until all are over and no new ones can come. */
PUPPET void carry(int listener, int first, char *control) {
  struct way *ways = (struct way *)sys(SYS_mmap, 0, sizeof(struct way) * 2 * LINKS, PROT_READ | PROT_WRITE,
                                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct pollfd polled[4 * LINKS + 1];
  for (int i = 0; i < 2 * LINKS; i++) ways[i].from = -1;
  if (first >= 0) {
    int far = reach(control, 0);
    start_way(&ways[0], first, far);
    start_way(&ways[1], far, first);
  }
  for (;;) {
    int open = listener >= 0;
    for (int i = 0; i < 2 * LINKS; i += 2) {
      struct way *w = &ways[i];
      if (w->from >= 0 && w[0].ended && w[1].ended && !w[0].length && !w[1].length) {
        sys(SYS_close, w[0].from, 0, 0, 0, 0, 0);
        sys(SYS_close, w[1].from, 0, 0, 0, 0, 0);
        w[0].from = w[1].from = -1;
      }
      open |= w->from >= 0;
    }
    if (!open) leave(0);
    for (int i = 0; i < 2 * LINKS; i++) {
      struct way *w = &ways[i];
      int reads = w->from >= 0 && !w->length && !w->ended, writes = w->from >= 0 && w->length;
      polled[2 * i].fd = reads ? w->from : -1;
      polled[2 * i].events = POLLIN;
      polled[2 * i + 1].fd = writes ? w->to : -1;
      polled[2 * i + 1].events = POLLOUT;
      polled[2 * i].revents = polled[2 * i + 1].revents = 0;
    }
    polled[4 * LINKS].fd = listener;
    polled[4 * LINKS].events = POLLIN;
    polled[4 * LINKS].revents = 0;
    sys(SYS_poll, (long)polled, 4 * LINKS + 1, -1, 0, 0, 0);
    for (int i = 0; i < 2 * LINKS; i++) move(&ways[i], polled[2 * i].revents, polled[2 * i + 1].revents);
    for (int i = 0; polled[4 * LINKS].revents && i < 2 * LINKS; i += 2) {
      if (ways[i].from >= 0) continue;
      int near = sys(SYS_accept4, listener, 0, 0, SOCK_CLOEXEC, 0, 0);
      if (near < 0) break;
      int far = reach(control, 0);
      start_way(&ways[i], near, far);
      start_way(&ways[i + 1], far, near);
      break;
    }
  }
}

PUPPET void copy(char *number) {
  int from = 0;
  char bytes[4096];
  for (; *number; number++) from = from * 10 + *number - '0';
  for (;;) {
    long n = sys(SYS_read, from, (long)bytes, sizeof bytes, 0, 0, 0);
    if (n <= 0) leave(0);
    sys(SYS_write, 1, (long)bytes, n, 0, 0, 0);
  }
}

__attribute__((section("puppet"), used, noinline)) void puppet_main(long *stack) {
  char **argument = (char **)(stack + 1);
  char mode = argument[1][0];
  char ready = '\n';
  if (mode == 'g') copy(argument[2]);
  int socket = reach(argument[2], mode == 'l');
  sys(SYS_write, 1, (long)&ready, 1, 0, 0, 0);
  if (mode == 'h' && sys(SYS_fork, 0, 0, 0, 0, 0, 0)) {
    for (;;) sys(SYS_pause, 0, 0, 0, 0, 0, 0);
  }
  if (mode == 'l') carry(socket, -1, argument[3]);
  carry(-1, socket, argument[3]);
}

extern char __start_puppet[], __stop_puppet[];

static void die(const char *what) {
  perror(what);
  _exit(2);
}

/* In the debugging process: waits until the other has become the program, then writes over it. */
static void debug(pid_t target, int ready) {
  if (ptrace(PTRACE_SEIZE, target, 0, PTRACE_O_TRACEEXEC)) die("seize");
  if (write(ready, "x", 1) != 1) die("write");
  for (int status = 0; status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8);) {
    if (waitpid(target, &status, __WALL) < 0 || WIFEXITED(status)) die("wait");
    if (WIFSTOPPED(status) && status >> 8 != (SIGTRAP | PTRACE_EVENT_EXEC << 8))
      ptrace(PTRACE_CONT, target, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
  }
  struct user_regs_struct registers;
  if (ptrace(PTRACE_GETREGS, target, 0, &registers)) die("registers");
  for (long at = 0; at < __stop_puppet - __start_puppet; at += sizeof(long)) {
    long word = 0;
    long left = __stop_puppet - __start_puppet - at;
    memcpy(&word, __start_puppet + at, left < (long)sizeof word ? left : (long)sizeof word);
    if (ptrace(PTRACE_POKETEXT, target, registers.rip + at, word)) die("poke");
  }
  if (ptrace(PTRACE_DETACH, target, 0, 0)) die("detach");
  _exit(0);
}

static void become_puppet(char **argument) {
  int ready[2];
  char byte;
  if (pipe2(ready, O_CLOEXEC)) die("pipe");
  pid_t us = getpid(), debugger = fork();
  if (!debugger) {
    close(ready[0]);
    debug(us, ready[1]);
  }
  /* Where only ancestors may debug: this one may. */
  prctl(PR_SET_PTRACER, debugger, 0, 0, 0);
  close(ready[1]);
  if (read(ready[0], &byte, 1) != 1) die("the debugger");
  execv(argument[0], argument);
  die("exec");
}

/* Connects as this program, leaves the connection with a child, and is the genuine program from then on. */
static void connect_then_exec(char **argument) {
  int socket = reach(argument[2], 0);
  if (!fork()) {
    carry(-1, socket, argument[3]);
  }
  execl(argument[4], argument[4], "--native-host", NULL);
  die("exec");
}

static void run_from_memory(char **argument, char **environment) {
  int from = open(argument[2], O_RDONLY), to = memfd_create("genkan", MFD_CLOEXEC);
  static char bytes[1 << 20];
  long n;
  while ((n = read(from, bytes, sizeof bytes)) > 0)
    if (write(to, bytes, n) != n) die("write");
  fexecve(to, argument + 2, environment);
  die("fexecve");
}

int main(int count, char **argument, char **environment) {
  if (count < 4) return 2;
  if (strcmp(argument[1], "-")) {
    become_puppet(argument + 1);
  } else if (argument[2][0] == 'm') {
    run_from_memory(argument + 1, environment);
  } else if (argument[2][0] == 'x') {
    connect_then_exec(argument + 1);
  } else {
    int socket = reach(argument[3], 0);
    if (write(1, "\n", 1) != 1) die("write");
    carry(-1, socket, argument[4]);
  }
  return 0;
}
