/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "worker.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

/** Bytes of stack: the least that a calling thread needs is 64 KiB (segue.h, "LIMITS OF THE SYSTEM"). */
#define STACK_SIZE (128 * 1024)

int thread_begin(pthread_t *thread, void *(*function)(void *), void *context) {
  pthread_attr_t attributes;
  sigset_t all, former;
  int result = pthread_attr_init(&attributes);
  if (result != 0)
    return result;
  pthread_attr_setstacksize(&attributes, STACK_SIZE);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former);
  result = pthread_create(thread, &attributes, function, context);
  pthread_sigmask(SIG_SETMASK, &former, NULL);
  pthread_attr_destroy(&attributes);
  return result;
}

/** Takes the first of a list. */
static struct job *take(struct job **list) {
  struct job *job = *list;
  if (job)
    *list = job->next;
  return job;
}

static void append(struct job **list, struct job *job) {
  while (*list)
    list = &(*list)->next;
  job->next = NULL;
  *list = job;
}

static void *run(void *context) {
  struct worker *worker = context;
  const uint64_t one = 1;
  pthread_mutex_lock(&worker->mutex);
  while (!worker->is_ending) {
    struct job *job = take(&worker->waiting);
    if (!job) {
      pthread_cond_wait(&worker->changed, &worker->mutex);
      continue;
    }
    pthread_mutex_unlock(&worker->mutex);
    job->work(job);
    pthread_mutex_lock(&worker->mutex);
    append(&worker->finished, job);
    if (write(worker->descriptor, &one, sizeof one) < 0)
      break;
  }
  pthread_mutex_unlock(&worker->mutex);
  return NULL;
}

/** Ends the jobs that were worked at. */
static int finish(sd_event_source *source, int descriptor, uint32_t events, void *context) {
  struct worker *worker = context;
  uint64_t count;
  (void)source, (void)events;
  if (read(descriptor, &count, sizeof count) < 0)
    return 0;
  for (;;) {
    pthread_mutex_lock(&worker->mutex);
    struct job *job = take(&worker->finished);
    if (job)
      worker->count--;
    pthread_mutex_unlock(&worker->mutex);
    if (!job)
      return 0;
    job->done(job);
  }
}

int worker_prepare(struct worker *worker, sd_event *loop) {
  pthread_mutex_init(&worker->mutex, NULL);
  pthread_cond_init(&worker->changed, NULL);
  worker->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (worker->descriptor < 0)
    return -errno;
  return sd_event_add_io(loop, &worker->source, worker->descriptor, EPOLLIN, finish, worker);
}

bool worker_add(struct worker *worker, struct job *job) {
  if (!worker->has_thread)
    worker->has_thread = thread_begin(&worker->thread, run, worker) == 0;
  pthread_mutex_lock(&worker->mutex);
  bool has_room = worker->has_thread && worker->count < JOBS_MOST;
  if (has_room) {
    append(&worker->waiting, job);
    worker->count++;
    pthread_cond_signal(&worker->changed);
  }
  pthread_mutex_unlock(&worker->mutex);
  return has_room;
}

void worker_end(struct worker *worker) {
  pthread_mutex_lock(&worker->mutex);
  worker->is_ending = true;
  pthread_cond_signal(&worker->changed);
  pthread_mutex_unlock(&worker->mutex);
  if (worker->has_thread)
    pthread_join(worker->thread, NULL);
  for (struct job *job; (job = take(&worker->finished)) || (job = take(&worker->waiting));)
    job->done(job);
  sd_event_source_disable_unref(worker->source);
  if (worker->descriptor >= 0)
    close(worker->descriptor);
}
