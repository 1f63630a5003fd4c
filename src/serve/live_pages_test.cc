// Tests that live pages are found while their processes live, and only then.
#include "serve/live_pages.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "serve/server/serve_test_support.h"

namespace forebay {
namespace {

using serve_test::RuntimeFolder;

LivePage a_page(const std::string& url) { return {url, "images('photos')", "f00d", getpid(), 1, 2}; }

// Files of pages, whether their processes live or not.
int64_t files_in(const RuntimeFolder& runtime) {
  const std::filesystem::directory_iterator files(runtime.sockets() + "/pages");
  return std::distance(begin(files), end(files));
}

TEST(LivePages, NoFolderIsNoPage) {
  const RuntimeFolder runtime;
  EXPECT_TRUE(live_pages()->empty());
}

TEST(LivePages, APublishedPageIsFoundUntilItEnds) {
  const RuntimeFolder runtime;
  auto first = PublishedPage::publish(a_page("http://127.0.0.1:1/#a"));
  auto second = PublishedPage::publish(a_page("http://127.0.0.1:2/#b"));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto pages = live_pages();
  ASSERT_EQ(pages->size(), 2U);
  EXPECT_EQ((*pages)[0].url, "http://127.0.0.1:1/#a");
  EXPECT_EQ((*pages)[0].pipeline, "images('photos')");
  EXPECT_EQ((*pages)[0].fingerprint, "f00d");
  EXPECT_EQ((*pages)[0].process, getpid());
  EXPECT_EQ((*pages)[1].rank, 1);
  EXPECT_EQ((*pages)[1].world_size, 2);
  first->reset();
  EXPECT_EQ(live_pages()->size(), 1U);
  EXPECT_EQ(files_in(runtime), 1);
}

TEST(LivePages, OnlyTheUserCanReadAToken) {
  const RuntimeFolder runtime;
  const auto page = PublishedPage::publish(a_page("http://127.0.0.1:1/#a"));
  struct stat folder{};
  ASSERT_EQ(lstat((runtime.sockets() + "/pages").c_str(), &folder), 0);
  EXPECT_EQ(folder.st_mode & 0777, 0700U);
  for (const auto& file : std::filesystem::directory_iterator(runtime.sockets() + "/pages")) {
    struct stat info{};
    ASSERT_EQ(lstat(file.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
  }
}

TEST(LivePages, AFolderThatOthersCanEnterIsRefused) {
  const RuntimeFolder runtime;
  ASSERT_TRUE(PublishedPage::publish(a_page("u")).ok());
  ASSERT_EQ(chmod((runtime.sockets() + "/pages").c_str(), 0755), 0);
  EXPECT_FALSE(live_pages().ok());
  EXPECT_FALSE(PublishedPage::publish(a_page("u")).ok());
}

TEST(LivePages, TheFileOfAKilledProcessIsRemoved) {
  const RuntimeFolder runtime;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const auto page = PublishedPage::publish(a_page("http://127.0.0.1:1/#a"));
    const char mark = page.ok() ? 'y' : 'n';
    (void)!write(ready[1], &mark, 1);
    pause();
    _exit(0);
  }
  char mark = 0;
  ASSERT_EQ(read(ready[0], &mark, 1), 1);
  ASSERT_EQ(mark, 'y');
  EXPECT_EQ(live_pages()->size(), 1U);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(live_pages()->empty());
  EXPECT_EQ(files_in(runtime), 0);
  close(ready[0]), close(ready[1]);
}

TEST(LivePages, AForgottenPageIsNotRemoved) {
  const RuntimeFolder runtime;
  auto page = PublishedPage::publish(a_page("http://127.0.0.1:1/#a"));
  (*page)->forget();
  page->reset();
  EXPECT_EQ(files_in(runtime), 1);
  EXPECT_TRUE(live_pages()->empty()) << "nobody holds the lock";
}

TEST(LivePages, AFileThatIsNoPageIsLeftOut) {
  const RuntimeFolder runtime;
  const auto page = PublishedPage::publish(a_page("http://127.0.0.1:1/#a"));
  std::filesystem::create_directory(runtime.sockets() + "/pages/1-1.page");
  std::ofstream(runtime.sockets() + "/pages/other.txt") << "mine";
  EXPECT_EQ(live_pages()->size(), 1U);
  EXPECT_TRUE(std::filesystem::exists(runtime.sockets() + "/pages/other.txt"));
}

}  // namespace
}  // namespace forebay
