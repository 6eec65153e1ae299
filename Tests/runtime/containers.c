/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Files of containers under attack (R5.4):
 *
 *     containers fast|ENOSYS|EPERM ATTACK
 *
 * fast opens files with openat2; the others refuse that call with this error, as old systems and sandboxes do. In the
 * current folder there is docs, the container, with file, folder/file and the container inner inside of it; and secret,
 * which nobody may reach by it. Two threads exchange docs/swapped (a folder with a file), docs/link (a symbolic link to
 * the folder outside), docs/target (a file) and docs/other (a link to the file outside) all the time. Says nothing
 * unless something is wrong. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include "../require.h"

static char home[3000];
static bool is_fast;
static segue_app *app;
static segue_activity *activity;

static void make(const char *path, const char *text) {
  int fd = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  REQUIRE(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && close(fd) == 0);
}

/* A URL below home, as it stands. */
static segue_status begin(const char *path, uint32_t flags, segue_access **access, int *fd) {
  static _Thread_local char url[20000];
  snprintf(url, sizeof url, "file://%s/%s", home, path);
  return segue_activity_access_begin(activity, url, NUL, flags, access, fd);
}

/* Reads a file through an access, and checks that it is none outside of the container. */
static segue_status try_to_read(const char *path, char *text, size_t size) {
  segue_access *access = NULL;
  int fd = -1;
  segue_status status = begin(path, 0, &access, &fd);
  if (status != SEGUE_OK) {
    REQUIRE(access == NULL && fd == -1);
    return status;
  }
  ssize_t count = read(fd, text, size - 1);
  text[count < 0 ? 0 : count] = 0;
  REQUIRE(strcmp(text, "secret") != 0);
  OK(segue_access_end(access));
  REQUIRE(fcntl(fd, F_GETFD) == -1 && errno == EBADF);
  OK(segue_access_end(access));
  OK(segue_release(access));
  return SEGUE_OK;
}

static void expect(const char *path, segue_status wanted) {
  char text[64] = "";
  segue_status status = try_to_read(path, text, sizeof text);
  if (status != wanted)
    fprintf(stderr, "%.100s: %s, not %s\n", path, segue_status_name(status), segue_status_name(wanted));
  REQUIRE(status == wanted);
}

static void expect_text(const char *path, const char *wanted) {
  char text[64] = "";
  OK(try_to_read(path, text, sizeof text));
  REQUIRE(strcmp(text, wanted) == 0);
}

#define DENIED SEGUE_ERROR_NOT_ALLOWED
#define LATER SEGUE_ERROR_NOT_THERE_YET

/* URLs that work: the setup is right, and the URLs below are refused for their own sake. */
static void inside(void) {
  expect_text("docs/file", "inside");
  expect_text("docs/folder/file", "deeper");
  expect_text("docs/%66ile", "inside");
  expect_text("docs/folder//file", "deeper"); /* several slashes are one */
  expect("docs/file?query", SEGUE_ERROR_INVALID_URL);
  expect("docs/file#fragment", SEGUE_ERROR_INVALID_URL);
  expect("docs/folder/", SEGUE_OK);
  expect("docs", SEGUE_OK);
  expect("docs/", SEGUE_OK);
  expect_text("real/file", "inside"); /* docs was registered by way of a link, too */
  segue_access *access = NULL;
  int fd = -1;
  OK(begin("docs/file", SEGUE_ACCESS_WRITE, &access, &fd));
  REQUIRE(pwrite(fd, "INSIDE", 6, 0) == 6 && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0);
  REQUIRE(fcntl(fd, F_GETFD) == FD_CLOEXEC);
  OK(segue_release(access));
  REQUIRE(fcntl(fd, F_GETFD) == -1);
  expect_text("docs/file", "INSIDE");
  REQUIRE(begin("docs/file", 2, &access, &fd) == SEGUE_ERROR_INVALID_ARGUMENT);
  REQUIRE(begin("docs/folder", SEGUE_ACCESS_WRITE, &access, &fd) == DENIED);
}

static void parent(void) {
  expect("docs/../secret", DENIED);
  expect("docs/folder/../../secret", DENIED);
  expect("docs/folder/../file", DENIED);
  expect("docs/..", DENIED);
}

