#ifndef JOSTLE_CTESTSUPPORT_H
#define JOSTLE_CTESTSUPPORT_H

// A pipe that no child of another thread can inherit: the C function is `pipe2` with O_CLOEXEC, which is a GNU extension.
int CTestSupport_pipe(int ends[2]);

// Asks for a buffer of this many bytes; the system may refuse.
void CTestSupport_enlarge_pipe(int fd, int bytes);

// The strings of our environment, ended by a null pointer.
char *const *CTestSupport_environment(void);

// Waits until no process has this pid; 0 when it is so, -1 with errno ETIMEDOUT or another. Works for any process.
int CTestSupport_wait_for_pid(int pid, int milliseconds);

#endif
