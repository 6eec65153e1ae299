/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Handoff for mpv: what plays, where, and with which tracks. mpv runs mpv_open_cplugin on a thread of its own; all
 * callbacks of the library run on that thread, too. README.md says how to use it. */
#include <mpv/client.h>
#include <poll.h>
#include <segue.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define TYPE "SegueActivityTypePlayingMedia"
#define NUL SEGUE_NUL_TERMINATED
/** Bytes of a URL or a path, NUL included. */
#define URL_SIZE 8192

static struct player {
  mpv_handle *mpv;
  segue_app *app;
  /** what plays; NULL: nothing that could be handed over */
  segue_activity *activity;
  segue_activity_delegate *delegate;
  /** the continuation whose file is being loaded, and the number of that file in the playlist */
  segue_continuation *loading;
  int64_t wanted;
  /** the number of the file that mpv has begun to load last */
  int64_t started;
} player;

/** Tells whether a URL is http or https, without user and password. */
static bool is_web(const char *url) {
  size_t scheme = strncasecmp(url, "http://", 7) == 0 ? 7 : strncasecmp(url, "https://", 8) == 0 ? 8 : 0;
  return scheme > 0 && !memchr(url + scheme, '@', strcspn(url + scheme, "/?#"));
}

/** Makes the file URL of an absolute path. Returns false if it does not fit. */
static bool url_of_path(const char *path, char *url) {
  static const char plain[] = "/-._~!$&'()*+,;=:@";
  size_t length = (size_t)snprintf(url, URL_SIZE, "file://");
  for (; *path; path++) {
    unsigned char byte = (unsigned char)*path;
    bool is_plain = (byte >= '0' && byte <= '9') || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'z') ||
                    (byte < 0x80 && strchr(plain, byte));
    if (length + 4 > URL_SIZE)
      return false;
    length += (size_t)snprintf(url + length, URL_SIZE - length, is_plain ? "%c" : "%%%02X", byte);
  }
  return true;
}

/** Makes the path of a file URL without host. Returns false if it is none, or has a NUL. */
static bool path_of_url(const char *url, char *path) {
  if (strncasecmp(url, "file:///", 8) != 0 || strlen(url) >= URL_SIZE)
    return false;
  for (url += 7; *url && *url != '?' && *url != '#'; url++) {
    unsigned int byte = (unsigned char)*url;
    if (byte == '%' && (sscanf(url, "%%%2x", &byte) != 1 || byte == 0 || !url[1] || !url[2]))
      return false;
    url += *url == '%' ? 2 : 0;
    *path++ = (char)byte;
  }
  *path = '\0';
  return true;
}

/** Gets the URL of what plays. Returns false if it cannot be handed over. */
static bool playing_url(char *url) {
  char *path = mpv_get_property_string(player.mpv, "path"), *folder = NULL, absolute[URL_SIZE];
  bool is_good = path != NULL;
  if (path && strstr(path, "://")) {
    is_good = is_web(path) && snprintf(url, URL_SIZE, "%s", path) < URL_SIZE;
  } else if (path) {
    folder = path[0] == '/' ? NULL : mpv_get_property_string(player.mpv, "working-directory");
    int length = snprintf(absolute, URL_SIZE, "%s%s%s", folder ? folder : "", folder ? "/" : "", path);
    is_good = length < URL_SIZE && absolute[0] == '/' && url_of_path(absolute, url);
  }
  mpv_free(path);
  mpv_free(folder);
  return is_good;
}

static void put_real(segue_writer *writer, const char *key, const char *property) {
  double value = 0;
  if (mpv_get_property(player.mpv, property, MPV_FORMAT_DOUBLE, &value) < 0 || !(value >= 0))
    return;
  segue_writer_put_string(writer, key, NUL);
  segue_writer_put_double(writer, value);
}

