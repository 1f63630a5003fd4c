#include "store/local/local_store.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <iterator>
#include <thread>

#include "base/eventually_test_support.h"
#include "forebay/stats/store.h"
#include "store/conformance.h"
#include "store/scratch_folder.h"

namespace forebay::conformance {

namespace {

/// A store whose folder lives as long as the store.
struct StoreAndFolder {
  ScratchFolder folder;
  std::shared_ptr<Store> store;
};

std::shared_ptr<Store> make_local(const Objects& objects, LocalOptions options) {
  auto both = std::make_shared<StoreAndFolder>();
  for (const auto& [key, bytes] : objects) both->folder.write(key, bytes);
  both->store = local_store(both->folder.path(), options);
  Store* const store = both->store.get();
  return std::shared_ptr<Store>(std::move(both), store);
}

size_t open_descriptors() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/fd"), Iterator()));
}

size_t own_threads() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<size_t>(std::distance(Iterator("/proc/self/task"), Iterator()));
}

Code read_code(Store& store, const std::string& key) { return read_wait(store, whole(key), {}).status().code(); }

}  // namespace

INSTANTIATE_TEST_SUITE_P(Local, StoreConformance,
                         testing::Values(Driver{"threads_16", [](const Objects& o) { return make_local(o, {}); }},
                                         Driver{"threads_1",
                                                [](const Objects& o) { return make_local(o, {.io_threads = 1}); }},
                                         Driver{"no_idle_buffers", [](const Objects& o) {
                                                  return make_local(o, {.idle_buffer_bytes = 0});
                                                }}));

