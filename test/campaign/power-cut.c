/*
 * `power-cut <mounted folder>`: with the first byte on standard input its file system stops, and forgets what it has not written yet,
 * as if the power had gone.
 */
#include <fcntl.h>
#include <linux/ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define FS_IOC_SHUTDOWN _IOR('X', 125, uint32_t)
enum { WITHOUT_WRITING_THE_LOG = 2 };

int main(int count, char **words) {
  uint32_t how = WITHOUT_WRITING_THE_LOG;
  int fd = count == 2 ? open(words[1], O_RDONLY) : -1;
  char byte;
  if (fd >= 0 && read(0, &byte, 1) == 1 && ioctl(fd, FS_IOC_SHUTDOWN, &how) == 0) return 0;
  perror("power-cut");
  return 1;
}
