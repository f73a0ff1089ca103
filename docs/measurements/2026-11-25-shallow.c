/* How many calls a bare server answers over many connections with one call outstanding each: with epoll, and with
 * io_uring. event-loops.md has the results.
 *
 *   cc -O2 -o shallow 2026-11-25-shallow.c -luring     (Debian: liburing-dev)
 *   shallow epoll|uring|uring-recv CONNECTIONS SECONDS
 *
 * epoll: one recv and one send for each call. uring: multishot receives into a ring of buffers, registered sockets,
 * all sends of a batch submitted by the system call that waits for the next one. uring-recv: receives like uring,
 * sends like epoll. The server is pinned to processor 0, the client to 1. Calls and replies have 128 bytes. */
#define _GNU_SOURCE
#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 128, EVENTS = 256, BUFFERS = 4096, BUFFER_BYTES = 4096, ENTRIES = 4096, NO_SOCKET = -1 };

static volatile sig_atomic_t stop;
static int connections, *sockets;
static unsigned long calls;
static char reply[BUFFER_BYTES], input[65536];

static void on_term(int signal) { (void)signal; stop = 1; }

static void fail(const char *what) { perror(what); exit(1); }

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

static void pin(int processor) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(processor, &set);
  if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

static int watch_all(void) {
  int epoll = epoll_create1(0);
  for (int i = 0; i < connections; i++) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = sockets[i]};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, sockets[i], &event)) fail("epoll_ctl");
  }
  return epoll;
}

/* Receives and sends once; returns how many messages came, -1 at the end. */
static int turn(int socket, const char *answer) {
  ssize_t count = recv(socket, input, sizeof input, MSG_DONTWAIT);
  if (count <= 0) return -1;
  count -= count % BYTES;
  if (send(socket, answer, count, MSG_NOSIGNAL | MSG_DONTWAIT) != count) return -1;
  return count / BYTES;
}

static void serve_epoll(void) {
  int epoll = watch_all();
  struct epoll_event events[EVENTS];
  while (!stop) {
    int count = epoll_wait(epoll, events, EVENTS, 100);
    for (int i = 0; i < count && !stop; i++) {
      int messages = turn(events[i].data.fd, reply);
      if (messages < 0) stop = 1; else calls += messages;
    }
  }
}

static struct io_uring_sqe *next_entry(struct io_uring *ring) {
  struct io_uring_sqe *entry = io_uring_get_sqe(ring);
  if (entry) return entry;
  io_uring_submit(ring);
  return io_uring_get_sqe(ring);
}

static void begin_receive(struct io_uring *ring, int index) {
  struct io_uring_sqe *entry = next_entry(ring);
  io_uring_prep_recv_multishot(entry, index, NULL, 0, 0);
  entry->flags |= IOSQE_BUFFER_SELECT | IOSQE_FIXED_FILE;
  entry->buf_group = 0;
  io_uring_sqe_set_data64(entry, index);
}

