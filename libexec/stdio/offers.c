/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "offers.h"

#include <string.h>

#include "parameters.h"

/** Gets the offers, frontmost first, to be released. found  out: OFFERS_MOST places. Returns their number. */
static size_t list(const struct offers *offers, segue_offer **found) {
  size_t count = 0;
  if (segue_app_get_offers(offers->app, found, OFFERS_MOST, &count) != SEGUE_OK)
    return 0;
  return count < OFFERS_MOST ? count : OFFERS_MOST;
}

static void release(segue_offer **found, size_t count) {
  for (size_t index = 0; index < count; index++)
    segue_release(found[index]);
}

int offers_due(const struct offers *offers) {
  if (!offers->is_ready || !offers->is_changed || line_writer_waiting(&offers->channel->lines) > WAITING_MOST)
    return -1;
  int64_t left = offers->sent_at + OFFERS_MS - now_ms();
  return left > 0 ? (int)left : 0;
}

/** Puts one offer into the list. */
static void put(struct channel *channel, const segue_offer *offer) {
  uint8_t id[SEGUE_ID_SIZE] = {0};
  char text[UUID_TEXT];
  uint32_t version = 0;
  uint64_t age = 0, size = 0;
  double date = SEGUE_NO_DATE;
  bool is_public = false;
  segue_offer_get_id(offer, id);
  segue_offer_is_public(offer, &is_public);
  segue_offer_get_payload_version(offer, &version);
  segue_offer_get_age_ms(offer, &age);
  segue_offer_get_size_hint(offer, &size);
  segue_offer_get_expiration_date(offer, &date);
  uuid_write(id, text);
  segue_writer_begin(channel->writer, SEGUE_KIND_DICTIONARY);
  channel_put_text(channel, "offer", text, SEGUE_NUL_TERMINATED);
  channel_put_got(channel, "type", segue_offer_get_type, offer);
  channel_put_got(channel, "title", segue_offer_get_title, offer);
  channel_put_got(channel, "app", segue_offer_get_app_name, offer);
  channel_put_got(channel, "label", segue_offer_get_label, offer);
  channel_put_got(channel, "bundleIdentifier", segue_offer_get_bundle_identifier, offer);
  channel_put_got(channel, "device", segue_offer_get_device_name, offer);
  channel_put_bool(channel, "public", is_public);
  channel_put_number(channel, "payloadVersion", version);
  channel_put_number(channel, "bytes", (int64_t)size);
  channel_put_real(channel, "age", (double)age / 1000);
  if (date == date)
    channel_put_real(channel, "expires", date);
  segue_writer_end(channel->writer);
}

/** Sends the first offers of the list. */
static bool send_first(struct channel *channel, segue_offer **found, size_t count) {
  channel_begin_notification(channel, "offers/changed");
  channel_begin(channel, "offers", SEGUE_KIND_ARRAY);
  for (size_t index = 0; index < count; index++)
    put(channel, found[index]);
  segue_writer_end(channel->writer);
  return channel_send(channel);
}

void offers_send(struct offers *offers) {
  segue_offer *found[OFFERS_MOST];
  if (offers_due(offers) != 0)
    return;
  size_t count = list(offers, found);
  offers->is_changed = false;
  offers->sent_at = now_ms();
  /* As many as fit into a line. */
  for (size_t left = count; !send_first(offers->channel, found, left) && left > 0; left /= 2)
    ;
  release(found, count);
}

/** Tells whether an offer is the one that the host wants. Both may be NULL: any. */
static bool is_wanted(const segue_offer *offer, const char *id, const char *type) {
  uint8_t bytes[SEGUE_ID_SIZE] = {0};
  char text[UUID_TEXT], *its_type = NULL;
  if (id) {
    segue_offer_get_id(offer, bytes);
    uuid_write(bytes, text);
    if (strcmp(id, text) != 0)
      return false;
  }
  if (!type)
    return true;
  segue_offer_get_type(offer, &its_type, NULL);
  bool is_wanted = its_type && strcmp(type, its_type) == 0;
  segue_free(its_type);
  return is_wanted;
}

/** Begins with the frontmost offer that is wanted. */
static bool begin(struct offers *offers, const char *id, const char *type, uint32_t milliseconds,
                  const segue_value *request, struct problem *problem) {
  segue_offer *found[OFFERS_MOST];
  size_t count = list(offers, found), index = 0;
  segue_continuation *handle = NULL;
  while (index < count && !is_wanted(found[index], id, type))
    index++;
  bool is_good = index < count || problem_status(problem, SEGUE_ERROR_NOT_FOUND,
                                                 id     ? "offer"
                                                 : type ? "type"
                                                        : "",
                                                 "nothing like this is offered");
  if (is_good)
    is_good = segue_app_continue(offers->app, found[index], milliseconds, &handle) == SEGUE_OK ||
              problem_library(problem, "");
  release(found, count);
  if (is_good && !continuations_begin(offers->continuations, handle, request, milliseconds)) {
    segue_continuation_cancel(handle);
    is_good = problem_status(problem, SEGUE_ERROR_LIMIT_EXCEEDED, "", "too many continuations wait for an answer");
  }
  segue_release(handle);
  return is_good;
}

bool offers_continue(struct offers *offers, const segue_value *parameters, const segue_value *request,
                     struct problem *problem) {
  char *offer = NULL, *type = NULL;
  size_t length = 0;
  uint64_t limit = 0;
  segue_limit_get(SEGUE_LIMIT_CONTINUATION_MS, &limit);
  uint32_t milliseconds = (uint32_t)limit;
  bool is_good = parameter_text(parameters, "offer", &offer, &length, problem) &&
                 parameter_text(parameters, "type", &type, &length, problem) &&
                 parameter_seconds(parameters, "seconds", &milliseconds, problem) &&
                 begin(offers, offer, type, milliseconds, request, problem);
  segue_free(offer);
  segue_free(type);
  return is_good;
}
