/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* abuse CALLS SEED: makes that many calls from eight threads and from inside callbacks, and releases everything. The
 * seed fixes what each thread draws, but not their interleaving. Exits with 0 if every answer was one that segue.h
 * allows, no callback came after its end, every context was destroyed once, and no handle or descriptor is left. */
#include "abuse.h"
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

enum {
  THREADS = 8,
  TRAIL = 12,
  MOST_THREADS = 4096,
  MOST_FUNCTIONS = 4096,
  MOST_TYPES = 64,
  MOST_REQUESTS = 256,
  LAST_STATUS = 24
};
/** One call in this many comes with a fixture, or with a continuation. */
enum { SCENE_EVERY = 400, HANDOFF_EVERY = 60 };
/** A run that makes no call for so long hangs. */
enum { PATIENCE_SECONDS = 60 };

atomic_bool is_stopping;
atomic_ulong calls_made[MOST_FUNCTIONS], calls_succeeded[MOST_FUNCTIONS];
/** The same of each type of handle, and of each request. */
static atomic_ulong retains_made[MOST_TYPES], retains_succeeded[MOST_TYPES];
static atomic_ulong releases_made[MOST_TYPES], releases_succeeded[MOST_TYPES];
static atomic_ulong requests_made[MOST_REQUESTS], requests_succeeded[MOST_REQUESTS];
atomic_long calls_left;
const char *folder;
static uint64_t seed;

/** A thread that made calls, also the library's own; it stays when the thread has gone. */
struct worker {
  uint64_t random;
  const char *_Atomic trail[TRAIL];
  atomic_uint place;
};
static struct worker *_Atomic workers[MOST_THREADS];
static atomic_uint worker_count;
static _Thread_local struct worker *worker;

static struct worker *me(void) {
  if (!worker) {
    unsigned number = worker_count++;
    worker = calloc(1, sizeof *worker);
    worker->random = seed * 0x2545F4914F6CDD1D + number;
    workers[number % MOST_THREADS] = worker;
  }
  return worker;
}

/** SplitMix64. */
uint64_t draw_word(void) {
  uint64_t word = me()->random += 0x9E3779B97F4A7C15;
  word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9;
  word = (word ^ word >> 27) * 0x94D049BB133111EB;
  return word ^ word >> 31;
}

uint32_t draw(uint32_t bound) { return (uint32_t)((draw_word() >> 32) * bound >> 32); }

void trail(const struct function *function) {
  struct worker *mine = me();
  mine->trail[mine->place++ % TRAIL] = function->name;
}

static void say(const char *text) {
  if (write(2, text, strlen(text)) < 0)
    _exit(3);
}

/** The last calls of each thread, the latest first; safe in a signal handler. */
static void show_trails(void) {
  for (unsigned i = 0; i < worker_count && i < MOST_THREADS; i++) {
    struct worker *other = workers[i];
    if (!other || other->place == 0)
      continue;
    say(other == worker ? "this thread:" : "a thread:");
    unsigned end = other->place;
    for (unsigned back = 1; back <= TRAIL && back <= end; back++) {
      say(" ");
      say(other->trail[(end - back) % TRAIL]);
    }
    say("\n");
  }
}

void fail(const char *what, const char *about) {
  say("abuse: ");
  say(what);
  say(": ");
  say(about);
  say("\n");
  show_trails();
  abort();
}

static void crashed(int number) {
  signal(number, SIG_DFL);
  say("abuse: crashed\n");
  show_trails();
  raise(number);
}

/* One call --------------------------------------------------------------------------------------------------------- */

/** Takes over what a successful call gave. */
static void take_over(struct call *call) {
  for (int i = 0; i < call->function->count; i++) {
    const struct parameter *parameter = &call->function->parameters[i];
    uint64_t given;
    if (parameter->is_in || !call->words[i])
      continue;
    memcpy(&given, call->outputs + i * ROOM, sizeof given);
    if (parameter->role == ROLE_HANDLE && given)
      pool_put(parameter->handle, given);
    else if (parameter->role == ROLE_HANDLES)
      for (size_t place = 0; place < call->words[parameter->length] && place < MOST_OFFERS && call->list[place];
           place++)
        pool_put(parameter->handle, call->list[place]);
    else if (parameter->role == ROLE_STRING ||
             (parameter->role == ROLE_DATA && !parameter->size && call->words[i] != (uintptr_t)call->buffer))
      memory_put(given);
    else if (strcmp(call->function->name, "segue_stream_open") == 0)
      close((int)given); /* perhaps while another thread uses the stream */
  }
}

static void check_failure(struct call *call, segue_status status) {
  const char *name = call->function->name;
  if (status < 0 || status > LAST_STATUS || strcmp(segue_status_name(status), "UNKNOWN") == 0)
    fail("no such status", name);
  for (size_t i = 0; i < sizeof call->outputs; i++)
    if (call->outputs[i] != UNTOUCHED)
      fail("failed, and wrote an output", name);
  if (call->context && !context_is_destroyed(call->context))
    fail("failed, and did not destroy the context", name);
}

