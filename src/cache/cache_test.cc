#include "cache/cache.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "base/byte_size.h"
#include "cache/cache_test_support.h"
#include "cache/entry_form.h"
#include "forebay/stats/cache.h"

namespace forebay {
namespace {

class Caches : public testing::Test {
 protected:
  std::shared_ptr<TieredCache> open(uint64_t ram, uint64_t disk, uint64_t cache_number = 1,
                                    Compression compression = Compression::kNone) {
    CacheOptions options;
    options.ram_bytes = ram;
    options.disk_bytes = disk;
    options.dir = folder_.path("caches");
    options.cache_id = id_of(cache_number);
    options.description = "images\n  .decode_image()";
    options.compression = compression;
    auto opened = open_cache(options);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.ok() ? *opened : nullptr;
  }
  static void fill(EntryCache& cache, uint64_t from, uint64_t to, int64_t rows = 100) {
    for (uint64_t i = from; i < to; ++i) cache.put(id_of(i), shared_columns(i, rows), 0.01);
  }
  static uint64_t right_ones(EntryCache& cache, uint64_t from, uint64_t to, int64_t rows = 100) {
    uint64_t right = 0;
    for (uint64_t i = from; i < to; ++i) {
      const auto columns = looked_up(cache, id_of(i));
      if (!columns) continue;
      EXPECT_TRUE(same_columns(*columns, columns_of_seed(i, rows))) << i;
      ++right;
    }
    return right;
  }

