#include "format/files/listing_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "base/hash.h"
#include "base/sanitized_test_support.h"
#include "forebay/stats/store.h"
#include "format/files/walk.h"
#include "store/memory/memory_store.h"
#include "store/scratch_folder.h"

namespace forebay {
namespace {

constexpr size_t kPage = 1000;
/// The size of ImageNet; a tenth of it suffices under sanitizers.
constexpr size_t kMany = kSanitized ? 128'000 : 1'280'000;
const ListingTraits kFar{.in_ranges = true, .at_once = 384, .boundaries_folder = ""};

/// A server that holds sorted keys and answers in pages of at most kPage names, one folder level
/// at a time.
class Server {
 public:
  explicit Server(std::vector<std::string> keys) : keys_(std::move(keys)) { std::ranges::sort(keys_); }

  ListPage list(const ListRequest& request) const {
    const std::string& begin = request.continuation.empty() ? request.after : request.continuation;
    auto at = begin.empty() ? std::ranges::lower_bound(keys_, request.prefix) : std::ranges::upper_bound(keys_, begin);
    ListPage page;
    for (; at != keys_.end() && at->starts_with(request.prefix);) {
      if (!request.until.empty() && *at > request.until) break;
      if (page.objects.size() + page.prefixes.size() == kPage) {
        page.continuation = *std::prev(at);
        break;
      }
      const size_t slash = at->find('/', request.prefix.size());
      if (slash == std::string::npos) {
        page.objects.push_back({*at++, 1});
        continue;
      }
      std::string folder = at->substr(0, slash + 1);
      page.prefixes.push_back(folder);
      folder.back() = '/' + 1;
      at = std::ranges::lower_bound(keys_, folder);
    }
    return page;
  }
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  std::vector<std::string> keys_;
};

struct Outcome {
  std::vector<std::string> keys;
  int rounds = 0, requests = 0;
  Boundaries boundaries;
};

/// Lists everything in rounds, where all requests of a round take equally long.
Outcome list_all(const Server& server, const std::string& prefix, Boundaries known, ListingTraits traits = kFar) {
  Outcome outcome;
  ListingPlan plan(traits, std::move(known), prefix);
  while (!plan.done()) {
    std::vector<ListingPlan::Part> round;
    while (auto part = plan.next()) round.push_back(std::move(*part));
    EXPECT_LE(round.size(), traits.at_once);
    ++outcome.rounds;
    outcome.requests += static_cast<int>(round.size());
    for (ListingPlan::Part& part : round) {
      ListPage page = server.list(part.request);
      plan.take(std::move(part), page, [&](const std::string&, ListPage& got) {
        for (ObjectInfo& object : got.objects) outcome.keys.push_back(object.key);
      });
    }
  }
  std::ranges::sort(outcome.keys);
  outcome.boundaries = plan.boundaries();
  return outcome;
}

std::vector<std::string> names(size_t count, const std::function<std::string(size_t)>& name) {
  std::vector<std::string> all;
  for (size_t i = 0; i < count; ++i) all.push_back(name(i));
  return all;
}

std::string hex_name(size_t i) { return fmt::format("flat/{}.jpg", hash128(std::to_string(i)).to_string()); }

struct Kind {
  const char* name;
  std::string (*key)(size_t i);
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

class FlatFolder : public testing::TestWithParam<Kind> {};

// Listing this prefix page after page would take 1,280 rounds, or 128.
TEST_P(FlatFolder, IsListedInFewRoundsColdAndFewerWarm) {
  const Server server(names(kMany, GetParam().key));
  const Outcome cold = list_all(server, "flat/", {});
  EXPECT_EQ(cold.keys, server.keys());
  EXPECT_LE(cold.rounds, 30);
  EXPECT_LE(cold.requests, 5000);
  const Outcome warm = list_all(server, "flat/", cold.boundaries);
  EXPECT_EQ(warm.keys, server.keys());
  EXPECT_LE(warm.rounds, 5);
  EXPECT_LE(warm.requests, 1600);
  RecordProperty("cold_rounds", cold.rounds);
  RecordProperty("cold_requests", cold.requests);
  RecordProperty("warm_rounds", warm.rounds);
}

INSTANTIATE_TEST_SUITE_P(Names, FlatFolder,
                         testing::Values(Kind{"numbers", [](size_t i) { return fmt::format("flat/img_{:07}.jpg", i); }},
                                         Kind{"short_numbers", [](size_t i) { return fmt::format("flat/{}.png", i); }},
                                         Kind{"hashes", hex_name},
                                         Kind{"classes",
                                              [](size_t i) {
                                                return fmt::format("flat/n{:08}_{}.JPEG", i % 1000 * 7919 + 1440764, i);
                                              }}),
                         [](const auto& kind) { return kind.param.name; });

TEST(ListingPlan, AThousandClassFoldersAreListedAtOnce) {
  const Server server(names(kMany, [](size_t i) { return fmt::format("train/n{:08}/{}.jpg", i % 1000, i); }));
  const Outcome cold = list_all(server, "train/", {});
  EXPECT_EQ(cold.keys, server.keys());
  EXPECT_LE(cold.rounds, 12);
  EXPECT_LE(cold.requests, 2100) << "folders of two pages are not cut";
}

TEST(ListingPlan, WhatIsFoundDoesNotDependOnTheCuts) {
  const Server server(names(20'000, [](size_t i) {
    return i % 3 == 0 ? fmt::format("d/{}/x", i % 997) + std::to_string(i) : fmt::format("d/\xc3\xa9{}~{}", i % 7, i);
  }));
  for (const char* wrong : {"d/0", "d/5", "d/zzz", "d/\x7f", "d/\xc3\xa9"}) {
    EXPECT_EQ(list_all(server, "d/", {{"d/", {wrong}}, {"d/12/", {"d/12/x5"}}, {"gone/", {"gone/x"}}}).keys,
              server.keys());
  }
  EXPECT_EQ(list_all(server, "d/", {}, {.in_ranges = true, .at_once = 1, .boundaries_folder = ""}).keys, server.keys());
  EXPECT_EQ(list_all(server, "d/", {}, {}).keys, server.keys()) << "a store without ranges";
}

TEST(ListingPlan, KeysThatCameAndWentSinceAreSeenAsTheyAre) {
  const Outcome before = list_all(Server(names(50'000, hex_name)), "flat/", {});
  const Server now(names(60'000, [](size_t i) { return hex_name(i + 20'000); }));
  EXPECT_EQ(list_all(now, "flat/", before.boundaries).keys, now.keys());
  EXPECT_TRUE(list_all(Server({}), "flat/", before.boundaries).keys.empty());
}

/// A memory store with the traits of a remote one.
class RangedStore final : public Store {
 public:
  RangedStore(std::shared_ptr<MemoryStore> inner, std::string folder)
      : inner_(std::move(inner)), folder_(std::move(folder)) {}
  void read(const ReadRequest& request, std::stop_token stop, ReadDone done) override {
    inner_->read(request, std::move(stop), std::move(done));
  }
  void list(const ListRequest& request, std::stop_token stop, ListDone done) override {
    ++listings;
    ListRequest page = request;
    page.max_keys = 100;
    inner_->list(page, std::move(stop), std::move(done));
  }
  void stat(const std::string& key, std::stop_token stop, StatDone done) override {
    inner_->stat(key, std::move(stop), std::move(done));
  }
  ListingTraits listing() const override { return {.in_ranges = true, .at_once = 16, .boundaries_folder = folder_}; }
  std::string display_name(const std::string& key) const override { return inner_->display_name(key); }
  StoreStats stats() const override { return {}; }
  std::atomic<int> listings{0};

 private:
  const std::shared_ptr<MemoryStore> inner_;
  const std::string folder_;
};

class SavedListing : public testing::Test {
 protected:
  SavedListing() {
    for (int i = 0; i < 2000; ++i) store_->put(fmt::format("d/{:05}", i * 7), "x");
  }
  Result<size_t> walk_all(const std::string& folder) {
    std::set<std::string> found;
    RangedStore store(store_, folder);
    FOREBAY_RETURN_IF_ERROR(walk(store, "d/", {}, [&](const std::string&, ListPage& page) {
      for (ObjectInfo& object : page.objects) EXPECT_TRUE(found.insert(object.key).second) << object.key << " twice";
    }));
    return found.size();
  }
  std::filesystem::path saved() const {
    for (const auto& entry : std::filesystem::directory_iterator(cache_)) return entry.path();
    return {};
  }
  const std::shared_ptr<MemoryStore> store_ = memory_store();
  const ScratchFolder scratch_;
  const std::string cache_ = scratch_.path("cache/listings");
};

TEST_F(SavedListing, IsForItsOwnerOnlyAndHasNoLeftovers) {
  EXPECT_EQ(walk_all(cache_).value(), 2000u);
  namespace fs = std::filesystem;
  EXPECT_EQ(fs::status(cache_).permissions() & fs::perms::all, fs::perms::owner_all);
  EXPECT_EQ(fs::status(saved()).permissions() & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_EQ(std::distance(fs::directory_iterator(cache_), fs::directory_iterator()), 1);
}

TEST_F(SavedListing, DamageIsAsIfThereWereNone) {
  EXPECT_EQ(walk_all(cache_).value(), 2000u);
  std::ifstream in(saved(), std::ios::binary);
  const std::string good((std::istreambuf_iterator<char>(in)), {});
  ASSERT_GT(good.size(), 70u);
  EXPECT_FALSE(BoundaryFiles(cache_).load("memory:d/").empty());
  EXPECT_TRUE(BoundaryFiles(cache_).load("memory:other/").empty());
  for (size_t at = 0; at < good.size(); at += 3) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x20);
    std::ofstream(saved(), std::ios::binary) << bad;
    EXPECT_TRUE(BoundaryFiles(cache_).load("memory:d/").empty()) << at;
  }
  std::ofstream(saved(), std::ios::binary) << good.substr(0, good.size() / 2);
  EXPECT_TRUE(BoundaryFiles(cache_).load("memory:d/").empty());
  EXPECT_EQ(walk_all(cache_).value(), 2000u);
}

TEST_F(SavedListing, WhatChangedSinceIsFound) {
  EXPECT_EQ(walk_all(cache_).value(), 2000u);
  for (int i = 0; i < 1000; ++i) store_->erase(fmt::format("d/{:05}", i * 14));
  store_->put("d/zzz", "new");
  EXPECT_EQ(walk_all(cache_).value(), 1001u);
  for (int i = 0; i < 2000; ++i) store_->erase(fmt::format("d/{:05}", i * 7));
  store_->erase("d/zzz");
  EXPECT_EQ(walk_all(cache_).status().code(), Code::kNotFound) << "a folder that is gone is still told";
}

TEST_F(SavedListing, AFolderThatCannotBeWrittenIsNoError) {
  EXPECT_EQ(walk_all("/dev/null/listings").value(), 2000u);
  EXPECT_EQ(walk_all("").value(), 2000u);
}

TEST_F(SavedListing, TheNumberOfFilesIsBounded) {
  const BoundaryFiles files(cache_);
  for (size_t i = 0; i < BoundaryFiles::kMaxFiles + 20; ++i) files.save(std::to_string(i), {{"d/", {"d/x"}}});
  EXPECT_EQ(static_cast<size_t>(std::distance(std::filesystem::directory_iterator(cache_), {})),
            BoundaryFiles::kMaxFiles);
}

}  // namespace
}  // namespace forebay