/** Puts the number of a track; 0: off. */
static void put_track(segue_writer *writer, const char *key, const char *property) {
  int64_t track = 0;
  char *word = mpv_get_property_string(player.mpv, property);
  bool is_off = word && strcmp(word, "no") == 0;
  mpv_free(word);
  if (!is_off && (mpv_get_property(player.mpv, property, MPV_FORMAT_INT64, &track) < 0 || track < 1))
    return;
  segue_writer_put_string(writer, key, NUL);
  segue_writer_put_int64(writer, track);
}

/** Writes what plays into the activity. Returns false if it cannot be handed over. */
static bool describe(segue_activity *activity) {
  char url[URL_SIZE];
  int paused = 0;
  segue_writer *writer = NULL;
  segue_value *info = NULL;
  if (!playing_url(url))
    return false;
  mpv_get_property(player.mpv, "pause", MPV_FORMAT_FLAG, &paused);
  segue_writer_create(&writer);
  segue_writer_begin(writer, SEGUE_KIND_DICTIONARY);
  segue_writer_put_string(writer, "url", NUL);
  segue_writer_put_url(writer, url, NUL);
  segue_writer_put_string(writer, "paused", NUL);
  segue_writer_put_bool(writer, paused != 0);
  put_real(writer, "duration", "duration");
  put_real(writer, "position", "time-pos");
  put_real(writer, "rate", "speed");
  put_track(writer, "audioTrack", "aid");
  put_track(writer, "subtitleTrack", "sid");
  segue_writer_end(writer);
  bool is_good = segue_writer_finish(writer, &info) == SEGUE_OK;
  is_good = is_good && segue_activity_set_user_info(activity, info) == SEGUE_OK;
  segue_release(info);
  segue_release(writer);
  return is_good;
}

static segue_reply will_save(void *context, segue_activity *activity, segue_save *save) {
  (void)context;
  if (activity == player.activity && !describe(activity))
    segue_save_fail(save, "nothing plays that could be handed over", NUL);
  return SEGUE_REPLY_YES;
}

/** Offers what plays, in place of what played before. */
static void offer(void) {
  segue_activity *former = player.activity;
  char *title = mpv_get_property_string(player.mpv, "media-title");
  player.activity = NULL;
  segue_activity_create(player.app, TYPE, NUL, &player.activity);
  segue_activity_set_title(player.activity, title, title ? NUL : 0);
  segue_activity_set_delegate(player.activity, player.delegate);
  if (!describe(player.activity) || segue_activity_become_current(player.activity) != SEGUE_OK) {
    segue_release(player.activity);
    player.activity = NULL;
  }
  segue_release(former);
  mpv_free(title);
}

static void show(const char *text) {
  const char *command[] = {"show-text", text, "4000", NULL};
  mpv_command_async(player.mpv, 0, command);
}

/** Adds an option of loadfile if the key has a number from 0 up to a bound. is_track  0 means off */
static void add_number(char *options, const segue_value *info, const char *key, const char *option, double most,
                       bool is_track) {
  double value = 0;
  size_t length = strlen(options);
  if (segue_dictionary_get_double(info, key, NUL, &value) != SEGUE_OK || !(value >= 0 && value <= most))
    return;
  if (is_track && value < 1)
    snprintf(options + length, 256 - length, ",%s=no", option);
  else
    snprintf(options + length, 256 - length, is_track ? ",%s=%.0f" : ",%s=%.3f", option, value);
}

