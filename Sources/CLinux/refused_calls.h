/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
// A seccomp filter of calls that the agent's process has no use for (docs/agent.md, A28). No logic besides.
#pragma once

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define LINUX_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define LINUX_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
enum {
  linux_new_namespaces = 0x80 | 0x20000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
};

/**
 * Has the kernel refuse these calls with EPERM to this thread and those that it starts; 0 or -1. All other calls are
 * allowed. Signals may go to this process only. Needs linux_refuse_new_privileges.
 */
static inline int linux_refuse_calls(void) {
#ifdef LINUX_ARCHITECTURE
  static const uint32_t refused[] = {
      SYS_ptrace,
      SYS_process_vm_readv,
      SYS_process_vm_writev,
      SYS_tkill,
      SYS_rt_sigqueueinfo,
      SYS_rt_tgsigqueueinfo,
      SYS_add_key,
      SYS_request_key,
      SYS_keyctl,
      SYS_bpf,
      SYS_userfaultfd,
      SYS_unshare,
      SYS_setns,
      SYS_mount,
      SYS_umount2,
      SYS_pivot_root,
      SYS_chroot,
      SYS_perf_event_open,
      424 /* pidfd_send_signal */,
      425 /* io_uring_setup */,
      428 /* open_tree */,
      429 /* move_mount */,
      430 /* fsopen */,
      432 /* fsmount */,
      438 /* pidfd_getfd */,
      442 /* mount_setattr */,
  };
  enum { refusal = SECCOMP_RET_ERRNO | EPERM, count = sizeof refused / sizeof *refused };
  struct sock_filter code[64];
  unsigned short end = 0;
#define PUT(...) code[end++] = (struct sock_filter)__VA_ARGS__
#define LOAD(field) PUT(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field)))
#define RETURN(what) PUT(BPF_STMT(BPF_RET | BPF_K, what))
  LOAD(arch);
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, LINUX_ARCHITECTURE, 1, 0));
  RETURN(refusal);
  LOAD(nr);
  // The calls of x32 have numbers of their own.
  PUT(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  RETURN(refusal);
  // The C library then uses clone, whose flags a filter can see.
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 435 /* clone3 */, 0, 1));
  RETURN(SECCOMP_RET_ERRNO | ENOSYS);
  for (unsigned i = 0; i < count; i++)
    PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], (uint8_t)(count - i + 8), 0));
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  // The lower half of an argument: all that the kernel uses of these.
  LOAD(args[0]);
  PUT(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, linux_new_namespaces, 6, 0));
  RETURN(SECCOMP_RET_ALLOW);
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kill, 1, 0));
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 2));
  LOAD(args[0]);
  PUT(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1));
  RETURN(SECCOMP_RET_ALLOW);
  RETURN(refusal);
#undef PUT
#undef LOAD
#undef RETURN
  struct sock_fprog program = {.len = end, .filter = code};
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
#else
  errno = ENOSYS;
  return -1;
#endif
}
