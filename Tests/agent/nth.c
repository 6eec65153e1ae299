/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Runs a program, and kills it (SIGKILL) at its n-th system call, of whichever thread, before the call is made.
 *
 *     nth N FILE [--child] PROGRAM [ARGUMENT]...
 *
 * Calls count from the moment at which FILE exists. --child: those of the first process that it forks, which is killed
 * in its place. Says "MILLISECONDS fault killed in call NUMBER" or, at the end, "MILLISECONDS made COUNT calls", and
 * ends as the program does. Other processes that the program starts are not affected. */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SYSTEM_CALL = SIGTRAP | 0x80 };

static void say(const char *format, long number) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  printf("%.3f ", (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6);
  printf(format, number);
  fflush(stdout);
}

/** The process of a thread; 0: it is gone. */
static pid_t process_of(pid_t thread) {
  char path[64], line[256];
  pid_t process = 0;
  snprintf(path, sizeof path, "/proc/%d/status", thread);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file) && sscanf(line, "Tgid: %d", &process) != 1) {
  }
  if (file)
    fclose(file);
  return process;
}

/** Whether the thread enters a system call now; its number. */
static bool enters(pid_t thread, long *call) {
  struct __ptrace_syscall_info info;
  if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) <= 0 || info.op != PTRACE_SYSCALL_INFO_ENTRY)
    return false;
  *call = (long)info.entry.nr;
  return true;
}

int main(int count, char **arguments) {
  if (count < 4)
    return 2;
  long left = atol(arguments[1]), made = 0, call = 0;
  const char *file = arguments[2];
  bool isChild = strcmp(arguments[3], "--child") == 0, isCounting = false;
  char **program = arguments + 3 + isChild;
  pid_t first = fork();
  if (first == 0) {
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    raise(SIGSTOP);
    execvp(*program, program);
    _exit(127);
  }
  int status, result = 0;
  waitpid(first, &status, 0);
  ptrace(PTRACE_SETOPTIONS, first, NULL,
         PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
             PTRACE_O_TRACEEXEC);
  ptrace(PTRACE_SYSCALL, first, NULL, NULL);
  pid_t victim = isChild ? 0 : first;
  for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0 || errno == EINTR;) {
    if (thread < 0)
      continue;
    if (!WIFSTOPPED(status)) {
      if (thread == first)
        result = status;
      if (thread == victim && left > 0)
        say("made %ld calls\n", made);
      continue;
    }
    int number = WSTOPSIG(status), event = status >> 16;
    pid_t process = process_of(thread);
    if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK) {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, thread, NULL, &child);
      if (isChild && victim == 0 && process == first)
        victim = (pid_t)child;
    } else if (process != 0 && process != victim && process != first) {
      // Not one of ours: it has its first stop.
      ptrace(PTRACE_DETACH, thread, NULL, NULL);
      continue;
    } else if (number == SYSTEM_CALL && process == victim && enters(thread, &call)) {
      isCounting = isCounting || access(file, F_OK) == 0;
      made += isCounting;
      if (isCounting && left > 0 && --left == 0) {
        say("fault killed in call %ld\n", call);
        kill(victim, SIGKILL);
      }
    }
    bool isSignal = number != SYSTEM_CALL && event == 0 && number != SIGSTOP && number != SIGTRAP;
    ptrace(PTRACE_SYSCALL, thread, NULL, isSignal ? number : 0);
  }
  if (WIFSIGNALED(result)) {
    signal(WTERMSIG(result), SIG_DFL);
    raise(WTERMSIG(result));
  }
  return WEXITSTATUS(result);
}
