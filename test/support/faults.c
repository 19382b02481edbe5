/*
 * Makes chosen file calls of the process it is preloaded into fail, or kills the process at one of them. The rules stand in a file
 * that is mapped and shared with the test (`faults.ts` writes it), so that they change while the process runs.
 * Children are left alone. What libc calls inside itself, and pages that SQLite has mapped, cannot be reached.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

/* In the order of `CALLS` in faults.ts. */
enum {
  OPEN_READ = 1 << 0, OPEN_WRITE = 1 << 1, READ = 1 << 2, WRITE = 1 << 3, SYNC = 1 << 4, RENAME = 1 << 5, LINK = 1 << 6,
  UNLINK = 1 << 7, MKDIR = 1 << 8, RMDIR = 1 << 9, TRUNCATE = 1 << 10, CLOSE = 1 << 11, STAT = 1 << 12, LIST = 1 << 13,
  CHANGE = 1 << 14
};
static const char *const NAMES[] = {"open-read", "open-write", "read",  "write", "sync", "rename", "link",  "unlink",
                                    "mkdir",     "rmdir",      "truncate", "close", "stat", "list",   "change"};

/* 512 bytes, as `faults.ts` writes it. */
struct rule {
  uint32_t active, calls, first, times, error, kills, seen, hits, thread;
  char within[252], ends[112], except[112];
};
enum { RULES = 96, ANY_THREAD = 0, MAIN_THREAD = 1 };

static struct rule *rules;
static int report = -1;
static long (*real_syscall)(long, ...);

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULTS_FILE");
  real_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
  if (!file) return;
  int fd = (int)real_syscall(SYS_openat, AT_FDCWD, file, O_RDWR | O_CLOEXEC, 0);
  void *page = fd < 0 ? MAP_FAILED : mmap(NULL, RULES * sizeof(struct rule), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (page == MAP_FAILED) {
    fprintf(stderr, "faults.c: %s: %s\n", file, strerror(errno));
    _exit(99);
  }
  real_syscall(SYS_close, fd);
  char log[4096];
  snprintf(log, sizeof log, "%s.log", file);
  report = (int)real_syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  unsetenv("LD_PRELOAD");
  unsetenv("FAULTS_FILE");
  rules = page;
}

static uint32_t wanted(void) {
  uint32_t all = 0;
  for (int n = 0; rules && n < RULES; n++)
    if (__atomic_load_n(&rules[n].active, __ATOMIC_ACQUIRE)) all |= rules[n].calls;
  return all;
}

/* Where an open file or folder is by now, with `rest` after it. */
static int place_of(int fd, const char *rest, char *path, size_t size) {
  char link[32];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  long length = real_syscall(SYS_readlinkat, AT_FDCWD, link, path, size - 1);
  if (length < 0) return 0;
  path[length] = 0;
  static const char gone[] = " (deleted)";
  size_t tail = sizeof gone - 1;
  if ((size_t)length > tail && !strcmp(path + length - tail, gone)) path[length - tail] = 0;
  strncat(path, rest, size - strlen(path) - 1);
  return 1;
}

/* Names below an open folder come as /proc/self/fd/<number>/<name>: the daemon's openat. */
static int named(int dir, const char *name, char *path, size_t size) {
  int fd, used = 0;
  if (!name) return 0;
  if (sscanf(name, "/proc/self/fd/%d%n", &fd, &used) == 1 && used > 0) return place_of(fd, name + used, path, size);
  if (name[0] != '/' && dir != AT_FDCWD) {
    char rest[4096];
    snprintf(rest, sizeof rest, "/%s", name);
    return place_of(dir, rest, path, size);
  }
  snprintf(path, size, "%s", name);
  return 1;
}

static int fits(const struct rule *rule, const char *path) {
  size_t ends = strlen(rule->ends), length = strlen(path);
  if (rule->within[0] && !strstr(path, rule->within)) return 0;
  if (rule->except[0] && strstr(path, rule->except)) return 0;
  return ends <= length && !strcmp(path + length - ends, rule->ends);
}

static int is_main(void) { return real_syscall(SYS_gettid) == real_syscall(SYS_getpid); }

