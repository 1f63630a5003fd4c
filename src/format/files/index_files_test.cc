#include "format/files/index_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "format/files/listing_boundaries.h"
#include "format/lines/line_index_files.h"
#include "format/webdataset/tar_index_files.h"
#include "store/memory/memory_store.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

namespace fs = std::filesystem;
using State = LoadedIndex::State;

std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

/// A user of index files, seen from outside: saves the index of object `i`, and returns whether it
/// is found.
struct IndexUser {
  std::string name;
  std::function<void(int i)> save;
  std::function<bool(int i)> found;
  std::function<std::string(int i)> path;
};

TarIndex small_tar_index() {
  TarIndex index;
  index.extensions = {"jpg"};
  index.samples = {{0, 0, 3}};
  index.files = {{0, 1, 17}};
  index.end = 1024;
  return index;
}

IndexUser tar_user(const std::string& folder, bool beside) {
  const auto place = beside ? TarIndexFiles::Place::kBesideShards : TarIndexFiles::Place::kCacheFolder;
  const auto files = std::make_shared<TarIndexFiles>(beside ? "" : folder + "/tar", place);
  const auto shard = [=](int i) { return TarIndexFiles::Shard{folder + "/" + std::to_string(i) + ".tar", 4096, 7}; };
  return {beside ? "tar beside" : "tar", [=](int i) { files->save(shard(i), small_tar_index()); },
          [=](int i) { return files->load(shard(i)).has_value(); }, [=](int i) { return files->path(shard(i)); }};
}

IndexUser lines_user(const std::string& folder, const Store& store, OpenLinesOptions& options) {
  options.index_folder = folder + "/lines";
  const auto files = std::make_shared<LineIndexFiles>(store, options);
  const auto file = [](int i) { return LineFile{std::to_string(i) + ".txt", LineIndexFiles::kLeastBytes, 7, {}}; };
  const std::vector<LineSlice> slices = {{0, 100, 0, 0, 3, false}, {200, 300, 5, 3, 1, true}};
  return {"lines", [=](int i) { files->save(file(i), slices); },
          [=](int i) { return files->load(file(i)).has_value(); }, [=](int i) { return files->path(file(i)); }};
}

IndexUser listing_user(const std::string& folder) {
  const auto files = std::make_shared<BoundaryFiles>(folder + "/listings");
  const auto listing = [](int i) { return "s3://bucket/" + std::to_string(i) + "/"; };
  return {"listing", [=](int i) { files->save(listing(i), {{"d/", {"d/a", "d/b"}}}); },
          [=](int i) { return !files->load(listing(i)).empty(); }, [=](int i) { return files->path(listing(i)); }};
}

class IndexFilesTest : public testing::Test {
 protected:
  std::vector<IndexUser> users() {
    fs::create_directories(folder_);
    return {tar_user(folder_, false), tar_user(folder_, true), lines_user(folder_, store_, options_),
            listing_user(folder_)};
  }

  static constexpr IndexKind kKind = {"kind", 1024, 3};
  ScratchFolder scratch_;
  MemoryStore store_;
  OpenLinesOptions options_;
  const std::string folder_ = scratch_.path("caches/below");
  const IndexFiles files_{kKind, folder_};
};

TEST_F(IndexFilesTest, every_user_takes_damage_as_no_index_and_repairs_it) {
  for (const IndexUser& user : users()) {
    SCOPED_TRACE(user.name);
    EXPECT_FALSE(user.found(1));
    user.save(1);
    ASSERT_TRUE(user.found(1));
    const std::string good = bytes_of(user.path(1));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ 1);
      write_bytes(user.path(1), bad);
      EXPECT_FALSE(user.found(1)) << "bit of byte " << i;
      write_bytes(user.path(1), std::string_view(good).substr(0, i));
      EXPECT_FALSE(user.found(1)) << "cut to " << i;
    }
    user.save(1);
    EXPECT_TRUE(user.found(1));
    EXPECT_EQ(bytes_of(user.path(1)), good);
  }
}

TEST_F(IndexFilesTest, no_user_believes_an_index_of_another_object_or_of_another_user) {
  const std::vector<IndexUser> all = users();
  for (const IndexUser& user : all) user.save(1);
  for (const IndexUser& user : all) {
    for (const IndexUser& other : all) {
      fs::copy_file(other.path(1), user.path(2), fs::copy_options::overwrite_existing);
      EXPECT_FALSE(user.found(2)) << user.name << " from " << other.name;
    }
  }
}

TEST_F(IndexFilesTest, no_user_fails_where_its_folder_is_a_file) {
  fs::create_directories(scratch_.path("caches"));
  write_bytes(folder_, "a file");
  for (const IndexUser& user : {tar_user(folder_, false), tar_user(folder_, true),
                                lines_user(folder_, store_, options_), listing_user(folder_)}) {
    user.save(1);
    EXPECT_FALSE(user.found(1)) << user.name;
  }
}

