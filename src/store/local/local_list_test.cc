#include "store/local/local_list.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "store/calls.h"
#include "store/local/local_file.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

ListRequest below(std::string prefix, std::string continuation = "") {
  return {std::move(prefix), std::move(continuation)};
}

struct Listed {
  std::map<std::string, uint64_t> objects;
  std::set<std::string> folders;
  uint64_t hidden = 0;
  std::set<std::string> circular, dead;
  int pages = 0;
};

Listed listed(const ScratchFolder& folder, const std::string& prefix = "", uint32_t max_keys = 10'000) {
  Listed all;
  ListRequest request = below(prefix);
  request.max_keys = max_keys;
  do {
    const auto page = list_folder(folder.path() + "/", request, {});
    EXPECT_TRUE(page.ok()) << page.status().to_string();
    if (!page.ok()) return all;
    for (const ObjectInfo& object : page->objects) {
      EXPECT_TRUE(all.objects.emplace(object.key, object.size).second);
      if (object.dead_link) all.dead.insert(object.key);
    }
    for (const std::string& below : page->prefixes) EXPECT_TRUE(all.folders.insert(below).second) << "named twice";
    all.hidden += page->hidden;
    all.circular.insert(page->circular.begin(), page->circular.end());
    ++all.pages;
    request.continuation = page->continuation;
  } while (!request.continuation.empty());
  return all;
}