static void send_reply(struct io_uring *ring, int index, int bytes) {
  struct io_uring_sqe *entry = next_entry(ring);
  io_uring_prep_send(entry, index, reply, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
  entry->flags |= IOSQE_CQE_SKIP_SUCCESS | IOSQE_FIXED_FILE;
  io_uring_sqe_set_data64(entry, NO_SOCKET);
}

static void serve_uring(int sends_in_ring) {
  struct io_uring ring;
  struct io_uring_params params = {
      .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_CQSIZE,
      .cq_entries = 2 * ENTRIES};
  if (io_uring_queue_init_params(ENTRIES, &ring, &params)) fail("io_uring_setup");
  struct io_uring_buf_ring *free_buffers =
      mmap(NULL, BUFFERS * sizeof(struct io_uring_buf), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct io_uring_buf_reg registration = {.ring_addr = (unsigned long)free_buffers, .ring_entries = BUFFERS};
  if (io_uring_register_buf_ring(&ring, &registration, 0)) fail("buffer ring");
  io_uring_buf_ring_init(free_buffers);
  char *buffers = malloc((size_t)BUFFERS * BUFFER_BYTES);
  for (int i = 0; i < BUFFERS; i++)
    io_uring_buf_ring_add(free_buffers, buffers + i * BUFFER_BYTES, BUFFER_BYTES, i, BUFFERS - 1, i);
  io_uring_buf_ring_advance(free_buffers, BUFFERS);
  if (io_uring_register_files(&ring, sockets, connections)) fail("register files");
  for (int i = 0; i < connections; i++) begin_receive(&ring, i);
  while (!stop) {
    struct __kernel_timespec timeout = {.tv_nsec = 100000000};
    struct io_uring_cqe *done;
    io_uring_submit_and_wait_timeout(&ring, &done, 1, &timeout, NULL);
    unsigned head, seen = 0;
    int returned = 0;
    io_uring_for_each_cqe(&ring, head, done) {
      seen++;
      int index = (int)done->user_data;
      if (index == NO_SOCKET) continue;
      if (done->res <= 0 && done->res != -ENOBUFS) { stop = 1; break; }
      if (done->res > 0) {
        int buffer = done->flags >> IORING_CQE_BUFFER_SHIFT;
        io_uring_buf_ring_add(free_buffers, buffers + buffer * BUFFER_BYTES, BUFFER_BYTES, buffer, BUFFERS - 1,
                              returned++);
        calls += done->res / BYTES;
        if (sends_in_ring) send_reply(&ring, index, done->res);
        else if (send(sockets[index], reply, done->res, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) stop = 1;
      }
      if (!(done->flags & IORING_CQE_F_MORE)) begin_receive(&ring, index);
    }
    if (returned) io_uring_buf_ring_advance(free_buffers, returned);
    io_uring_cq_advance(&ring, seen);
  }
}

static void serve(int listener, const char *mode) {
  pin(0);
  signal(SIGTERM, on_term);
  for (int i = 0, on = 1; i < connections; i++) {
    sockets[i] = accept(listener, NULL, NULL);
    setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  if (!strcmp(mode, "epoll")) serve_epoll();
  else serve_uring(!strcmp(mode, "uring"));
  printf(", %.3f us of the server each\n", seconds(CLOCK_PROCESS_CPUTIME_ID) * 1e6 / calls);
}

static void drive(const struct sockaddr_in *address, double time) {
  pin(1);
  for (int i = 0, on = 1; i < connections; i++) {
    sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(sockets[i], (const struct sockaddr *)address, sizeof *address)) fail("connect");
    setsockopt(sockets[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  int epoll = watch_all();
  for (int i = 0; i < connections; i++) send(sockets[i], reply, BYTES, MSG_NOSIGNAL);
  struct epoll_event events[64];
  double start = seconds(CLOCK_MONOTONIC), now = start;
  for (; now < start + time; now = seconds(CLOCK_MONOTONIC)) {
    int count = epoll_wait(epoll, events, 64, 100);
    for (int i = 0; i < count; i++) {
      int messages = turn(events[i].data.fd, reply);
      if (messages < 0) fail("the server is gone");
      calls += messages;
    }
  }
  printf("%.0f calls/s", calls / (now - start));
  fflush(stdout);
}

int main(int count, char **arguments) {
  if (count != 4) return fprintf(stderr, "usage: shallow epoll|uring|uring-recv CONNECTIONS SECONDS\n"), 2;
  connections = atoi(arguments[2]);
  sockets = malloc(sizeof *sockets * connections);
  struct rlimit files = {connections + 100, connections + 100};
  if (setrlimit(RLIMIT_NOFILE, &files)) fail("setrlimit");
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t length = sizeof address;
  int listener = socket(AF_INET, SOCK_STREAM, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 4096)) fail("listen");
  getsockname(listener, (struct sockaddr *)&address, &length);
  pid_t server = fork();
  if (!server) return serve(listener, arguments[1]), 0;
  drive(&address, atof(arguments[3]));
  kill(server, SIGTERM);
  waitpid(server, NULL, 0);
  return 0;
}