/** Has mpv load a file, by named arguments: versions order them differently. Returns a reason if it does not. */
static const char *load_file(const char *file, const char *options) {
  static char *keys[] = {"name", "url", "flags", "options"};
  const char *texts[] = {"loadfile", file, "replace", options};
  mpv_node values[4], result;
  mpv_node_list list = {.num = 4, .values = values, .keys = keys};
  mpv_node command = {.format = MPV_FORMAT_NODE_MAP, .u.list = &list};
  for (int index = 0; index < 4; index++)
    values[index] = (mpv_node){.format = MPV_FORMAT_STRING, .u.string = (char *)texts[index]};
  if (mpv_command_node(player.mpv, &command, &result) < 0)
    return "mpv does not load the file";
  player.wanted = -1;
  for (int index = 0; result.format == MPV_FORMAT_NODE_MAP && index < result.u.list->num; index++)
    if (strcmp(result.u.list->keys[index], "playlist_entry_id") == 0)
      player.wanted = result.u.list->values[index].u.int64;
  mpv_free_node_contents(&result);
  return player.wanted < 0 ? "mpv is older than 0.33" : NULL;
}

/** Loads what was continued. Returns a reason if it cannot be played. */
static const char *load(const segue_value *info) {
  char *url = NULL, path[URL_SIZE], options[256];
  bool paused = false;
  if (segue_dictionary_get_string(info, "url", NUL, &url, NULL) != SEGUE_OK)
    return "the activity has no url";
  const char *file = is_web(url) ? url : path_of_url(url, path) ? path : NULL;
  const char *reason = !file ? "mpv takes files of this machine, http and https" : NULL;
  segue_dictionary_get_bool(info, "paused", NUL, &paused);
  snprintf(options, sizeof options, "pause=%s", paused ? "yes" : "no");
  add_number(options, info, "position", "start", 1e7, false);
  add_number(options, info, "rate", "speed", 100, false);
  add_number(options, info, "audioTrack", "aid", 9999, true);
  add_number(options, info, "subtitleTrack", "sid", 9999, true);
  if (!reason)
    reason = load_file(file, options);
  segue_free(url);
  return reason;
}

/** Answers the continuation whose file was loaded. reason  NULL: it plays */
static void end_loading(const char *reason) {
  if (reason)
    segue_continuation_fail(player.loading, reason, NUL);
  else
    segue_continuation_complete(player.loading, true);
  segue_release(player.loading);
  player.loading = NULL;
}

static segue_reply on_continue(void *context, segue_app *app, segue_activity *activity,
                               segue_continuation *continuation) {
  segue_value *info = NULL;
  (void)context, (void)app;
  end_loading("another continuation came");
  segue_activity_get_user_info(activity, &info);
  const char *reason = load(info);
  segue_release(info);
  if (reason)
    segue_continuation_fail(continuation, reason, NUL);
  else if (segue_retain(continuation) == SEGUE_OK)
    player.loading = continuation;
  return SEGUE_REPLY_LATER;
}

/** Declines what this plugin could misread (R13.3). */
static void will_continue(void *context, segue_app *app, const char *type, size_t length,
                          segue_continuation *continuation) {
  segue_offer *offer = NULL;
  uint32_t version = 0;
  (void)context, (void)app, (void)type, (void)length;
  segue_continuation_get_offer(continuation, &offer);
  if (segue_offer_get_payload_version(offer, &version) == SEGUE_OK && version > 1)
    segue_continuation_decline(continuation, "the payload is of a newer version than this plugin knows", NUL);
  segue_release(offer);
}

static void did_fail(void *context, segue_app *app, const char *type, size_t length, const segue_error *error,
                     segue_continuation *continuation) {
  char *message = NULL;
  (void)context, (void)app, (void)type, (void)length, (void)continuation;
  segue_error_get_message(error, &message, NULL);
  show(message ? message : "");
  segue_free(message);
}

/** Continues the frontmost offer. */
static void continue_frontmost(void) {
  segue_offer *offer = NULL;
  size_t count = 0;
  segue_app_get_offers(player.app, &offer, 1, &count);
  if (segue_app_continue(player.app, offer, 0, NULL) != SEGUE_OK)
    show(count == 0 ? "nothing can be continued here" : "it cannot be continued now");
  segue_release(offer);
}