TEST(ListFolder, in_pages_of_any_size_is_every_entry_once) {
  std::mt19937 random(3);
  const ScratchFolder folder;
  std::map<std::string, uint64_t> files;
  std::set<std::string> folders;
  for (int i = 0; i < 120; ++i) {
    const std::string name = "n" + std::to_string(random() % 100'000);
    if (files.contains("top/" + name) || folders.contains("top/" + name + "/")) continue;
    if (i % 4 == 0) {
      folder.write("top/" + name + "/inner", "x");
      folders.insert("top/" + name + "/");
    } else {
      const auto size = static_cast<size_t>(random() % 50);
      folder.write("top/" + name, std::string(size, 'x'));
      files["top/" + name] = size;
    }
  }
  for (const uint32_t max_keys : {0u, 1u, 7u, 100u, 10'000u}) {
    const Listed all = listed(folder, "top/", max_keys);
    EXPECT_EQ(all.objects, files) << max_keys;
    EXPECT_EQ(all.folders, folders) << max_keys;
    EXPECT_GE(static_cast<size_t>(all.pages) * std::max(max_keys, 1u), files.size() + folders.size());
  }
}

TEST(ListFolder, names_what_cannot_be_read_and_counts_what_is_hidden) {
  const ScratchFolder folder;
  folder.write("seen", "1");
  folder.write(".hidden", "2");
  folder.write(".folder/x", "3");
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("/does/not/exist", folder.path("nowhere").c_str()), 0);
  ASSERT_EQ(::symlink("round", folder.path("round").c_str()), 0);
  ASSERT_EQ(::symlink(".", folder.path("itself").c_str()), 0);
  ASSERT_EQ(::symlink("seen", folder.path("link").c_str()), 0);
  const Listed all = listed(folder);
  EXPECT_EQ(all.objects,
            (std::map<std::string, uint64_t>{{"seen", 1}, {"link", 1}, {"fifo", 0}, {"nowhere", 0}, {"round", 0}}))
      << "a link to a file is one";
  EXPECT_EQ(all.dead, (std::set<std::string>{"nowhere", "round"}));
  EXPECT_EQ(all.circular, std::set<std::string>{"itself"});
  EXPECT_TRUE(all.folders.empty());
  EXPECT_EQ(all.hidden, 2u);
}

TEST(ListFolder, a_link_to_a_folder_above_is_a_circle_and_one_to_a_folder_beside_is_not) {
  const ScratchFolder folder;
  folder.write("a/b/file", "x");
  folder.write("beside/file", "x");
  ASSERT_EQ(::symlink("../..", folder.path("a/b/up").c_str()), 0);
  ASSERT_EQ(::symlink("../../beside", folder.path("a/b/across").c_str()), 0);
  const Listed all = listed(folder, "a/b/");
  EXPECT_EQ(all.folders, std::set<std::string>{"a/b/across/"});
  EXPECT_EQ(all.circular, std::set<std::string>{"a/b/up"});
}

TEST(ListFolder, of_what_is_no_folder_says_so) {
  const ScratchFolder folder;
  folder.write("file", "x");
  const auto code = [&](const char* prefix) { return list_folder(folder.path() + "/", below(prefix), {}).status(); };
  EXPECT_EQ(code("none/").code(), Code::kNotFound);
  EXPECT_EQ(code("file/").code(), Code::kNotFound);
  EXPECT_NE(code("file").message().find("there is a file of this name"), std::string::npos);
}

TEST(ListFolder, a_stop_ends_it) {
  const ScratchFolder folder;
  folder.write("file", "x");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(list_folder(folder.path() + "/", {}, stop.get_token()).status().code(), Code::kCancelled);
}

TEST(ListFolder, a_continuation_that_no_page_gave_is_refused) {
  const ScratchFolder folder;
  for (const char* text : {"next", "12x", " 1"})
    EXPECT_EQ(list_folder(folder.path() + "/", below("", text), {}).status().code(), Code::kInvalidArgument) << text;
}

TEST(ListFolder, gives_versions_that_change_when_a_file_is_written_in_place_of_another) {
  const ScratchFolder folder;
  folder.write("file", "first");
  const auto version = [&] { return list_folder(folder.path() + "/", {}, {})->objects.at(0).version; };
  const uint64_t before = version();
  EXPECT_EQ(version(), before);
  folder.write("new", "other");
  ASSERT_EQ(::rename(folder.path("new").c_str(), folder.path("file").c_str()), 0);
  EXPECT_NE(version(), before) << "another inode, though of the same size";
  EXPECT_NE(before, 0u);
}

// ---- single files

TEST(StatusOfErrno, says_for_each_what_to_do_or_to_try_again) {
  for (const int missing : {ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG})
    EXPECT_EQ(status_of_errno(missing).code(), Code::kNotFound) << missing;
  for (const int denied : {EACCES, EPERM}) {
    EXPECT_EQ(status_of_errno(denied).code(), Code::kInvalidArgument);
    EXPECT_NE(status_of_errno(denied).message().find("the right to read"), std::string::npos);
  }
  EXPECT_NE(status_of_errno(EMFILE).message().find("ulimit -n"), std::string::npos);
  EXPECT_NE(status_of_errno(ENFILE).message().find("fs.file-max"), std::string::npos);
  for (const int passing : {EMFILE, ENFILE, EIO, ESTALE, ENOMEM})
    EXPECT_EQ(status_of_errno(passing).code(), Code::kUnavailable) << passing;
  EXPECT_NE(status_of_errno(EIO).message().find("(errno 5)"), std::string::npos);
}

TEST(FileDescriptors, are_closed_once_by_whoever_has_them_last) {
  const auto is_open = [](int fd) { return ::fcntl(fd, F_GETFD) >= 0; };
  int fd = -1;
  {
    FileDescriptor first(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    fd = first.get();
    ASSERT_TRUE(first.valid());
    FileDescriptor second(std::move(first));
    EXPECT_FALSE(first.valid());
    FileDescriptor third;
    third = std::move(second);
    EXPECT_EQ(third.get(), fd);
    EXPECT_TRUE(is_open(fd));
  }
  EXPECT_FALSE(is_open(fd));
  FileDescriptor released(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  fd = released.release();
  EXPECT_FALSE(released.valid());
  EXPECT_EQ(::close(fd), 0);
}

TEST(ReadFile, gives_any_part_as_it_stands_in_the_file) {
  std::mt19937 random(5);
  std::string bytes(5000, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  const ScratchFolder folder;
  folder.write("file", bytes);
  const auto buffers = ReadBuffers::make(1 << 20);
  CallTable calls;
  for (int trial = 0; trial < 300; ++trial) {
    ReadRequest request;
    const uint64_t offset = random() % 5001, length = random() % (5001 - offset);
    request.range = ByteRange{offset, length};
    const auto part = read_file(folder.path("file"), request, *buffers, calls);
    ASSERT_TRUE(part.ok()) << part.status().to_string();
    ASSERT_EQ(std::string(reinterpret_cast<const char*>(part->data()), part->size()), bytes.substr(offset, length));
  }
}

TEST(ReadFile, refuses_what_is_no_regular_file_without_waiting_for_it) {
  const ScratchFolder folder;
  folder.write("sub/file", "x");
  ASSERT_EQ(::mkfifo(folder.path("fifo").c_str(), 0600), 0);
  const auto buffers = ReadBuffers::make(0);
  CallTable calls;
  const auto error_of = [&](const std::string& path) { return read_file(path, {}, *buffers, calls).status(); };
  EXPECT_EQ(error_of(folder.path("fifo")).message(), "is a FIFO, not a file");
  EXPECT_EQ(error_of(folder.path("sub")).message(), "is a folder, not a file");
  EXPECT_EQ(error_of("/dev/null").message(), "is a device, not a file");
  for (const char* path : {"fifo", "sub"}) EXPECT_EQ(error_of(folder.path(path)).code(), Code::kUnsupported);
  EXPECT_EQ(error_of(folder.path("none")).code(), Code::kNotFound);
  EXPECT_EQ(error_of(folder.path("sub/file/below")).code(), Code::kNotFound);
  EXPECT_EQ(error_of(std::string("a\0b", 3)).code(), Code::kNotFound) << "which no file can be called";
}

}  // namespace
}  // namespace forebay
