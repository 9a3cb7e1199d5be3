/* Preloaded into a program. Shifts its wall clock ahead by the seconds in the file named by
   STEPPED_CLOCK. Allocates nothing: libfaketime, which does, deadlocks with Redis's allocator
   (jemalloc) at the start. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long ahead_seconds(void) {
  const char *path = getenv("STEPPED_CLOCK");
  char text[32];
  long length, file = path == NULL ? -1 : syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  length = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  text[length < 0 ? 0 : length] = '\0';
  return atol(text);
}

int clock_gettime(clockid_t clock, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += ahead_seconds();
  return (int)failed;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  struct timespec precise;
  (void)zone;
  if (clock_gettime(CLOCK_REALTIME, &precise) != 0) return -1;
  now->tv_sec = precise.tv_sec;
  now->tv_usec = precise.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *where) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (where != NULL) *where = now.tv_sec;
  return now.tv_sec;
}