  ScratchFolder folder_;
};

TEST_F(Caches, AnEntryIsFoundInMemoryAfterItWasPut) {
  const auto cache = open(kMiB, 0);
  EXPECT_EQ(looked_up(*cache, id_of(1)), nullptr);
  fill(*cache, 0, 10);
  EXPECT_EQ(right_ones(*cache, 0, 20), 10u);
  const CacheStats stats = cache->stats();
  EXPECT_EQ(stats.ram.hits, 10u);
  EXPECT_EQ(stats.misses, 11u);
  EXPECT_EQ(stats.ram.entries, 10u);
  EXPECT_EQ(stats.place, id_of(1).to_string());
}

TEST_F(Caches, WhatIsForMemoryAloneIsNotOnDisk) {
  {
    const auto cache = open(kMiB, kMiB);
    cache->put(id_of(1), shared_columns(1, 100), 0.01, KeepIn::kMemory);
    cache->put(id_of(2), shared_columns(2, 100), 0.01);
    EXPECT_TRUE(cache->has(id_of(1)) && cache->has(id_of(2)) && !cache->has(id_of(3)));
    EXPECT_EQ(cache->stats().disk.entries, 1u);
    EXPECT_EQ(cache->stats().misses + cache->stats().ram.hits, 0u) << "has() is no use";
  }
  const auto again = open(kMiB, kMiB);
  EXPECT_FALSE(again->has(id_of(1)));
  EXPECT_TRUE(again->has(id_of(2)));
}

TEST_F(Caches, MemoryHoldsNothingOfTheBuffersThatWerePut) {
  const auto cache = open(kMiB, 0);
  const auto mine = shared_columns(1, 100);
  cache->put(id_of(1), mine, 0.01);
  EXPECT_EQ(mine.use_count(), 1);
  EXPECT_NE(looked_up(*cache, id_of(1))->values[0].values.owner(), mine->values[0].values.owner());
}

TEST_F(Caches, AnEntryOnDiskIsFoundByTheNextRun) {
  for (const Compression compression : {Compression::kNone, Compression::kZstd, Compression::kLz4}) {
    const auto cache_number = static_cast<uint64_t>(compression) + 10;
    fill(*open(0, 16 * kMiB, cache_number, compression), 0, 50);
    const auto cache = open(0, 16 * kMiB, cache_number, compression);
    EXPECT_EQ(right_ones(*cache, 0, 60), 50u);
    EXPECT_EQ(cache->stats().disk.hits, 50u);
    EXPECT_EQ(cache->stats().disk.entries, 50u);
  }
}

TEST_F(Caches, AnEntryFromDiskMovesIntoMemory) {
  fill(*open(0, 16 * kMiB), 0, 20);
  const auto cache = open(kMiB, 16 * kMiB);
  EXPECT_EQ(right_ones(*cache, 0, 20), 20u);
  EXPECT_EQ(right_ones(*cache, 0, 20), 20u);
  EXPECT_EQ(cache->stats().disk.hits, 20u);
  EXPECT_EQ(cache->stats().ram.hits, 20u);
}

TEST_F(Caches, PlacesDoNotMix) {
  fill(*open(kMiB, kMiB, 1), 0, 5);
  EXPECT_EQ(right_ones(*open(kMiB, kMiB, 2), 0, 5), 0u);
}

TEST_F(Caches, LoadersOfOneProcessShareOneCache) {
  const auto one = open(kMiB, 0);
  const auto other = open(2 * kMiB, 0);
  EXPECT_EQ(one.get(), other.get());
  EXPECT_EQ(one->stats().ram.budget_bytes, 2 * kMiB);
  fill(*one, 0, 5);
  EXPECT_EQ(right_ones(*other, 0, 5), 5u);
}

TEST_F(Caches, NothingIsKeptBeyondTheBudgets) {
  const auto cache = open(200 << 10, 512 << 10);
  fill(*cache, 0, 400);
  EXPECT_LE(disk_use(folder_.path("caches")), uint64_t{512} << 10);
  const CacheStats stats = cache->stats();
  EXPECT_LE(stats.ram.bytes, stats.ram.budget_bytes);
  EXPECT_GT(stats.disk.bytes, uint64_t{300} << 10);
  EXPECT_GT(stats.disk.declined, 0u);
  EXPECT_EQ(right_ones(*cache, 0, 400), stats.disk.entries + stats.ram.entries) << "memory keeps what disk declined";
}

TEST_F(Caches, WhatIsDeclinedIsNotPrepared) {
  const auto cache = open(0, 256 << 10);
  EXPECT_TRUE(cache->try_admit({}, 10'000));
  EXPECT_FALSE(cache->try_admit({}, kMiB));
  fill(*cache, 0, 200);
  int admitted = 0;
  for (int i = 0; i < 255; ++i) admitted += cache->try_admit({}, 100'000) ? 1 : 0;
  EXPECT_LE(admitted, 1) << "now and then it is tried again";
}

// A row group may be larger than the whole budget and fit only compressed.
TEST_F(Caches, AnEntryIsAdmittedByItsCompressedSize) {
  const auto cache = open(0, 256 << 10, 1, Compression::kZstd);
  EXPECT_TRUE(cache->try_admit({}, kMiB)) << "how well it compresses is not known yet";
  fill(*cache, 0, 3);
  const auto stored = static_cast<double>(cache->stats().disk.bytes);
  ASSERT_GT(stored, 0);
  EXPECT_TRUE(cache->try_admit({}, 257 << 10)) << "it compresses as the others do";
  EXPECT_FALSE(cache->try_admit({}, uint64_t{1} << 40));
  EXPECT_GT(cache->stats().disk.declined, 0u) << "what is larger than the budget counts, too";
}

TEST_F(Caches, TheOptimumIsBudgetOverBytes) {
  const auto cache = open(kMiB, 0);
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (uint64_t i = 0; i < 1000; ++i) {
      if (!looked_up(*cache, id_of(i)) && cache->try_admit({}, 4096)) cache->put(id_of(i), shared_columns(i, 80), 0.01);
    }
  }
  const CacheStats stats = cache->stats();
  EXPECT_EQ(stats.seen_bytes, 1000u * 4096);
  EXPECT_NEAR(stats.optimum, 256.0 / 1000, 0.001);
  EXPECT_GT(stats.hit_ratio, 0.5 * stats.optimum) << "two of three epochs could hit";
}

TEST_F(Caches, BudgetsOfLessThanAnEntryAreRefusedWithTheNumbers) {
  CacheOptions options;
  options.cache_id = id_of(1);
  options.dir = folder_.path("caches");
  options.disk_bytes = 1000;
  EXPECT_NE(open_cache(options).status().message().find("64.0 KiB"), std::string::npos);
  options.disk_bytes = 100'000;
  options.entry_bytes = 200'000;
  EXPECT_NE(open_cache(options).status().message().find("less than one entry takes, 195.3 KiB"), std::string::npos);
}

TEST_F(Caches, OfBudgetsAboveWhatThereIsThatIsUsedAndSaidOnce) {
  constexpr uint64_t kTooMuch = uint64_t{1} << 60;
  const LoggedLines logged;
  const auto said_of_the_disk = [&] {
    int64_t found = 0;
    for (const std::string& line : logged.lines())
      found += line.find("more than the disk at " + folder_.path("caches") + " allows") != std::string::npos;
    return found;
  };
  for (uint64_t cache_number = 1; cache_number <= 3; ++cache_number) {
    const auto cache = open(kTooMuch, kTooMuch, cache_number);
    ASSERT_NE(cache, nullptr);
    fill(*cache, 0, 10);
    const CacheStats stats = cache->stats();
    EXPECT_EQ(stats.disk.entries, 10u);
    EXPECT_LT(stats.ram.budget_bytes, kTooMuch);
    EXPECT_LE(stats.disk.budget_bytes, std::filesystem::space(folder_.path("caches")).capacity);
    EXPECT_EQ(said_of_the_disk(), 1);
  }
  // An open cache that gets a larger budget.
  const auto small = open(kMiB, kMiB, 4), large = open(kTooMuch, kTooMuch, 4);
  EXPECT_EQ(small, large);
  EXPECT_LE(small->stats().disk.budget_bytes, std::filesystem::space(folder_.path("caches")).capacity);
  EXPECT_EQ(said_of_the_disk(), 1);
}

TEST_F(Caches, ManyThreadsFillAndReadAtOnce) {
  const auto cache = open(kMiB, 16 * kMiB);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 200; ++i) {
        const uint64_t n = (i * 7 + static_cast<uint64_t>(t) * 31) % 200;
        if (const auto columns = looked_up(*cache, id_of(n)))
          EXPECT_TRUE(same_columns(*columns, columns_of_seed(n, 100)));
        else
          cache->put(id_of(n), shared_columns(n, 100), 0.01);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right_ones(*cache, 0, 200), 200u);
  EXPECT_EQ(cache->stats().disk.entries, 200u);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 200; ++i)
    bytes += encode_entry(id_of(i), columns_of_seed(i, 100), Compression::kNone)->size();
  EXPECT_EQ(std::filesystem::file_size(folder_.path("caches/" + id_of(1).to_string() + "/000000.data")), bytes)
      << "no entry was written twice";
}

TEST_F(Caches, AnEntryWhoseFileIsCutShortIsMadeAnew) {
  fill(*open(0, 16 * kMiB), 0, 20);
  const std::string data = folder_.path("caches/" + id_of(1).to_string() + "/000000.data");
  const auto cache = open(0, 16 * kMiB);
  std::filesystem::resize_file(data, std::filesystem::file_size(data) / 2);
  const uint64_t right = right_ones(*cache, 0, 20);
  EXPECT_GE(right, 9u);
  EXPECT_LE(right, 10u);
  EXPECT_EQ(cache->stats().disk.damaged, 20 - right);
  fill(*cache, 0, 20);
  EXPECT_EQ(right_ones(*cache, 0, 20), 20u);
}

TEST_F(Caches, AFolderThatVanishesIsNoErrorForReaders) {
  LoggedLines log;
  const auto cache = open(0, 16 * kMiB);
  fill(*cache, 0, 5);
  std::filesystem::remove_all(folder_.path("caches"));
  for (uint64_t i = 0; i < 5; ++i) {
    const auto found = cache->find(id_of(i));
    if (!found) continue;
    const Result<Buffer> stored = read_wait(*found->store, found->request, {});
    ASSERT_TRUE(stored.ok()) << "the run must not see trouble of the cache: " << stored.status().to_string();
    EXPECT_EQ(cache->open(id_of(i), *stored).status().code(), Code::kCorrupt);
  }
  EXPECT_FALSE(cache->find(id_of(1)));
  EXPECT_EQ(log.lines().size(), 1u);
}

TEST_F(Caches, AForkedChildFindsAndKeepsNothingAndEndsCleanly) {
  auto cache = open(kMiB, kMiB);
  fill(*cache, 0, 5);
  const pid_t child = ::fork();
  if (child == 0) {
    const bool none = !cache->find(id_of(1)) && !cache->try_admit({}, 10);
    cache->put(id_of(77), shared_columns(77, 10), 1);
    cache.reset();
    CacheOptions options;
    options.ram_bytes = kMiB;
    options.cache_id = id_of(1);
    const bool anew = open_cache(options).ok();
    ::_exit(none && anew ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(looked_up(*cache, id_of(77)), nullptr);
  EXPECT_EQ(right_ones(*cache, 0, 5), 5u);
}

}  // namespace
}  // namespace forebay