/* The error that this call has to fail with, or 0. */
static int look(uint32_t call, const char *path, const char *other) {
  for (int n = 0; n < RULES; n++) {
    struct rule *rule = &rules[n];
    if (!__atomic_load_n(&rule->active, __ATOMIC_ACQUIRE) || !(rule->calls & call)) continue;
    if (!fits(rule, path) && !(other && fits(rule, other))) continue;
    if (rule->thread != ANY_THREAD && is_main() != (rule->thread == MAIN_THREAD)) continue;
    uint32_t seen = __atomic_add_fetch(&rule->seen, 1, __ATOMIC_ACQ_REL);
    if (seen < rule->first || (rule->times && seen >= rule->first + rule->times)) continue;
    if (!rule->error && !rule->kills) continue;
    __atomic_add_fetch(&rule->hits, 1, __ATOMIC_ACQ_REL);
    char line[4400];
    int length = snprintf(line, sizeof line, "%s %u %s\n", NAMES[__builtin_ctz(call)], rule->kills ? 0 : rule->error, path);
    if (report >= 0) real_syscall(SYS_write, report, line, length);
    if (rule->kills) real_syscall(SYS_kill, real_syscall(SYS_getpid), SIGKILL);
    return (int)rule->error;
  }
  return 0;
}

static int at_name(uint32_t call, int dir, const char *name) {
  char path[4400];
  int before = errno;
  int error = (wanted() & call) && named(dir, name, path, sizeof path) ? look(call, path, NULL) : 0;
  errno = error ? error : before;
  return error;
}

static int at_names(uint32_t call, const char *from, const char *to) {
  char one[4400], other[4400];
  int before = errno;
  int there = (wanted() & call) && named(AT_FDCWD, from, one, sizeof one) && named(AT_FDCWD, to, other, sizeof other);
  int error = there ? look(call, one, other) : 0;
  errno = error ? error : before;
  return error;
}

static int at_file(uint32_t call, int fd) {
  char path[4400];
  int before = errno;
  int error = (wanted() & call) && place_of(fd, "", path, sizeof path) && path[0] == '/' ? look(call, path, NULL) : 0;
  errno = error ? error : before;
  return error;
}

#define REAL(name) \
  static __typeof__(&name) real; \
  if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

static uint32_t opening(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC) ? OPEN_WRITE : OPEN_READ; }

