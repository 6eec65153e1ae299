/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/*
 * segue-stdio: an app whose state lives in the program that starts it (R13.5). The two speak JSON-RPC 2.0 on standard
 * input and output, one object a line (docs/stdio.md). Standard error is the log.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "session.h"

static volatile sig_atomic_t is_told_to_end;

static void note_signal(int number) {
  (void)number;
  is_told_to_end = 1;
}

/** Blocks the signals that end programs, except inside waiting. waiting  out: the mask for ppoll */
static void catch_signals(sigset_t *waiting) {
  static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
  struct sigaction action = {.sa_handler = note_signal}, former;
  sigset_t blocked;
  sigemptyset(&blocked);
  sigemptyset(&action.sa_mask);
  for (size_t index = 0; index < sizeof ending / sizeof *ending; index++) {
    /* An ignored signal stays ignored. */
    if (sigaction(ending[index], NULL, &former) == 0 && former.sa_handler == SIG_IGN)
      continue;
    sigaction(ending[index], &action, NULL);
    sigaddset(&blocked, ending[index]);
  }
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &blocked, waiting);
}

static void log_error(void *context, segue_log_level level, const char *message, size_t length) {
  (void)context, (void)level;
  log_line("%.*s", (int)length, message);
}

/** Tells whether messages of the host may be handled, and callbacks run: it reads, and `open` has been answered. */
static bool may_go_on(const struct session *session) {
  return !session->open_id && line_writer_waiting(&session->channel.lines) <= WAITING_MOST;
}

/** Runs the callbacks that are due. */
static void run_callbacks(struct session *session) {
  if (session->app && !session->is_over && may_go_on(session))
    segue_app_dispatch(session->app, 0, NULL);
  continuations_tell(&session->continuations);
}

/**
 * Waits for an activity that the host has asked for. Most come before the host has read that one comes; and a thread
 * that waits in dispatch reads the socket, so that no other one has to wake it up.
 */
static void await_activity(struct session *session) {
  bool goes_on = true;
  while (goes_on) {
    int left = continuations_expected(&session->continuations);
    goes_on =
        !session->is_over && may_go_on(session) && left > 0 && segue_app_dispatch(session->app, left, NULL) == SEGUE_OK;
    continuations_tell(&session->continuations);
  }
}

/** Handles the lines that are there, as long as it may. */
static void take_lines(struct session *session) {
  const char *line = NULL;
  size_t length = 0;
  bool took = false;
  while (!session->is_over && may_go_on(session)) {
    line_problem problem = line_reader_next(&session->reader, &line, &length);
    if (line)
      continuations_tell(&session->continuations);
    if (problem)
      session_give_up(session, problem);
    else if (line)
      session_take(session, line, length);
    if (problem || !line)
      break;
    took = true;
  }
  if (took)
    await_activity(session);
}

/** Reads what the host has written. */
static void read_input(struct session *session) {
  bool ended = false;
  line_problem problem = line_reader_fill(&session->reader, STDIN_FILENO, &ended);
  if (problem)
    session_give_up(session, problem);
  else if (ended)
    session->is_over = true;
}

static void write_output(struct session *session) {
  line_problem problem = line_writer_flush(&session->channel.lines);
  if (problem)
    session_give_up(session, problem);
}

/** Waits for the next event, and handles it. */
static void turn(struct session *session, const sigset_t *waiting) {
  bool goes_on = may_go_on(session);
  bool has_output = line_writer_waiting(&session->channel.lines) > 0;
  struct pollfd polled[4] = {
      {goes_on ? STDIN_FILENO : -1, POLLIN, 0},
      {has_output ? STDOUT_FILENO : -1, POLLOUT, 0},
      {-1, POLLIN, 0},
      {session->agent.descriptor, POLLIN, 0},
  };
  if (session->app && goes_on)
    segue_app_fd(session->app, &polled[2].fd);
  int due = session_due(session);
  struct timespec time = {due / 1000, (long)(due % 1000) * 1000000};
  if (ppoll(polled, 4, due < 0 ? NULL : &time, waiting) < 0 && errno != EINTR)
    session_give_up(session, "the system does not wait for input");
  if (is_told_to_end)
    session->is_over = true;
  if (polled[1].revents != 0)
    write_output(session);
  if (line_writer_patience(&session->channel.lines) == 0)
    session_give_up(session, "the host has read nothing for 10 s");
  if (polled[3].revents != 0)
    agent_end(&session->agent);
  if (session->open_id && (session->agent.descriptor < 0 || now_ms() >= session->open_until))
    session_answer_open(session);
  if (polled[2].revents != 0)
    run_callbacks(session);
  offers_send(&session->offers);
  if (polled[0].revents != 0 && !session->is_over)
    read_input(session);
  take_lines(session);
  if (session->channel.is_broken)
    session_give_up(session, "the host reads too slowly, or there is no memory for a line");
}

/** Gives the host a moment to read the last messages. */
static void flush_last_lines(struct session *session) {
  int64_t until = now_ms() + LAST_MS;
  struct pollfd polled = {STDOUT_FILENO, POLLOUT, 0};
  while (line_writer_waiting(&session->channel.lines) > 0) {
    int64_t left = until - now_ms();
    if (left <= 0 || poll(&polled, 1, (int)left) <= 0 || line_writer_flush(&session->channel.lines) != NULL)
      return;
  }
}

/** Opens standard descriptors that are closed, so that nothing of the library gets their numbers. */
static void open_descriptors(void) {
  int descriptor;
  while ((descriptor = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && descriptor <= STDERR_FILENO)
    ;
  if (descriptor > STDERR_FILENO)
    close(descriptor);
}

int main(void) {
  static struct session session;
  sigset_t waiting;
  open_descriptors();
  session_prepare(&session, STDOUT_FILENO);
  catch_signals(&waiting);
  if (!getenv("SEGUE_LOG"))
    segue_log_set(SEGUE_LOG_ERROR, log_error, NULL, NULL);
  while (!session.is_over)
    turn(&session, &waiting);
  session_close(&session);
  flush_last_lines(&session);
  session_free(&session);
  return session.status;
}