segue_status make_call(struct call *call) {
  const struct function *function = call->function;
  long index = function - functions;
  trail(function);
  memset(call->outputs, UNTOUCHED, sizeof call->outputs);
  uint64_t result = function->call(call->words);
  calls_made[index]++;
  if (!function->gives_status) {
    calls_succeeded[index]++;
    return SEGUE_OK;
  }
  segue_status status = (segue_status)result;
  if (status != SEGUE_OK) {
    check_failure(call, status);
    return status;
  }
  if (call->must_fail)
    fail("took a handle that is none, or no place for what it must give", function->name);
  calls_succeeded[index]++;
  take_over(call);
  return status;
}

static bool is_among(const char *name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strcmp(name, names[i]) == 0)
      return true;
  return false;
}

bool is_called(const struct function *function, const char *name) { return strcmp(function->name, name) == 0; }

static const struct function *function_called(const char *name) {
  for (int i = 0; i < function_count; i++)
    if (is_called(&functions[i], name))
      return &functions[i];
  fail("no such function", name);
}

/** A function for handles of any type counts as one for each type, and one for any request likewise. */
static const struct function *one_of_all(void) {
  uint32_t place = draw((uint32_t)(function_count + 2 * handle_count + request_count));
  if (place < (uint32_t)function_count)
    return &functions[place];
  place -= (uint32_t)function_count;
  if (place < (uint32_t)request_count)
    return function_called("segue_app_ask_agent");
  return function_called(place % 2 ? "segue_retain" : "segue_release");
}

/** Now and then one without which nothing else happens; seldom one that ends what others have begun. */
static const struct function *any_function(void) {
  static const char *const frequent[] = {"segue_app_dispatch", "segue_app_get_offers", "segue_activity_become_current",
                                         "segue_activity_set_needs_save"};
  static const char *const rare[] = {"segue_app_close",
                                     "segue_app_continue",
                                     "segue_log_set",
                                     "segue_activity_invalidate",
                                     "segue_continuation_cancel",
                                     "segue_app_set_delegate",
                                     "segue_activity_set_delegate",
                                     "segue_activity_resign_current",
                                     "segue_limit_set"};
  bool wants_frequent = draw(5) == 0, takes_rare = draw(16) == 0;
  while (true) {
    const struct function *any = one_of_all();
    if (wants_frequent ? is_among(any->name, frequent, sizeof frequent / sizeof *frequent)
                       : takes_rare || !is_among(any->name, rare, sizeof rare / sizeof *rare))
      return any;
  }
}

segue_status call_with(const char *name, uint64_t first, uint64_t second, uint64_t third) {
  struct call call = {.function = function_called(name), .words = {first, second, third}};
  return make_call(&call);
}

static void count_use(atomic_ulong *made, atomic_ulong *succeeded, segue_status status) {
  *made += 1;
  *succeeded += status == SEGUE_OK;
}

/** Ends a call of a function that has many uses: counts it, and keeps or releases its handle. */
static void clear_up(struct call *call, segue_status status) {
  int type = call->type, request = call->request;
  if (is_called(call->function, "segue_retain")) {
    count_use(&retains_made[type], &retains_succeeded[type], status);
    if (status == SEGUE_OK)
      pool_put(type, call->words[0]);
  } else if (is_called(call->function, "segue_release")) {
    count_use(&releases_made[type], &releases_succeeded[type], status);
    if (call->taken && status == SEGUE_ERROR_BUSY)
      pool_put(type, call->taken);
  } else if (is_called(call->function, "segue_app_ask_agent")) {
    if (request >= 0)
      count_use(&requests_made[request], &requests_succeeded[request], status);
    if (call->options)
      segue_release((const void *)(uintptr_t)call->options);
  }
}

void call_something(void) {
  if (is_stopping || calls_left <= 0)
    return;
  struct call call = {.function = any_function(), .descriptor = -1, .request = -1};
  make_arguments(&call);
  segue_status status = make_call(&call);
  clear_up(&call, status);
  if (call.descriptor >= 0 && (status != SEGUE_OK || strcmp(call.function->name, "segue_app_link") != 0))
    close(call.descriptor);
  if (atomic_load(&calls_left) > 0)
    atomic_fetch_sub(&calls_left, 1);
}

/* The run ---------------------------------------------------------------------------------------------------------- */

static atomic_uint running = THREADS;

static void turn(void) {
  if (draw(SCENE_EVERY) == 0)
    make_fixture();
  if (draw(HANDOFF_EVERY) == 0)
    make_handoff();
  call_something();
}

static bool every_callback_ran(void) {
  for (int i = 0; i < callback_count; i++)
    if (callback_counts[i] == 0)
      return false;
  return true;
}

static void *work(void *nothing) {
  (void)nothing;
  while (atomic_load(&calls_left) > 0)
    turn();
  running--;
  return NULL;
}