TEST(LocalStore, ReadsFreshlyWrittenFilesWithoutWaiting) {
  ScratchFolder folder;
  folder.write("x", std::string(100'000, 'x'));
  const auto store = local_store(folder.path());
  ASSERT_TRUE(read_wait(*store, whole("x"), {}).ok());
  const auto now = store->read_now(whole("x"));
  if (!now) GTEST_SKIP() << "this kernel or file system has no reads that never wait";
  EXPECT_EQ(now->value().size(), 100'000u);
  EXPECT_EQ(store->stats().immediate, 1u);
}

TEST(LocalStore, ReadsToTheMemoryThatIsGivenWhereItIsLargeEnough) {
  ScratchFolder folder;
  folder.write("x", std::string(100'000, 'x'));
  const auto store = local_store(folder.path());
  for (const size_t given : {size_t{0}, size_t{99'999}, size_t{100'000}, size_t{120'000}}) {
    ReadRequest request = whole("x");
    request.into = Buffer::allocate(given);
    const auto there = [&](const Buffer& bytes) {
      EXPECT_EQ(bytes.size(), 100'000u);
      EXPECT_EQ(bytes.data()[99'999], 'x');
      return bytes.data() == request.into.data();
    };
    EXPECT_EQ(there(read_wait(*store, request, {}).value()), given >= 100'000) << given;
    if (const auto now = store->read_now(request)) {
      EXPECT_EQ(there(now->value()), given >= 100'000) << given;
    }
  }
}

TEST(LocalStore, RefusesWhatIsNoRegularFile) {
  ScratchFolder folder;
  folder.write("dir/x", "1");
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  const int listener = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  folder.path("socket").copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  std::filesystem::create_symlink("/dev/zero", folder.path("device"));

  const auto store = local_store(folder.path());
  for (const char* key : {"dir", "fifo", "socket", "device"}) {
    EXPECT_EQ(read_code(*store, key), Code::kUnsupported) << key;
    const auto now = store->read_now(whole(key));
    if (now) {
      EXPECT_EQ(now->status().code(), Code::kUnsupported) << key;
    }
  }
  ::close(listener);
  const auto page = list_wait(*store, {"", "", 100}, {}).value();
  EXPECT_EQ(page.objects.size(), 3u) << "reading them says what they are";
}

TEST(LocalStore, FollowsLinksButNotInCircles) {
  ScratchFolder folder;
  folder.write("a/b/x", "1");
  folder.write("elsewhere/y", "2");
  std::filesystem::create_symlink("../../elsewhere", folder.path("a/b/link"));
  std::filesystem::create_symlink("../..", folder.path("a/b/up"));
  std::filesystem::create_symlink(".", folder.path("a/b/self"));
  std::filesystem::create_symlink("nowhere", folder.path("a/b/dead"));
  std::filesystem::create_symlink("ring", folder.path("a/b/ring"));
  std::filesystem::create_symlink(folder.path().substr(0, folder.path().rfind('/')), folder.path("above"));
  const auto store = local_store(folder.path());
  const auto page = list_wait(*store, {"a/b/", "", 100}, {}).value();
  EXPECT_EQ(page.prefixes, std::vector<std::string>{"a/b/link/"});
  EXPECT_EQ(page.circular.size(), 2u);
  EXPECT_EQ(std::ranges::count_if(page.objects, &ObjectInfo::dead_link), 2) << "a dead link and a ring";
  // A link to a folder above the root leads back to the root once, and not again.
  const std::string name = folder.path().substr(folder.path().rfind('/') + 1);
  const auto around = list_wait(*store, {"above/", "", 100'000}, {}).value();
  EXPECT_TRUE(std::ranges::find(around.prefixes, "above/" + name + "/") == around.prefixes.end());
}

TEST(LocalStore, AMissingPermissionIsNamed) {
  ScratchFolder folder;
  folder.write("secret", "1");
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(folder.path("secret").c_str(), 0), 0);
  const bool root = ::geteuid() == 0;  // root may read everything
  if (root) {
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const auto store = local_store(folder.path());
  const auto answer = read_wait(*store, whole("secret"), {});
  const auto now = store->read_now(whole("secret"));
  if (root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(answer.status().code(), Code::kInvalidArgument);
  EXPECT_NE(answer.status().message().find("permission denied"), std::string::npos);
  EXPECT_TRUE(!now || now->status().code() == Code::kInvalidArgument);
}

TEST(LocalStore, RunningOutOfDescriptorsIsUnavailableAndSaysTheWayOut) {
  ScratchFolder folder;
  folder.write("x", "1");
  const auto store = local_store(folder.path());
  ASSERT_TRUE(read_wait(*store, whole("x"), {}).ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const auto answer = read_wait(*store, whole("x"), {});
  const auto now = store->read_now(whole("x"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_NE(answer.status().message().find("ulimit -n"), std::string::npos);
  if (now) {
    EXPECT_EQ(now->status().code(), Code::kUnavailable);
  }
  EXPECT_TRUE(read_wait(*store, whole("x"), {}).ok());
}

TEST(LocalStore, LeavesNoDescriptorAndNoThread) {
  ScratchFolder folder;
  folder.write("x", "1");
  folder.write("d/y", "1");
  const size_t descriptors = open_descriptors(), threads = own_threads();
  for (int i = 0; i < 200; ++i) {
    const auto store = local_store(folder.path());
    (void)read_wait(*store, whole("x"), {});
    (void)read_wait(*store, whole("missing"), {});
    (void)read_wait(*store, whole("d"), {});
    ReadRequest changed = whole("x");
    changed.expected_size = 9;
    (void)read_wait(*store, changed, {});
    (void)store->read_now(whole("x"));
    (void)store->read_now(changed);
    (void)store->read_now(whole("missing"));
    (void)list_wait(*store, {"", "", 1}, {});
    (void)stat_wait(*store, "x", {});
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  // The kernel counts a joined thread for a moment longer.
  EXPECT_TRUE(eventually([&] { return own_threads() == threads; })) << own_threads();
}

TEST(LocalStore, StartsNoThreadBeforeTheFirstRead) {
  const size_t threads = own_threads();
  const auto store = local_store("/");
  EXPECT_EQ(own_threads(), threads);
}

TEST(LocalStore, KeysOfAnEmptyRootArePaths) {
  ScratchFolder folder;
  folder.write("x", "1");
  const auto paths = local_store("");
  EXPECT_EQ(read_code(*paths, folder.path("x")), Code::kOk);
  EXPECT_EQ(paths->display_name("photos/x.jpg"), "photos/x.jpg");
  EXPECT_TRUE(list_wait(*paths, {folder.path() + "/", "", 10}, {}).ok());
  const auto rooted = local_store(folder.path() + "/none");
  EXPECT_EQ(read_code(*rooted, folder.path("x")), Code::kNotFound) << "a key of a store with a root stays below it";
}

TEST(LocalStore, AForkIsToldAndDoesNotHang) {
  ScratchFolder folder;
  folder.write("x", "1");
  auto store = local_store(folder.path());
  ASSERT_TRUE(read_wait(*store, whole("x"), {}).ok());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(10);
    const bool refused = read_code(*store, "x") == Code::kInvalidArgument;
    store.reset();
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(read_wait(*store, whole("x"), {}).ok());
}

TEST(LocalStore, AFileThatIsWrittenAgainHasAnotherVersion) {
  ScratchFolder folder;
  folder.write("x", "one");
  const auto store = local_store(folder.path());
  const ObjectInfo first = stat_wait(*store, "x", {}).value();
  EXPECT_NE(first.version, 0u);
  EXPECT_EQ(list_wait(*store, {"", "", 10}, {}).value().objects.at(0).version, first.version);
  folder.write("y", "two");
  std::filesystem::rename(folder.path("y"), folder.path("x"));
  const uint64_t replaced = stat_wait(*store, "x", {}).value().version;
  EXPECT_NE(replaced, first.version) << "another file of the same name and size";
  struct ::timespec times[2] = {{0, UTIME_OMIT}, {12345, 678}};
  ASSERT_EQ(::utimensat(AT_FDCWD, folder.path("x").c_str(), times, 0), 0);
  EXPECT_NE(stat_wait(*store, "x", {}).value().version, replaced) << "another time of change";
}

TEST(Versions, ETagsAreComparedWithoutTheirQuotesAndWeakOnesSayNothing) {
  EXPECT_EQ(version_of_etag("\"abc\""), version_of_etag("abc"));
  EXPECT_NE(version_of_etag("\"abc\""), version_of_etag("\"abd\""));
  EXPECT_NE(version_of_etag("\"abc\""), 0u);
  EXPECT_EQ(version_of_etag(""), 0u);
  EXPECT_EQ(version_of_etag("W/\"abc\""), 0u);
}

}  // namespace forebay::conformance
