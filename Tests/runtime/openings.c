/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Documents that open while their opening ends in another thread (R3.5, R5.1), and objects that are restored while
 * another thread answers (R3.4). Each test is named on the command line; it says nothing and ends with 0, or says what
 * is wrong. */
#include "../participant.h"

#define FOLDER "/usr"
#define FILE_URL "file:///usr/letter.txt"
#define TEXT "text/plain"
#define ROUNDS 200

static struct participant origin, receiver;
static segue_document *offered;
static atomic_int opened;

static segue_reply open_document(void *context, segue_app *app, const char *url, size_t length,
                                 segue_activity *activity, segue_continuation *one) {
  struct participant *self = called(context);
  (void)app, (void)activity;
  REQUIRE(length == strlen(FILE_URL) && memcmp(url, FILE_URL, length) == 0);
  segue_release(self->unanswered);
  OK(segue_retain(self->unanswered = one));
  opened++;
  return SEGUE_REPLY_LATER;
}

static void begin(struct participant *self, const char *name) {
  self->opens = open_document;
  create_participant(self, name, SEGUE_DELIVER_THREAD);
  OK(segue_app_add_document_type(self->app, TEXT, NUL, SEGUE_ROLE_EDITOR, TYPE, NUL));
  OK(segue_app_open(self->app));
  OK(segue_app_add_container(self->app, "com.example.files", NUL, FOLDER, NUL));
}

static segue_document *document_of(struct participant *self) {
  segue_document *document;
  OK(segue_document_create(self->app, FILE_URL, NUL, TEXT, NUL, SEGUE_ROLE_EDITOR, NULL, NULL, NULL, NULL, &document));
  return document;
}

static segue_activity *activity_of(segue_document *document) {
  segue_responder *responder;
  segue_activity *activity = NULL;
  OK(segue_document_get_responder(document, &responder));
  OK(segue_responder_get_activity(responder, &activity));
  OK(segue_release(responder));
  return activity;
}

/** Whether the document has the activity that was continued, rather than one of its own. */
static bool has_continued(segue_document *document) {
  segue_activity *activity = activity_of(document);
  segue_value *from = NULL;
  if (!activity)
    return false;
  OK(segue_activity_get_continued_from(activity, &from));
  OK(segue_release(activity));
  segue_release(from);
  return from != NULL;
}

/** Whether it has an activity of its own soon. */
static bool gets_its_own(segue_document *document) {
  struct timespec moment = {.tv_nsec = 1000000};
  for (int i = 0; i < 10000; i++) {
    segue_activity *activity = activity_of(document);
    bool is_own = activity && !has_continued(document);
    segue_release(activity);
    if (is_own)
      return true;
    nanosleep(&moment, NULL); /* nobody is told */
  }
  return false;
}

static void offer_a_document(void) {
  begin(&origin, "com.example.origin");
  begin(&receiver, "com.example.receiver");
  receiver.refuses = true;
  wait_until(&origin.ready, 1);
  wait_until(&receiver.ready, 1);
  offered = document_of(&origin);
  segue_activity *activity = activity_of(offered);
  REQUIRE(activity);
  OK(segue_activity_set_delegate(activity, origin.watcher));
  OK(segue_activity_become_current(activity));
  OK(segue_release(activity));
  wait_until(&receiver.appeared, 1);
}

static void end(void) {
  OK(segue_release(offered));
  close_participant(&receiver);
  close_participant(&origin);
}

/** The answer of another thread that ends the opening, at the same moment as a call of this one. */
struct ending {
  pthread_barrier_t together;
  segue_document *document;
  segue_status status;
};

static void *complete(void *context) {
  struct ending *self = context;
  pthread_barrier_wait(&self->together);
  self->status = segue_continuation_complete_opening(receiver.unanswered, self->document, "no", NUL);
  return NULL;
}

static pthread_t begin_to_complete(struct ending *self, segue_document *document) {
  pthread_t thread;
  self->document = document;
  REQUIRE(pthread_barrier_init(&self->together, NULL, 2) == 0);
  REQUIRE(pthread_create(&thread, NULL, complete, self) == 0);
  pthread_barrier_wait(&self->together);
  return thread;
}

static void join(pthread_t thread, struct ending *self) {
  pthread_join(thread, NULL);
  pthread_barrier_destroy(&self->together);
}

/* It is not opened, and a document of its URL is made at that moment: that waits for nothing that has ended. */
static void a_document_is_made_as_its_opening_fails(void) {
  offer_a_document();
  for (int i = 1; i <= ROUNDS; i++) {
    segue_continuation *one = continue_first(&receiver);
    wait_until(&opened, i);
    struct ending ending;
    pthread_t thread = begin_to_complete(&ending, NULL);
    segue_document *document = document_of(&receiver);
    join(thread, &ending);
    OK(ending.status);
    wait_until(&origin.ended, i);
    REQUIRE(gets_its_own(document));
    OK(segue_release(document));
    OK(segue_release(one));
  }
  end();
}