/** Waits for something that other threads bring about, as long as the run does not hang. */
static void wait_for(bool (*is_done)(void), const char *what) {
  const struct timespec moment = {.tv_nsec = 1000000};
  long last = 0;
  struct timespec since;
  clock_gettime(CLOCK_MONOTONIC, &since);
  while (!is_done()) {
    nanosleep(&moment, NULL);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (calls_left != last)
      last = calls_left, since = now;
    if (now.tv_sec - since.tv_sec > PATIENCE_SECONDS)
      fail("hangs", what);
  }
}

static bool is_worked(void) { return running == 0; }

/** libuv keeps a pipe for the life of the process. */
enum { KEPT_DESCRIPTORS = 2 };
static int descriptors_before;

/** Apps close when their last handle goes, which may be on a thread of the library. */
static bool is_quiet(void) {
  size_t live = 0;
  pool_empty();
  segue_debug_live_handles(&live);
  return live == 0 && contexts_left() == 0 && descriptors_open() <= descriptors_before + KEPT_DESCRIPTORS;
}

/** Fewer calls need not. */
static bool has_to_bring_about_all(unsigned long wanted) { return wanted >= 40000; }

/** A state comes back once or twice in 50,000 calls. Only a fleet launches apps. */
static bool has_to_call_back(const char *callback, unsigned long wanted) {
  if (strcmp(callback, "launch") == 0)
    return false;
  return strcmp(callback, "did_resume_back") == 0 ? wanted >= 500000 : has_to_bring_about_all(wanted);
}

/** A function, or a use of one that has many: with handles of a type, or for a request. */
static void report_use(const char *name, const char *of, unsigned long made, unsigned long succeeded) {
  char use[256];
  snprintf(use, sizeof use, "%s%s%s", name, *of ? ": " : "", of);
  if (made == 0)
    fail("never called", use);
  if (succeeded == 0)
    printf("never successful: %s\n", use);
}

static void report_uses(void) {
  for (int i = 0; i < function_count; i++)
    report_use(functions[i].name, "", calls_made[i], calls_succeeded[i]);
  for (int i = 0; i < handle_count; i++) {
    report_use("segue_retain", handle_types[i], retains_made[i], retains_succeeded[i]);
    report_use("segue_release", handle_types[i], releases_made[i], releases_succeeded[i]);
  }
  for (int i = 0; i < request_count; i++)
    report_use("segue_app_ask_agent", requests[i].name, requests_made[i], requests_succeeded[i]);
}

static void report(unsigned long wanted) {
  unsigned long made = 0, succeeded = 0;
  for (int i = 0; i < function_count; i++) {
    made += calls_made[i];
    succeeded += calls_succeeded[i];
  }
  if (has_to_bring_about_all(wanted))
    report_uses();
  printf("callbacks:");
  for (int i = 0; i < callback_count; i++) {
    printf(" %s %lu", callback_names[i], callback_counts[i]);
    if (has_to_call_back(callback_names[i], wanted) && callback_counts[i] == 0)
      fail("never called back", callback_names[i]);
  }
  printf("\n%lu calls of %d functions, %lu of them successful; no handle, context or descriptor left; seed %llu\n",
         made, function_count, succeeded, (unsigned long long)seed);
}

int main(int count, char **arguments) {
  if (count != 3 || function_count > MOST_FUNCTIONS || handle_count > MOST_TYPES || request_count > MOST_REQUESTS)
    return 2;
  unsigned long wanted = strtoul(arguments[1], NULL, 10);
  seed = strtoull(arguments[2], NULL, 10);
  calls_left = (long)wanted;
  folder = getenv("SEGUE_RUNTIME_DIR");
  if (!folder)
    return 2;
  printf("abuse: %lu calls, seed %llu\n", wanted, (unsigned long long)seed);
  fflush(stdout);
  for (int number = 1; number < 32; number++)
    if (number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGTRAP || number == SIGFPE)
      signal(number, crashed);
  /* Paths are names in it. */
  if (chdir(folder) != 0 || close(creat("file", 0600)) != 0)
    fail("the folder cannot be used", folder);
  descriptors_before = descriptors_open();
  segue_log_set(SEGUE_LOG_DEBUG, abuse_log_function, (void *)(uintptr_t)context_make(), abuse_destroy);
  for (int i = 0; i < THREADS; i++)
    make_fixture();
  /* One thread alone gets further than eight that disturb each other; what is rare may take it long. */
  if (has_to_bring_about_all(wanted))
    calls_left = 10 * (long)wanted;
  while (!every_callback_ran() && calls_left > (long)wanted / 2)
    turn();
  if (calls_left > (long)wanted)
    calls_left = (long)wanted;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, work, NULL);
  wait_for(is_worked, "at work");
  is_stopping = true;
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  descriptors_close();
  segue_log_set(SEGUE_LOG_ERROR, NULL, NULL, NULL);
  wait_for(is_quiet, "with handles, contexts or descriptors that are left");
  report(wanted);
  for (unsigned i = 0; i < worker_count && i < MOST_THREADS; i++)
    free(workers[i]);
  return 0;
}
