/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Measures the virtual fleet. Prints "name value" lines:
 *
 *     fleet DEVICES MINUTES
 *
 *     star_ms       DEVICES in a star, one app on each: from become_current until every app has the offer
 *     star_setup_ms the same fleet, from nothing until all are linked and ready
 *     events_per_s  steps of the fleet in a second of this thread's processor time, in the run that churn_ms measures
 *     churn_ms      20 devices, each linked with each, MINUTES of the fleet's time in which every 5 s one loses its
 *                   power or comes back and offers something
 *     mesh_messages 20 devices, each linked with each: steps of the fleet until all that a changed title brings is
 *                   over, which are the messages and what the app that changes it does; always the same
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <segue.h>

#define TYPE "com.example.note"

static void must(segue_status status) {
  if (status == SEGUE_OK)
    return;
  char message[SEGUE_MESSAGE_SIZE];
  segue_last_error(message, sizeof message);
  fprintf(stderr, "%s\n", message);
  exit(1);
}

static void require(int so, const char *what) {
  if (so)
    return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static double processor_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void check(segue_fleet *fleet) {
  char *violation;
  must(segue_fleet_check(fleet, &violation, NULL));
  require(violation == NULL, violation == NULL ? "" : violation);
}

static segue_fleet_device *add(segue_fleet *fleet, size_t number) {
  char name[32];
  segue_fleet_device *device;
  snprintf(name, sizeof name, "device%zu", number);
  must(segue_fleet_add_device(fleet, name, SEGUE_NUL_TERMINATED, &device));
  return device;
}

static segue_app *open_app(segue_fleet_device *device) {
  segue_app *app;
  must(segue_fleet_device_create_app(device, "com.example.notes", SEGUE_NUL_TERMINATED, &app));
  must(segue_app_add_activity_type(app, TYPE, SEGUE_NUL_TERMINATED));
  must(segue_app_open(app));
  return app;
}

static segue_activity *offer(segue_app *app) {
  segue_activity *activity;
  must(segue_activity_create(app, TYPE, SEGUE_NUL_TERMINATED, &activity));
  must(segue_activity_become_current(activity));
  return activity;
}

static void star(size_t count) {
  segue_fleet *fleet;
  segue_fleet_device **devices = calloc(count, sizeof *devices);
  segue_app **apps = calloc(count, sizeof *apps);
  require(devices != NULL && apps != NULL, "no memory");
  double began = processor_ms();
  must(segue_fleet_create(1, &fleet));
  must(segue_fleet_set_linking(fleet, false));
  for (size_t index = 0; index < count; index++) {
    devices[index] = add(fleet, index);
    apps[index] = open_app(devices[index]);
    if (index > 0)
      must(segue_fleet_device_set_linked(devices[0], devices[index], true));
  }
  must(segue_fleet_advance(fleet, 5000, NULL));
  printf("star_setup_ms %.1f\n", processor_ms() - began);
  began = processor_ms();
  segue_activity *activity = offer(apps[count - 1]);
  must(segue_fleet_run(fleet, NULL));
  printf("star_ms %.1f\n", processor_ms() - began);
  for (size_t index = 0; index + 1 < count; index++) {
    size_t seen;
    must(segue_app_get_offers(apps[index], NULL, 0, &seen));
    require(seen == 1, "an app has not heard of it");
  }
  check(fleet);
  must(segue_release(activity));
  for (size_t index = 0; index < count; index++) {
    must(segue_release(apps[index]));
    must(segue_release(devices[index]));
  }
  must(segue_release(fleet));
  free(devices);
  free(apps);
}

static void churn(unsigned minutes) {
  enum { COUNT = 20, STEP_MS = 5000 };
  segue_fleet *fleet;
  segue_fleet_device *devices[COUNT];
  segue_app *apps[COUNT];
  segue_activity *activities[COUNT] = {NULL};
  uint32_t random = 12345;
  size_t steps, all = 0;
  double began = processor_ms();
  must(segue_fleet_create(1, &fleet));
  for (size_t index = 0; index < COUNT; index++) {
    devices[index] = add(fleet, index);
    apps[index] = open_app(devices[index]);
  }
  for (unsigned left = minutes * 60000 / STEP_MS; left > 0; left--) {
    random = random * 1664525 + 1013904223;
    size_t index = (random >> 16) % COUNT;
    if (apps[index] != NULL) {
      must(segue_fleet_device_crash(devices[index]));
      must(segue_release(activities[index]));
      must(segue_release(apps[index]));
      apps[index] = NULL;
      activities[index] = NULL;
    } else {
      must(segue_fleet_device_restart(devices[index]));
      apps[index] = open_app(devices[index]);
      activities[index] = offer(apps[index]);
    }
    must(segue_fleet_advance(fleet, STEP_MS, &steps));
    all += steps;
  }
  double took = processor_ms() - began;
  printf("churn_ms %.1f\nevents_per_s %.0f\n", took, (double)all / (took / 1e3));
  check(fleet);
  for (size_t index = 0; index < COUNT; index++) {
    must(segue_release(activities[index]));
    must(segue_release(apps[index]));
    must(segue_release(devices[index]));
  }
  must(segue_release(fleet));
}

static void mesh(void) {
  enum { COUNT = 20 };
  segue_fleet *fleet;
  segue_fleet_device *devices[COUNT];
  segue_app *apps[COUNT];
  must(segue_fleet_create(1, &fleet));
  for (size_t index = 0; index < COUNT; index++) {
    devices[index] = add(fleet, index);
    /* Only the last app sees it: callbacks are not counted here. */
    must(segue_fleet_device_create_app(devices[index], "com.example.notes", SEGUE_NUL_TERMINATED, &apps[index]));
    must(segue_app_add_activity_type(apps[index], index + 1 == COUNT ? TYPE : "com.example.other",
                                     SEGUE_NUL_TERMINATED));
    must(segue_app_open(apps[index]));
  }
  must(segue_fleet_advance(fleet, 5000, NULL));
  segue_activity *activity = offer(apps[0]);
  must(segue_fleet_advance(fleet, 5000, NULL));
  size_t steps, seen;
  must(segue_activity_set_title(activity, "Another", SEGUE_NUL_TERMINATED));
  must(segue_fleet_run(fleet, &steps));
  must(segue_app_get_offers(apps[COUNT - 1], NULL, 0, &seen));
  require(seen == 1, "an app has not heard of it");
  check(fleet);
  printf("mesh_messages %zu\n", steps);
  must(segue_release(activity));
  for (size_t index = 0; index < COUNT; index++) {
    must(segue_release(apps[index]));
    must(segue_release(devices[index]));
  }
  must(segue_release(fleet));
}

int main(int count, char **arguments) {
  require(count == 3, "usage: fleet DEVICES MINUTES");
  star(strtoull(arguments[1], NULL, 10));
  mesh();
  churn((unsigned)strtoul(arguments[2], NULL, 10));
  return 0;
}
