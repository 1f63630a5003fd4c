// Compares listings of random keys with a simple model: in one page, in pages of any size, and in
// ranges that share a folder.

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "store/memory/memory_store.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

ListRequest part_of(std::string prefix, uint32_t max_keys, std::string after = "", std::string until = "") {
  return {std::move(prefix), "", max_keys, std::move(after), std::move(until)};
}

Result<Buffer> whole_object(MemoryStore& store, const std::string& key) {
  ReadRequest request;
  request.key = key;
  return read_wait(store, request, {});
}

struct Names {
  std::set<std::string> objects, folders;
  uint64_t hidden = 0;
  friend bool operator==(const Names&, const Names&) = default;
};

// Lists one level below the prefix by looking at every key.
Names model(const std::set<std::string>& keys, const std::string& prefix) {
  Names names;
  std::set<std::string> hidden;
  for (const std::string& key : keys) {
    if (!key.starts_with(prefix)) continue;
    const std::string rest = key.substr(prefix.size());
    const size_t slash = rest.find('/');
    const std::string name = prefix + rest.substr(0, slash == std::string::npos ? slash : slash + 1);
    if (rest.starts_with('.')) {
      hidden.insert(name);
    } else if (slash == std::string::npos) {
      names.objects.insert(name);
    } else {
      names.folders.insert(name);
    }
  }
  names.hidden = hidden.size();
  return names;
}

// Adds the names of the pages to `names`, each once.
void list_all(MemoryStore& store, ListRequest request, Names* names) {
  do {
    const auto page = list_wait(store, request, {});
    ASSERT_TRUE(page.ok()) << page.status().to_string();
    ASSERT_LE(page->objects.size() + page->prefixes.size(), std::max(request.max_keys, 1u));
    for (const ObjectInfo& object : page->objects) ASSERT_TRUE(names->objects.insert(object.key).second) << object.key;
    for (const std::string& folder : page->prefixes) ASSERT_TRUE(names->folders.insert(folder).second) << folder;
    names->hidden += page->hidden;
    request.continuation = page->continuation;
  } while (!request.continuation.empty());
}

std::set<std::string> random_keys(std::mt19937& random) {
  // Letters around the slash in byte order, so that folders and files with a common prefix are
  // interleaved.
  constexpr std::string_view kLetters = "ab/.-0";
  std::set<std::string> keys;
  for (int i = static_cast<int>(random() % 40); i >= 0; --i) {
    std::string key;
    for (int length = 1 + static_cast<int>(random() % 6); length > 0; --length) key += kLetters[random() % 6];
    const bool odd = key.find("//") != std::string::npos || key.front() == '/' || key.back() == '/';
    if (!odd) keys.insert("top/" + key);
  }
  keys.insert("top/z");
  keys.insert("beside");
  return keys;
}

TEST(MemoryListing, in_pages_of_any_size_is_one_level_as_a_look_at_every_key_finds_it) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const std::set<std::string> keys = random_keys(random);
    MemoryStore store;
    for (const std::string& key : keys) store.put(key, "x");
    for (const std::string prefix : {"", "top/"}) {
      for (const uint32_t max_keys : {1u, 2u, 5u, 1000u}) {
        Names names;
        list_all(store, part_of(prefix, max_keys), &names);
        ASSERT_EQ(names, model(keys, prefix)) << "trial " << trial << ", pages of " << max_keys;
      }
    }
  }
}

TEST(MemoryListing, in_ranges_that_meet_is_every_name_once) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 300; ++trial) {
    const std::set<std::string> keys = random_keys(random);
    MemoryStore store;
    for (const std::string& key : keys) store.put(key, "x");
    std::set<std::string> bounds;
    for (int i = static_cast<int>(random() % 4); i > 0; --i) {
      std::string bound = "top/";
      for (int length = 1 + static_cast<int>(random() % 3); length > 0; --length) bound += "ab-0"[random() % 4];
      bounds.insert(bound);
    }
    Names names;
    std::string after;
    for (const std::string& bound : bounds) {
      list_all(store, part_of("top/", 3, after, bound), &names);
      after = bound;
    }
    list_all(store, part_of("top/", 3, after), &names);
    const Names expected = model(keys, "top/");
    ASSERT_EQ(names.objects, expected.objects) << "trial " << trial;
    ASSERT_EQ(names.folders, expected.folders) << "trial " << trial;
  }
}

TEST(MemoryListing, of_a_folder_that_is_not_there_is_not_found_and_of_everything_never) {
  MemoryStore store;
  EXPECT_TRUE(list_wait(store, {}, {}).ok());
  store.put("a/b", "x");
  const auto missing = list_wait(store, part_of("c/", 10), {});
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_EQ(missing.status().key(), "memory:c/");
  EXPECT_TRUE(list_wait(store, part_of("c/", 10, "", "c/x"), {}).ok()) << "a range may be empty";
}

TEST(MemoryStore, what_was_read_stays_as_it_was_when_the_object_is_replaced) {
  MemoryStore store;
  store.put("a", "before");
  const Buffer read = whole_object(store, "a").value();
  store.put("a", "after!");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read.data()), read.size()), "before");
  EXPECT_TRUE(store.erase("a"));
  EXPECT_FALSE(store.erase("a"));
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read.data()), read.size()), "before");
}

TEST(ScratchFolders, are_there_for_their_test_and_go_with_it) {
  std::string path;
  {
    const ScratchFolder folder, other;
    path = folder.path();
    EXPECT_NE(folder.path(), other.path());
    folder.write("a/b/c", "x");
    EXPECT_TRUE(std::filesystem::exists(folder.path("a/b/c")));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace forebay