static void percent(void) {
  expect("docs/%2e%2e/secret", DENIED);
  expect("docs/%2E./secret", DENIED);
  expect("docs/folder%2F..%2F..%2Fsecret", DENIED);
  expect("docs%2ffile", DENIED);
  expect("docs/%zz", SEGUE_ERROR_INVALID_URL);
}

static void absolute(void) {
  expect("docs//etc/passwd", LATER); /* of the container, where there is none yet */
  expect_text("/docs/file", "inside");
  REQUIRE(segue_activity_access_begin(activity, "file:///etc/passwd", NUL, 0, &(segue_access *){0}, NULL) == DENIED);
  REQUIRE(segue_activity_access_begin(activity, "/etc/passwd", NUL, 0, &(segue_access *){0}, NULL) ==
          SEGUE_ERROR_INVALID_URL);
}

static void symlink_out(void) {
  REQUIRE(symlink("../secret", "docs/relative") == 0 && symlink("..", "docs/up") == 0);
  char path[4000];
  snprintf(path, sizeof path, "%s/secret", home);
  REQUIRE(symlink(path, "docs/absolute") == 0 && symlink("/proc/self/root", "docs/magic") == 0);
  snprintf(path, sizeof path, "%s/docs/file", home);
  REQUIRE(symlink(path, "docs/roundabout") == 0 && symlink("../docs/file", "docs/over") == 0);
  const char *links[] = {"docs/relative", "docs/up/secret", "docs/absolute",   "docs/magic",
                         "docs/up",       "docs/up/",       "docs/roundabout", "docs/over"};
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    expect(links[i], DENIED);
}

/* openat2 follows links that stay inside; the way without it follows none. */
static void symlink_in(void) {
  REQUIRE(symlink("folder", "docs/in") == 0 && symlink("folder/file", "docs/in2") == 0);
  REQUIRE(symlink("../file", "docs/folder/up") == 0 && symlink("nothing", "docs/dangling") == 0);
  REQUIRE(symlink("loop", "docs/loop") == 0);
  const char *links[] = {"docs/in/file", "docs/in2", "docs/folder/up", "docs/in/"};
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    expect(links[i], is_fast ? SEGUE_OK : DENIED);
  expect("docs/dangling", is_fast ? LATER : DENIED);
  expect("docs/loop", DENIED);
}

static atomic_bool is_over;

static void *exchange(void *names) {
  char **name = names;
  while (!is_over)
    REQUIRE(syscall(SYS_renameat2, AT_FDCWD, name[0], AT_FDCWD, name[1], 2 /* RENAME_EXCHANGE */) == 0);
  return NULL;
}

/* While other threads exchange links and files, each answer is of what was inside, or says no. */
static void swapped(void) {
  REQUIRE(mkdir("docs/swapped", 0700) == 0 && mkdir("outside", 0700) == 0);
  make("docs/swapped/file", "swapped");
  make("outside/file", "secret");
  make("docs/target", "target");
  REQUIRE(symlink("../outside", "docs/link") == 0 && symlink("../secret", "docs/other") == 0);
  REQUIRE(symlink("swapped/../swapped/../target", "docs/winding") == 0);
  char *folders[] = {"docs/swapped", "docs/link"}, *files[] = {"docs/target", "docs/other"};
  pthread_t threads[2];
  REQUIRE(pthread_create(&threads[0], NULL, exchange, folders) == 0);
  REQUIRE(pthread_create(&threads[1], NULL, exchange, files) == 0);
  int opened = 0, denied = 0;
  const char *paths[] = {"docs/swapped/file", "docs/target", "docs/link/file", "docs/other", "docs/winding"};
  for (int i = 0; i < 1500 || ((opened == 0 || denied == 0) && i < 1000000); i++) {
    char text[64] = "";
    segue_status status = try_to_read(paths[i % 5], text, sizeof text);
    REQUIRE(status == SEGUE_OK || status == DENIED || (status == LATER && i % 5 == 4));
    REQUIRE(status != SEGUE_OK || strcmp(text, "swapped") == 0 || strcmp(text, "target") == 0);
    opened += status == SEGUE_OK;
    denied += status == DENIED;
  }
  is_over = true;
  pthread_join(threads[0], NULL);
  pthread_join(threads[1], NULL);
  REQUIRE(opened > 0 && denied > 0);
}

static void nul(void) {
  expect("docs/file%00", DENIED);
  expect("docs/file%00.txt", DENIED);
  char url[4000];
  int length = snprintf(url, sizeof url, "file://%s/docs/file%cx", home, 0);
  REQUIRE(segue_activity_access_begin(activity, url, (size_t)length, 0, &(segue_access *){0}, NULL) ==
          SEGUE_ERROR_INVALID_URL);
}

