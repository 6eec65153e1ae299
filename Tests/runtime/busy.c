/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Threads that do everything at once to the same objects. The command line names the test; it prints nothing and exits
 * with 0, or prints what is wrong. */
#include <pthread.h>

#include "../participant.h"

/* The busiest: threads that do everything at once to the same two apps, while one of them closes them. */
struct party {
  struct participant origin, receiver;
  atomic_bool over;
};

static void *edits(void *context) {
  struct party *party = context;
  while (!party->over) {
    segue_activity *activity;
    if (segue_activity_create(party->origin.app, TYPE, NUL, &activity) != SEGUE_OK)
      continue;
    char title[32];
    for (int i = 0; i < 20; i++) {
      snprintf(title, sizeof title, "change %d", i);
      segue_activity_set_title(activity, title, NUL);
      segue_activity_become_current(activity);
      segue_activity_set_needs_save(activity, true);
    }
    segue_release(activity);
  }
  return NULL;
}

static void *continues(void *context) {
  struct party *party = context;
  while (!party->over) {
    segue_offer *offer = NULL;
    size_t count = 0;
    if (segue_app_get_offers(party->receiver.app, &offer, 1, &count) == SEGUE_OK && count > 0) {
      segue_continuation *continuation = NULL;
      if (segue_app_continue(party->receiver.app, offer, 0, &continuation) == SEGUE_OK) {
        uint64_t received, total;
        segue_continuation_get_progress(continuation, &received, &total);
        if (count % 2)
          segue_continuation_cancel(continuation);
        segue_release(continuation);
      }
      segue_release(offer);
    }
    char *text = NULL;
    if (segue_app_describe(party->receiver.app, &text, NULL) == SEGUE_OK)
      segue_free(text);
  }
  return NULL;
}

/* R1.13: one activity, all threads. The text that a getter gave is its caller's, whatever others do meanwhile. */
enum { WRITERS = 3, READERS = 3, ROUNDS = 20000 };
static segue_activity *shared;

static void *sets(void *context) {
  char text[64], url[64];
  for (int i = 0; i < ROUNDS; i++) {
    int letter = 'a' + (i + (int)(intptr_t)context) % 26;
    memset(text, letter, sizeof text); /* all of one letter, and of a length of its own */
    size_t length = 1 + (size_t)(letter - 'a');
    OK(segue_activity_set_title(shared, text, length));
    OK(segue_activity_set_persistent_identifier(shared, text, length));
    int written = snprintf(url, sizeof url, "https://%.*s/", (int)length, text);
    OK(segue_activity_set_webpage_url(shared, url, (size_t)written));
    OK(segue_activity_set_needs_save(shared, i % 2));
    OK(segue_activity_set_payload_version(shared, (uint32_t)i));
    OK(segue_activity_set_expiration_date(shared, i % 2 ? SEGUE_NO_DATE : i));
  }
  return NULL;
}

static bool is_whole(const char *text, size_t length) {
  if (strlen(text) != length || length != 1 + (size_t)(text[0] - 'a'))
    return false;
  for (size_t i = 1; i < length; i++)
    if (text[i] != text[0])
      return false;
  return true;
}

static void *gets(void *context) {
  (void)context;
  char *kept = NULL, first = 0;
  for (int i = 0; i < ROUNDS; i++) {
    char *title, *identifier, *url;
    size_t length;
    double date;
    OK(segue_activity_get_title(shared, &title, &length));
    REQUIRE(is_whole(title, length));
    OK(segue_activity_get_persistent_identifier(shared, &identifier, &length));
    REQUIRE(is_whole(identifier, length));
    OK(segue_activity_get_webpage_url(shared, &url, &length));
    REQUIRE(strncmp(url, "https://", 8) == 0 && url[length - 1] == '/' && length == 9 + 1 + (size_t)(url[8] - 'a'));
    OK(segue_activity_get_expiration_date(shared, &date));
    /* The title that was read twenty rounds ago is whole, too. */
    if (i % 20 == 0) {
      REQUIRE(kept == NULL || (kept[0] == first && is_whole(kept, strlen(kept))));
      segue_free(kept);
      kept = title, first = title[0];
    } else {
      segue_free(title);
    }
    segue_free(identifier);
    segue_free(url);
  }
  segue_free(kept);
  return NULL;
}

static void properties_from_all_threads(void) {
  static struct participant self;
  open_participant(&self, "com.example.shared", SEGUE_DELIVER_THREAD);
  shared = offer(&self, "a");
  OK(segue_activity_set_persistent_identifier(shared, "a", NUL));
  OK(segue_activity_set_webpage_url(shared, "https://a/", NUL));
  pthread_t threads[WRITERS + READERS];
  for (int i = 0; i < WRITERS + READERS; i++)
    REQUIRE(pthread_create(&threads[i], NULL, i < WRITERS ? sets : gets, (void *)(intptr_t)i) == 0);
  for (int i = 0; i < WRITERS + READERS; i++)
    pthread_join(threads[i], NULL);
  OK(segue_release(shared));
  close_participant(&self);
}

static void *dispatches(void *context) {
  struct party *party = context;
  while (!party->over)
    segue_app_dispatch(party->origin.app, 5, NULL);
  return NULL;
}

static void *wakes(void *context) {
  struct party *party = context;
  while (!party->over) {
    segue_app_wake(party->origin.app);
    segue_app_set_foreground(party->origin.app, true);
    sched_yield();
  }
  return NULL;
}

static void all_at_once(int rounds, long milliseconds) {
  for (int round = 0; round < rounds; round++) {
    struct party *party = calloc(1, sizeof *party);
    open_participant(&party->origin, "com.example.origin", SEGUE_DELIVER_HOST);
    open_participant(&party->receiver, "com.example.receiver", SEGUE_DELIVER_THREAD);
    void *(*const roles[])(void *) = {edits, edits, continues, dispatches, dispatches, wakes};
    pthread_t threads[6];
    for (int i = 0; i < 6; i++)
      REQUIRE(pthread_create(&threads[i], NULL, roles[i], party) == 0);
    struct timespec while_ = {.tv_sec = milliseconds / 1000, .tv_nsec = milliseconds % 1000 * 1000000};
    nanosleep(&while_, NULL); /* they race for so long */
    if (round % 2) {          /* in the middle of it all */
      OK(segue_app_close(party->receiver.app));
      OK(segue_app_close(party->origin.app));
    }
    party->over = true;
    for (int i = 0; i < 6; i++)
      pthread_join(threads[i], NULL);
    close_participant(&party->receiver);
    close_participant(&party->origin);
    /* R3.2: whatever raced, all that was announced has ended, once. */
    REQUIRE(party->receiver.announced == party->receiver.arrived + party->receiver.failed);
    free(party);
  }
}

int main(int count, char **arguments) {
  static const struct test tests[] = {
      {"properties_from_all_threads", properties_from_all_threads},
  };
  alarm(120); /* a deadlock is a failure, too */
  const char *wanted = count > 1 ? arguments[1] : "";
  if (strcmp(wanted, "all_at_once") == 0 && count == 4) {
    all_at_once(atoi(arguments[2]), atol(arguments[3]));
    no_handles();
    return 0;
  }
  return run_test(tests, sizeof tests / sizeof *tests, wanted);
}