/* It is handed over, and the user cancels at that moment: what was taken stays with the document. */
static void a_document_is_handed_over_as_the_user_cancels(void) {
  offer_a_document();
  for (int i = 1; i <= ROUNDS; i++) {
    segue_continuation *one = continue_first(&receiver);
    wait_until(&opened, i);
    segue_document *document = document_of(&receiver);
    REQUIRE(has_continued(document));
    struct ending ending;
    pthread_t thread = begin_to_complete(&ending, document);
    OK(segue_continuation_cancel(one));
    join(thread, &ending);
    wait_until(&origin.ended, i);
    REQUIRE(ending.status == SEGUE_OK || ending.status == SEGUE_ERROR_REMOTE_APPLICATION_TIMED_OUT);
    if (ending.status == SEGUE_OK)
      REQUIRE(has_continued(document));
    OK(segue_release(document));
    OK(segue_release(one));
  }
  end();
}

/* Objects are restored, and the answer is "not handled": then the document opens (R3.5). */
static void restore_and_open(bool answers_later) {
  receiver.restorables = 2;
  receiver.answers_later = answers_later;
  offer_a_document();
  for (int i = 1; i <= ROUNDS; i++) {
    segue_continuation *one = continue_first(&receiver);
    wait_until(&receiver.arrived, i);
    if (answers_later)
      OK(segue_continuation_complete(one, false));
    wait_until(&opened, i);
    REQUIRE(receiver.restored == 2 * i);
    segue_document *document = document_of(&receiver);
    OK(segue_continuation_complete_opening(one, document, NULL, 0));
    wait_until(&origin.ended, i);
    REQUIRE(origin.last_outcome == SEGUE_OUTCOME_RESTORED);
    REQUIRE(has_continued(document));
    OK(segue_release(document));
    OK(segue_release(one));
  }
  end();
}

static void a_document_opens_once_objects_are_restored(void) { restore_and_open(false); }

static void a_document_opens_after_an_answer_amid_the_restoration(void) { restore_and_open(true); }

static atomic_int restoring;

static bool restore_for_a_while(void *context, segue_activity *activity) {
  (void)activity;
  int round = ++restoring;
  for (volatile int i = 0; i < round % 200 * 20; i++)
    ;
  return context != NULL;
}

/* The host answers "handled" as its objects have just been restored: it is told that its answer counts, and it does. */
static void an_answer_at_the_end_of_the_restoration_counts(void) {
  receiver.answers_later = true;
  open_participant(&origin, "com.example.origin", SEGUE_DELIVER_THREAD);
  open_participant(&receiver, "com.example.receiver", SEGUE_DELIVER_THREAD);
  segue_activity *offered = offer(&origin, "one");
  wait_until(&receiver.appeared, 1);
  segue_restorable *object;
  OK(segue_restorable_create(restore_for_a_while, &receiver, NULL, &object));
  for (int i = 1; i <= 50 * ROUNDS; i++) {
    segue_continuation *one = continue_first(&receiver);
    wait_until(&receiver.arrived, i);
    OK(segue_continuation_restore(one, &object, 1));
    while (restoring < i)
      sched_yield();
    OK(segue_continuation_complete(one, true));
    wait_until(&origin.ended, i);
    REQUIRE(origin.last_outcome == SEGUE_OUTCOME_RESTORED);
    OK(segue_release(one));
    alarm(120); /* on a busy machine, all rounds may take as long */
  }
  OK(segue_release(object));
  OK(segue_release(offered));
  close_participant(&receiver);
  close_participant(&origin);
}

int main(int count, char **arguments) {
  static const struct test tests[] = {
      {"a_document_is_made_as_its_opening_fails", a_document_is_made_as_its_opening_fails},
      {"a_document_is_handed_over_as_the_user_cancels", a_document_is_handed_over_as_the_user_cancels},
      {"a_document_opens_once_objects_are_restored", a_document_opens_once_objects_are_restored},
      {"a_document_opens_after_an_answer_amid_the_restoration", a_document_opens_after_an_answer_amid_the_restoration},
      {"an_answer_at_the_end_of_the_restoration_counts", an_answer_at_the_end_of_the_restoration_counts},
  };
  alarm(120); /* a deadlock is a failure, too */
  return run_test(tests, sizeof tests / sizeof *tests, count > 1 ? arguments[1] : "");
}