static void over_long(void) {
  char path[12000] = "docs/";
  memset(path + 5, 'n', 256);
  expect(path, DENIED);
  for (size_t i = 5; i < 11000; i++)
    path[i] = i % 2 ? 'd' : '/';
  expect(path, DENIED);
}

/* A container beside it, one inside of it, and one that is removed. */
static void other_container(void) {
  REQUIRE(mkdir("other", 0700) == 0);
  make("other/file", "other");
  expect("other/file", DENIED);
  char path[4000];
  snprintf(path, sizeof path, "%s/other", home);
  OK(segue_app_add_container(app, "com.example.other", NUL, path, NUL));
  expect_text("other/file", "other");
  REQUIRE(symlink("../other/file", "docs/to_other") == 0);
  expect("docs/to_other", DENIED);
  OK(segue_app_remove_container(app, "com.example.other", NUL));
  expect("other/file", DENIED);
  REQUIRE(segue_app_add_container(app, "com.example.other", NUL, home, NUL) == SEGUE_OK);
  expect_text("docs/file", "inside");
}

static void nested_container(void) {
  expect_text("docs/inner/file", "inner");
  REQUIRE(symlink("../file", "docs/inner/up") == 0);
  expect("docs/inner/up", DENIED); /* beneath docs, but not beneath the innermost container */
  OK(segue_app_remove_container(app, "com.example.inner", NUL));
  expect("docs/inner/up", is_fast ? SEGUE_OK : DENIED);
}

static void host(void) {
  char url[4000];
  const char *hosts[] = {"host", "127.0.0.1", "user@localhost", "localhost:1", "localhost.", "%6Cocalhost"};
  for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
    snprintf(url, sizeof url, "file://%s%s/docs/file", hosts[i], home);
    REQUIRE(segue_activity_access_begin(activity, url, NUL, 0, &(segue_access *){0}, NULL) == DENIED);
  }
  snprintf(url, sizeof url, "file://LocalHost%s/docs/file", home);
  segue_access *access;
  OK(segue_activity_access_begin(activity, url, NUL, 0, &access, NULL));
  OK(segue_release(access));
}

/* It is not opened at all: a writer would see that. */
static void fifo(void) {
  REQUIRE(mkfifo("docs/fifo", 0600) == 0);
  int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  REQUIRE(inotify_add_watch(watch, "docs/fifo", IN_OPEN) >= 0);
  struct inotify_event event;
  segue_access *access = NULL;
  int fd = -1;
  expect("docs/fifo", DENIED);
  REQUIRE(begin("docs/fifo", SEGUE_ACCESS_WRITE, &access, &fd) == DENIED);
  REQUIRE(read(watch, &event, sizeof event) < 0 && errno == EAGAIN);
  REQUIRE(open("docs/fifo", O_RDONLY | O_NONBLOCK) >= 0 && read(watch, &event, sizeof event) > 0);
  close(watch);
}

static void device(void) {
  if (mknod("docs/device", S_IFCHR | 0600, 1 << 8 | 5 /* /dev/zero */) == 0)
    expect("docs/device", DENIED);
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "docs/socket"};
  REQUIRE(bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
  expect("docs/socket", DENIED);
  OK(segue_app_add_container(app, "com.example.devices", NUL, "/dev", NUL));
  REQUIRE(segue_activity_access_begin(activity, "file:///dev/zero", NUL, 0, &(segue_access *){0}, NULL) == DENIED);
  close(fd);
}

static void composed(void) {
  make("docs/caf\xc3\xa9", "composed");
  expect_text("docs/caf%C3%A9", "composed");
  expect("docs/cafe%CC%81", LATER);
  make("docs/\xff", "no text");
  expect_text("docs/%FF", "no text");
}

static void slashes(void) {
  expect("docs/file/", DENIED);
  expect("docs/folder/file/", DENIED);
  expect("docs/file/file", DENIED);
  expect("docs/file//", DENIED);
  expect("docs//", SEGUE_OK);
}

static void vanishing(void) {
  expect("docs/nothing", LATER);
  expect("docs/nothing/file", LATER);
  segue_access *access;
  int fd;
  char text[8] = "";
  OK(begin("docs/file", 0, &access, &fd));
  REQUIRE(unlink("docs/file") == 0);
  REQUIRE(read(fd, text, sizeof text) == 6);
  OK(segue_release(access));
  expect("docs/file", LATER);
}