#define OPEN(name) \
  int name(const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (at_name(opening(flags), AT_FDCWD, path)) return -1; \
    REAL(name); \
    return real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
  int name(int dir, const char *path, int flags, ...) { \
    va_list rest; \
    va_start(rest, flags); \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
    va_end(rest); \
    if (at_name(opening(flags), dir, path)) return -1; \
    REAL(name); \
    return real(dir, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

/* A call on an open file: its type, its name, the call it counts as, its parameters, and how they are passed on. */
#define ON_FILE(type, name, call, parameters, ...) \
  type name parameters { \
    if (at_file(call, fd)) return -1; \
    REAL(name); \
    return real(__VA_ARGS__); \
  }
ON_FILE(ssize_t, read, READ, (int fd, void *to, size_t size), fd, to, size)
ON_FILE(ssize_t, pread, READ, (int fd, void *to, size_t size, off_t at), fd, to, size, at)
ON_FILE(ssize_t, pread64, READ, (int fd, void *to, size_t size, off64_t at), fd, to, size, at)
ON_FILE(ssize_t, readv, READ, (int fd, const struct iovec *to, int count), fd, to, count)
ON_FILE(ssize_t, preadv, READ, (int fd, const struct iovec *to, int count, off_t at), fd, to, count, at)
ON_FILE(ssize_t, preadv64, READ, (int fd, const struct iovec *to, int count, off64_t at), fd, to, count, at)
ON_FILE(ssize_t, write, WRITE, (int fd, const void *from, size_t size), fd, from, size)
ON_FILE(ssize_t, pwrite, WRITE, (int fd, const void *from, size_t size, off_t at), fd, from, size, at)
ON_FILE(ssize_t, pwrite64, WRITE, (int fd, const void *from, size_t size, off64_t at), fd, from, size, at)
ON_FILE(ssize_t, writev, WRITE, (int fd, const struct iovec *from, int count), fd, from, count)
ON_FILE(ssize_t, pwritev, WRITE, (int fd, const struct iovec *from, int count, off_t at), fd, from, count, at)
ON_FILE(ssize_t, pwritev64, WRITE, (int fd, const struct iovec *from, int count, off64_t at), fd, from, count, at)
ON_FILE(int, fsync, SYNC, (int fd), fd)
ON_FILE(int, fdatasync, SYNC, (int fd), fd)
ON_FILE(int, ftruncate, TRUNCATE, (int fd, off_t size), fd, size)
ON_FILE(int, ftruncate64, TRUNCATE, (int fd, off64_t size), fd, size)
ON_FILE(int, fstat, STAT, (int fd, struct stat *into), fd, into)
ON_FILE(int, fstat64, STAT, (int fd, struct stat64 *into), fd, into)
ON_FILE(int, fchmod, CHANGE, (int fd, mode_t mode), fd, mode)
ON_FILE(int, futimens, CHANGE, (int fd, const struct timespec times[2]), fd, times)

/* Of a file that was written, which may have its last bytes refused by then. The descriptor is gone in any case. */
int close(int fd) {
  int written = (wanted() & CLOSE) && (real_syscall(SYS_fcntl, fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
  int error = written ? at_file(CLOSE, fd) : 0;
  REAL(close);
  int result = real(fd);
  if (!error) return result;
  errno = error;
  return -1;
}

#define BY_NAME(name, call, dir, parameters, ...) \
  int name parameters { \
    if (at_name(call, dir, path)) return -1; \
    REAL(name); \
    return real(__VA_ARGS__); \
  }
BY_NAME(unlink, UNLINK, AT_FDCWD, (const char *path), path)
BY_NAME(unlinkat, UNLINK, dir, (int dir, const char *path, int flags), dir, path, flags)
BY_NAME(remove, UNLINK, AT_FDCWD, (const char *path), path)
BY_NAME(rmdir, RMDIR, AT_FDCWD, (const char *path), path)
BY_NAME(mkdir, MKDIR, AT_FDCWD, (const char *path, mode_t mode), path, mode)
BY_NAME(truncate, TRUNCATE, AT_FDCWD, (const char *path, off_t size), path, size)
BY_NAME(stat, STAT, AT_FDCWD, (const char *path, struct stat *into), path, into)
BY_NAME(stat64, STAT, AT_FDCWD, (const char *path, struct stat64 *into), path, into)
BY_NAME(lstat, STAT, AT_FDCWD, (const char *path, struct stat *into), path, into)
BY_NAME(lstat64, STAT, AT_FDCWD, (const char *path, struct stat64 *into), path, into)
BY_NAME(access, STAT, AT_FDCWD, (const char *path, int mode), path, mode)
BY_NAME(chmod, CHANGE, AT_FDCWD, (const char *path, mode_t mode), path, mode)
BY_NAME(utimensat, CHANGE, dir, (int dir, const char *path, const struct timespec times[2], int flags), dir, path, times, flags)
BY_NAME(utimes, CHANGE, AT_FDCWD, (const char *path, const struct timeval times[2]), path, times)

#define FROM_TO(name, call) \
  int name(const char *from, const char *to) { \
    if (at_names(call, from, to)) return -1; \
    REAL(name); \
    return real(from, to); \
  }
FROM_TO(rename, RENAME)
FROM_TO(link, LINK)
FROM_TO(symlink, LINK)

DIR *opendir(const char *path) {
  if (at_name(LIST, AT_FDCWD, path)) return NULL;
  REAL(opendir);
  return real(path);
}

int scandir64(const char *path, struct dirent64 ***into, int (*filter)(const struct dirent64 *),
              int (*compare)(const struct dirent64 **, const struct dirent64 **)) {
  if (at_name(LIST, AT_FDCWD, path)) return -1;
  REAL(scandir64);
  return real(path, into, filter, compare);
}

/* libuv looks at files, and closes them, by the number of the call. */
long syscall(long number, ...) {
  va_list rest;
  va_start(rest, number);
  long a = va_arg(rest, long), b = va_arg(rest, long), c = va_arg(rest, long);
  long d = va_arg(rest, long), e = va_arg(rest, long), f = va_arg(rest, long);
  va_end(rest);
  if (number == SYS_statx) {
    const char *path = (const char *)b;
    if (path && path[0] ? at_name(STAT, (int)a, path) : at_file(STAT, (int)a)) return -1;
  }
  if (number == SYS_close) return close((int)a);
  return real_syscall(number, a, b, c, d, e, f);
}
