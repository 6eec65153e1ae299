/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* A thread for calls that wait for the agent. They are done in turn, and end on the thread of the event loop. */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

/** Jobs that were added and have not ended; more are refused. */
#define JOBS_MOST 64

struct job {
  /** runs on the worker's thread */
  void (*work)(struct job *job);
  /** runs on the thread of the loop, and frees the job */
  void (*done)(struct job *job);
  struct job *next;
};

struct worker {
  pthread_t thread;
  bool has_thread, is_ending;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  struct job *waiting, *finished;
  unsigned count;
  int descriptor;
  sd_event_source *source;
};

/** Prepares the worker; its thread begins with the first job. Returns 0, or a negative errno. */
int worker_prepare(struct worker *worker, sd_event *loop);
/** Adds a job, owned by the worker until `done` runs. Returns false, and leaves it, if there are too many. */
bool worker_add(struct worker *worker, struct job *job);
/** Waits for the job that runs, which segue_app_close has ended. Jobs that have not begun are done without work. */
void worker_end(struct worker *worker);
/** Begins a thread with a small stack and all signals blocked. */
int thread_begin(pthread_t *thread, void *(*function)(void *), void *context);

#endif