TEST_F(IndexFilesTest, load_tells_a_missing_index_from_a_damaged_and_a_stale_one) {
  const std::string path = scratch_.path("x.kind"), payload("any\0byte\xff\n", 10);
  EXPECT_EQ(load_index_file(kKind, path, "a").state, State::kMissing);
  ASSERT_TRUE(save_index_file(kKind, path, "a", payload, 0600));
  const LoadedIndex loaded = load_index_file(kKind, path, "a");
  EXPECT_EQ(loaded.state, State::kFound);
  EXPECT_EQ(loaded.payload, payload);
  EXPECT_EQ(load_index_file(kKind, path, "b").state, State::kStale);
  EXPECT_EQ(load_index_file({"dnik", 1024, 3}, path, "a").state, State::kDamaged) << "another kind";
  write_bytes(path, bytes_of(path) + "x");
  EXPECT_EQ(load_index_file(kKind, path, "a").state, State::kDamaged);
  EXPECT_EQ(load_index_file(kKind, path, "b").state, State::kDamaged) << "damage is told before staleness";
}

TEST_F(IndexFilesTest, only_the_owner_reads_the_folder_and_nothing_unfinished_stays) {
  ASSERT_TRUE(files_.save("a", "1"));
  ASSERT_TRUE(files_.save("a", "2"));
  EXPECT_EQ(files_.load("a").payload, "2");
  EXPECT_EQ(names_in(folder_).size(), 1u);
  EXPECT_EQ(fs::status(folder_).permissions(), fs::perms::owner_all);
  EXPECT_EQ(fs::status(files_.path("a")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(IndexFilesTest, a_link_is_replaced_and_not_followed) {
  ASSERT_TRUE(files_.save("a", "1"));
  scratch_.write("precious", "text");
  fs::remove(files_.path("a"));
  fs::create_symlink(scratch_.path("precious"), files_.path("a"));
  EXPECT_TRUE(files_.save("a", "2"));
  EXPECT_EQ(files_.load("a").payload, "2");
  EXPECT_EQ(bytes_of(scratch_.path("precious")), "text");
}

TEST_F(IndexFilesTest, a_payload_that_is_too_large_leaves_the_file_as_it_was) {
  ASSERT_TRUE(files_.save("a", "1"));
  EXPECT_TRUE(files_.save("a", std::string(1024, 'x')));
  EXPECT_EQ(files_.load("a").payload, "1");
  fs::resize_file(files_.path("a"), 1025);
  EXPECT_EQ(files_.load("a").state, State::kMissing);
}

TEST_F(IndexFilesTest, the_longest_unused_are_removed_and_files_of_others_stay) {
  const auto now = fs::file_time_type::clock::now();
  for (const int i : {0, 1, 2}) {
    ASSERT_TRUE(files_.save(std::to_string(i), "x"));
    fs::last_write_time(files_.path(std::to_string(i)), now - std::chrono::hours(100 - i));
  }
  for (const char* other : {"notes.txt", "left.1.new"}) {
    write_bytes(folder_ + "/" + other, "x");
    fs::last_write_time(folder_ + "/" + other, now - std::chrono::hours(9999));
  }
  EXPECT_EQ(files_.load("0").state, State::kFound) << "used: it is young again";
  ASSERT_TRUE(files_.save("new", "x"));
  files_.remove_oldest();
  EXPECT_FALSE(fs::exists(folder_ + "/left.1.new"));
  EXPECT_EQ(files_.load("1").state, State::kMissing);
  for (const char* kept : {"0", "2", "new"}) EXPECT_EQ(files_.load(kept).state, State::kFound) << kept;
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
}

TEST_F(IndexFilesTest, readers_get_all_of_one_index_while_others_save) {
  const std::string one(500, '1'), two(700, '2');
  ASSERT_TRUE(files_.save("a", one));
  std::jthread writer([&] {
    for (int i = 0; i < 200; ++i) files_.save("a", i % 2 == 0 ? two : one);
  });
  for (int i = 0; i < 200; ++i) {
    const LoadedIndex loaded = files_.load("a");
    EXPECT_EQ(loaded.state, State::kFound);
    EXPECT_TRUE(loaded.payload == one || loaded.payload == two);
  }
}

TEST_F(IndexFilesTest, without_a_folder_nothing_is_saved) {
  const IndexFiles none(kKind, "");
  EXPECT_FALSE(none.save("a", "1"));
  EXPECT_EQ(none.load("a").state, State::kMissing);
}

}  // namespace
}  // namespace forebay