/** Handles the end of a file, which may be another one than the wanted. */
static void end_file(const mpv_event_end_file *end) {
  if (end->playlist_entry_id != player.wanted || !player.loading)
    return;
  if (end->reason == MPV_END_FILE_REASON_REDIRECT)
    player.wanted = end->playlist_insert_id;
  else
    end_loading(end->reason == MPV_END_FILE_REASON_ERROR ? mpv_error_string(end->error) : "mpv loads another file");
}

/** Handles what mpv tells. Returns false at its end. */
static bool take_events(void) {
  for (;;) {
    const mpv_event *event = mpv_wait_event(player.mpv, 0);
    const mpv_event_start_file *start = event->data;
    const mpv_event_client_message *message = event->data;
    switch (event->event_id) {
    case MPV_EVENT_NONE:
    case MPV_EVENT_SHUTDOWN:
      return event->event_id == MPV_EVENT_NONE;
    case MPV_EVENT_START_FILE:
      player.started = start->playlist_entry_id;
      break;
    case MPV_EVENT_FILE_LOADED:
      offer();
      if (player.started == player.wanted)
        end_loading(NULL);
      break;
    case MPV_EVENT_END_FILE:
      end_file(event->data);
      segue_release(player.activity);
      player.activity = NULL;
      break;
    case MPV_EVENT_CLIENT_MESSAGE:
      if (message->num_args > 0 && strcmp(message->args[0], "continue") == 0)
        continue_frontmost();
      break;
    default:
      break;
    }
  }
}

static bool open_app(segue_app_delegate **delegate) {
  char *options = mpv_get_property_string(player.mpv, "script-opts");
  const char *team = options ? strstr(options, "segue-team=") : NULL;
  size_t length = team ? strcspn(team += strlen("segue-team="), ",") : 0;
  bool is_good = segue_app_create("io.mpv.Mpv", NUL, &player.app) == SEGUE_OK &&
                 segue_app_set_name(player.app, "mpv", NUL) == SEGUE_OK &&
                 (!team || segue_app_set_team_identifier(player.app, team, length) == SEGUE_OK) &&
                 segue_app_add_activity_type(player.app, TYPE, NUL) == SEGUE_OK &&
                 segue_activity_delegate_create(NULL, NULL, &player.delegate) == SEGUE_OK &&
                 segue_activity_delegate_on_will_save(player.delegate, will_save) == SEGUE_OK &&
                 segue_app_delegate_create(NULL, NULL, delegate) == SEGUE_OK &&
                 segue_app_delegate_on_will_continue(*delegate, will_continue) == SEGUE_OK &&
                 segue_app_delegate_on_continue(*delegate, on_continue) == SEGUE_OK &&
                 segue_app_delegate_on_did_fail(*delegate, did_fail) == SEGUE_OK &&
                 segue_app_set_delegate(player.app, *delegate) == SEGUE_OK && segue_app_open(player.app) == SEGUE_OK;
  mpv_free(options);
  return is_good;
}

__attribute__((visibility("default"))) int mpv_open_cplugin(mpv_handle *mpv) {
  segue_app_delegate *delegate = NULL;
  player = (struct player){.mpv = mpv};
  struct pollfd polled[2] = {{mpv_get_wakeup_pipe(mpv), POLLIN, 0}, {-1, POLLIN, 0}};
  bool is_good = open_app(&delegate) && segue_app_fd(player.app, &polled[1].fd) == SEGUE_OK;
  char bytes[64];
  while (is_good && take_events() && poll(polled, 2, -1) >= 0) {
    if (polled[0].revents != 0 && read(polled[0].fd, bytes, sizeof bytes) <= 0)
      break;
    segue_app_dispatch(player.app, 0, NULL);
  }
  segue_app_close(player.app);
  segue_release(player.loading);
  segue_release(player.activity);
  segue_release(player.app);
  segue_release(delegate);
  segue_release(player.delegate);
  return is_good ? 0 : -1;
}