/* The folder of the container is missing, comes, cannot be searched, or is replaced. */
static void folder_gone(void) {
  REQUIRE(rename("docs", "away") == 0);
  expect("docs/file", LATER);
  REQUIRE(symlink("away", "docs") == 0);
  expect("docs/file", DENIED);
  REQUIRE(unlink("docs") == 0);
  make("docs", "a file");
  expect("docs/file", DENIED);
  REQUIRE(unlink("docs") == 0 && mkdir("docs", 0700) == 0);
  make("docs/file", "another");
  expect_text("docs/file", "another");
  REQUIRE(chmod("docs", 0) == 0);
  if (geteuid() != 0)
    expect("docs/file", DENIED);
  REQUIRE(chmod("docs", 0700) == 0 && chmod("docs/file", 0) == 0);
  if (geteuid() != 0)
    expect("docs/file", DENIED);
  char path[4000];
  snprintf(path, sizeof path, "%s/later", home);
  OK(segue_app_add_container(app, "com.example.later", NUL, path, NUL));
  expect("later/file", LATER);
  REQUIRE(mkdir("later", 0700) == 0);
  make("later/file", "late");
  expect_text("later/file", "late");
}

static int descriptors(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder))
    count++;
  closedir(folder);
  return count;
}

static void ten_thousand(void) {
  symlink_out();
  int before = descriptors();
  size_t handles = 0, now = 0;
  OK(segue_debug_live_handles(&handles));
  const char *paths[] = {"docs/file", "docs/folder/file", "docs/folder/", "docs/nothing", "docs/up/secret"};
  for (int i = 0; i < 10000; i++) {
    segue_access *access = NULL;
    if (begin(paths[i % 5], 0, &access, NULL) == SEGUE_OK)
      OK(segue_release(access));
  }
  OK(segue_debug_live_handles(&now));
  REQUIRE(descriptors() == before && now == handles);
}

static const struct {
  const char *name;
  void (*run)(void);
} attacks[] = {
    {"inside", inside},
    {"parent", parent},
    {"percent", percent},
    {"absolute", absolute},
    {"symlink_out", symlink_out},
    {"symlink_in", symlink_in},
    {"swapped", swapped},
    {"nul", nul},
    {"over_long", over_long},
    {"other_container", other_container},
    {"nested_container", nested_container},
    {"host", host},
    {"fifo", fifo},
    {"device", device},
    {"composed", composed},
    {"slashes", slashes},
    {"vanishing", vanishing},
    {"folder_gone", folder_gone},
    {"ten_thousand", ten_thousand},
};

static void refuse_openat2(int number) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437 /* openat2 */, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)number),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  struct sock_fprog program = {.len = 4, .filter = filter};
  REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static void add(const char *identifier, const char *name) {
  char path[4000];
  snprintf(path, sizeof path, "%s/%s", home, name);
  OK(segue_app_add_container(app, identifier, NUL, path, NUL));
}

int main(int count, char **arguments) {
  REQUIRE(count == 3 && getcwd(home, sizeof home));
  is_fast = strcmp(arguments[1], "fast") == 0;
  if (!is_fast)
    refuse_openat2(strcmp(arguments[1], "ENOSYS") == 0 ? ENOSYS : EPERM);
  REQUIRE(mkdir("real", 0700) == 0 && mkdir("real/folder", 0700) == 0 && mkdir("real/inner", 0700) == 0);
  make("secret", "secret");
  make("real/file", "inside");
  make("real/folder/file", "deeper");
  make("real/inner/file", "inner");
  OK(segue_app_create("com.example.contained", NUL, &app));
  OK(segue_activity_create(app, "com.example.editing", NUL, &activity));
  bool is_linked = strcmp(arguments[2], "inside") == 0;
  REQUIRE(is_linked ? symlink("real", "docs") == 0 : rename("real", "docs") == 0);
  add("com.example.docs", "docs");
  add("com.example.inner", "docs/inner");
  for (size_t i = 0; i < sizeof attacks / sizeof *attacks; i++)
    if (strcmp(attacks[i].name, arguments[2]) == 0) {
      attacks[i].run();
      OK(segue_release(activity));
      OK(segue_release(app));
      return 0;
    }
  return 2;
}
