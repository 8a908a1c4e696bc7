#include "CTestSupport.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

int CTestSupport_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

void CTestSupport_enlarge_pipe(int fd, int bytes) {
    (void)fcntl(fd, F_SETPIPE_SZ, bytes);
}

char *const *CTestSupport_environment(void) {
    return environ;
}

int CTestSupport_wait_for_pid(int pid, int milliseconds) {
    // glibc 2.36 has a function for this, and no header that Debian 12 could include beside <signal.h>.
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0) return errno == ESRCH ? 0 : -1;
    struct pollfd polled = {.fd = fd, .events = POLLIN};
    int count = poll(&polled, 1, milliseconds);
    if (count == 0) errno = ETIMEDOUT;
    int error = errno;
    close(fd);
    errno = error;
    return count > 0 ? 0 : -1;
}
