#include "cache/disk_tier.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "base/byte_size.h"
#include "cache/cache_maintenance.h"
#include "cache/cache_test_support.h"
#include "cache/entry_form.h"
#include "forebay/stats/cache.h"

namespace forebay {
namespace {

Buffer entry_of(uint64_t n, int64_t rows = 100) {
  return *encode_entry(id_of(n), columns_of_seed(n, rows), Compression::kNone);
}

class DiskTiers : public testing::Test {
 protected:
  Result<std::unique_ptr<DiskTier>> try_open(uint64_t budget, uint64_t cache_number = 1) {
    return DiskTier::open({dir(), budget, id_of(cache_number), "images(\"photos\")"});
  }
  std::unique_ptr<DiskTier> open(uint64_t budget = 16 * kMiB, uint64_t cache_number = 1) {
    auto opened = try_open(budget, cache_number);
    EXPECT_TRUE(opened.ok()) << opened.status().to_string();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  static uint64_t fill(DiskTier& tier, uint64_t from, uint64_t to, int64_t rows = 100) {
    uint64_t stored = 0;
    for (uint64_t i = from; i < to; ++i) stored += tier.put(id_of(i), entry_of(i, rows).span(), 0.01) ? 1 : 0;
    return stored;
  }
  /// Returns how many entries are found, after checking that they are right.
  static uint64_t right_ones(DiskTier& tier, uint64_t from, uint64_t to, int64_t rows = 100) {
    uint64_t right = 0;
    for (uint64_t i = from; i < to; ++i) {
      const auto found = tier.find(id_of(i));
      if (!found) continue;
      Result<Buffer> stored = read_wait(*found->store, found->request, {});
      const auto columns = decode_entry(id_of(i), stored.ok() ? std::move(*stored) : Buffer());
      if (!columns.ok()) {
        if (stored.ok() && stored->empty())
          tier.report_unreadable(id_of(i));
        else
          tier.report_damaged(id_of(i));
        continue;
      }
      EXPECT_TRUE(same_columns(*columns, columns_of_seed(i, rows)));
      ++right;
    }
    return right;
  }
  std::string dir() const { return folder_.path("caches"); }
  std::string file(std::string_view name, uint64_t cache_number = 1) const {
    return dir() + '/' + id_of(cache_number).to_string() + '/' + std::string(name);
  }

  ScratchFolder folder_;
};

TEST_F(DiskTiers, AFlippedBitAnywhereCostsOnlyTheEntriesThatItIsIn) {
  fill(*open(), 0, 40);
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    const std::string name = file(round % 3 == 0 ? "000000.index" : "000000.data");
    std::fstream stream(name, std::ios::in | std::ios::out | std::ios::binary);
    const auto size = std::filesystem::file_size(name);
    const auto at = static_cast<std::streamoff>(round % 3 == 0 ? 64 + random() % (size - 64) : random() % size);
    stream.seekg(at);
    const char before = static_cast<char>(stream.get());
    stream.seekp(at);
    stream.put(static_cast<char>(before ^ (1 << (random() % 8))));
    stream.close();
    const auto tier = open();
    const uint64_t right = right_ones(*tier, 0, 40);
    EXPECT_GE(right, 38u);
    EXPECT_EQ(fill(*tier, 0, 40), 40u) << "what was lost is made anew";
    EXPECT_EQ(right_ones(*tier, 0, 40), 40u);
  }
}

TEST_F(DiskTiers, AnIndexWithADamagedHeaderIsBegunAnew) {
  fill(*open(), 0, 10);
  std::fstream(file("000000.index"), std::ios::in | std::ios::out | std::ios::binary).put('x');
  const auto tier = open();
  EXPECT_EQ(right_ones(*tier, 0, 10), 0u);
  EXPECT_EQ(fill(*tier, 0, 10), 10u);
  EXPECT_EQ(right_ones(*open(), 0, 10), 10u);
}

// The lock belongs to the open file, which the child of a fork has open, too.
TEST_F(DiskTiers, AProcessThatWasForkedWhileTheFolderWasLockedDoesNotKeepItLocked) {
  fill(*open(), 0, 1);
  const auto folder = CacheFolder::open(dir(), /*create=*/false);
  ASSERT_TRUE(folder.ok());
  pid_t child = 0;
  {
    const auto lock = FolderLock::take(*folder, std::chrono::milliseconds(100));
    ASSERT_TRUE(lock.ok());
    child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    ASSERT_GT(child, 0) << "kill() takes -1 for everybody";
  }
  EXPECT_TRUE(FolderLock::take(*folder, std::chrono::milliseconds(100)).ok());
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_F(DiskTiers, ATornEndIsCutOffByTheNextWriter) {
  fill(*open(), 0, 10);
  const auto data_bytes = std::filesystem::file_size(file("000000.data"));
  std::ofstream(file("000000.index"), std::ios::app | std::ios::binary) << "half a row";
  std::ofstream(file("000000.data"), std::ios::app | std::ios::binary) << std::string(100'000, 'x');
  const auto tier = open();
  EXPECT_EQ(right_ones(*tier, 0, 10), 10u);
  EXPECT_EQ(fill(*tier, 10, 11), 1u);
  EXPECT_LT(std::filesystem::file_size(file("000000.data")), data_bytes + 20'000);
  EXPECT_EQ(right_ones(*tier, 0, 11), 11u);
  EXPECT_EQ(right_ones(*open(), 0, 11), 11u);
}

TEST_F(DiskTiers, RowsWithoutTheirEntriesDoNotNameThoseThatAreWrittenThere) {
  fill(*open(), 0, 10);
  std::filesystem::resize_file(file("000000.data"), 0);
  EXPECT_EQ(fill(*open(), 20, 30), 10u);
  const auto tier = open();
  EXPECT_EQ(tier->stats().entries, 10u);
  EXPECT_EQ(right_ones(*tier, 0, 30), 10u);
  EXPECT_EQ(tier->stats().damaged, 0u);
}

TEST_F(DiskTiers, WhatAnotherOpenTierAddsIsFound) {
  const auto one = open(), other = open();
  EXPECT_EQ(fill(*one, 0, 10), 10u);
  EXPECT_EQ(fill(*other, 5, 15), 10u);
  EXPECT_EQ(fill(*one, 0, 15), 15u);
  EXPECT_EQ(one->stats().entries, 15u);
  EXPECT_EQ(right_ones(*one, 0, 15), 15u);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 15; ++i) bytes += entry_of(i).size();
  EXPECT_EQ(std::filesystem::file_size(file("000000.data")) + std::filesystem::file_size(file("000001.data")), bytes)
      << "no entry is there twice";
}

TEST_F(DiskTiers, SeveralWritersStayWithinOneBudgetAndUseNearlyAllOfIt) {
  constexpr uint64_t kBudget = 2 * kMiB;
  std::vector<std::unique_ptr<DiskTier>> tiers;
  for (uint64_t i = 0; i < 4; ++i) tiers.push_back(open(kBudget, i));
  for (uint64_t i = 0; i < 1000; ++i) {
    (void)fill(*tiers[i % 4], i, i + 1);
    ASSERT_LE(disk_use(dir()), kBudget);
  }
  EXPECT_GT(disk_use(dir()), kBudget * 8 / 10);
}

TEST_F(DiskTiers, PlacesThatNobodyUsesMakeRoomTheLongestUnusedFirst) {
  constexpr uint64_t kBudget = kMiB;
  for (uint64_t cache_number = 1; cache_number <= 3; ++cache_number) fill(*open(kBudget, cache_number), 0, 60);
  const auto used = open(kBudget, 2);
  struct ::timespec old[2] = {{1'000'000, 0}, {1'000'000, 0}};
  ::utimensat(AT_FDCWD, file("lock", 1).c_str(), old, 0);
  const auto tier = open(kBudget, 4);
  while (std::filesystem::exists(file("lock", 1)))
    ASSERT_EQ(fill(*tier, tier->stats().entries, tier->stats().entries + 1), 1u);
  EXPECT_TRUE(std::filesystem::exists(file("lock", 3)));
  (void)fill(*tier, 0, 400);
  EXPECT_FALSE(std::filesystem::exists(file("lock", 3)));
  EXPECT_EQ(right_ones(*used, 0, 60), 60u) << "a place in use is left alone";
  EXPECT_LE(disk_use(dir()), kBudget);
}

TEST_F(DiskTiers, AFolderThatIsFullOfCachesInUseIsSaidSo) {
  std::vector<std::unique_ptr<DiskTier>> tiers;
  const uint64_t budget = DiskTier::kLeastBudget;
  Status status;
  for (uint64_t cache_number = 0; cache_number < 20 && status.ok(); ++cache_number) {
    auto opened = try_open(budget, cache_number);
    status = opened.status();
    if (opened.ok()) tiers.push_back(std::move(*opened));
  }
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_LE(disk_use(dir()), budget);
}

TEST_F(DiskTiers, FoldersAndFilesAreForTheirOwnerOnly) {
  const ::mode_t before = ::umask(0);
  fill(*open(), 0, 1);
  ::umask(before);
  struct ::stat info;
  for (const std::string& path : {dir(), file("")}) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0700u) << path;
  }
  for (const auto& entry : std::filesystem::directory_iterator(file(""))) {
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600u) << entry.path();
  }
}

TEST_F(DiskTiers, AFolderThatOthersMayWriteToIsRefusedWithTheCommandThatMendsIt) {
  ASSERT_EQ(::mkdir(dir().c_str(), 0700), 0);
  ASSERT_EQ(::chmod(dir().c_str(), 0770), 0);
  const Status status = try_open(kMiB).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("chmod go-w '" + dir() + "'"), std::string::npos) << status.message();
}

TEST_F(DiskTiers, AFolderOfSomebodyElseIsRefused) {
  ASSERT_EQ(::mkdir(dir().c_str(), 0700), 0);
  if (::chown(dir().c_str(), 12345, 12345) != 0) GTEST_SKIP() << "NOT ROOT: no folder of another user can be made";
  const Status status = try_open(kMiB).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("belongs to another user"), std::string::npos) << status.message();
}

TEST_F(DiskTiers, LinksInTheFolderAreNotFollowed) {
  fill(*open(), 0, 3);
  folder_.write("elsewhere", "precious");
  std::filesystem::remove(file("000000.index"));
  std::filesystem::create_symlink(folder_.path("elsewhere"), file("000000.index"));
  LoggedLines log;
  const auto tier = open();
  EXPECT_EQ(right_ones(*tier, 0, 3), 0u);
  (void)fill(*tier, 0, 3);
  std::ifstream in(folder_.path("elsewhere"));
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), "precious");
  EXPECT_EQ(log.lines().size(), 1u) << "the tier says that it cannot write there";
}

TEST_F(DiskTiers, AVanishedFolderTurnsTheTierOffWithOneWarning) {
  LoggedLines log;
  const auto tier = open();
  fill(*tier, 0, 5);
  std::filesystem::remove_all(dir());
  EXPECT_EQ(right_ones(*tier, 0, 5), 0u);
  EXPECT_EQ(fill(*tier, 0, 20), 0u);
  EXPECT_FALSE(tier->find(id_of(1)));
  EXPECT_FALSE(tier->try_admit(100));
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("the folder is gone"), std::string::npos) << log.lines()[0];
  EXPECT_FALSE(std::filesystem::exists(dir())) << "it is not made again behind the user's back";
}

/// A small file system of its own; needs root.
class SmallDisk {
 public:
  SmallDisk(std::string path, const char* options) : path_(std::move(path)) {
    ::mkdir(path_.c_str(), 0700);
    mounted_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  bool make_read_only() const {
    return ::mount("tmpfs", path_.c_str(), "tmpfs", MS_REMOUNT | MS_RDONLY, "mode=700") == 0;
  }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST_F(DiskTiers, OfADiskThatOthersFillTheReserveIsLeftWithOneWarningAndWhatIsThereIsServed) {
  const SmallDisk disk(dir(), "size=2m,mode=700");
  if (!disk.mounted()) GTEST_SKIP() << "NOT ROOT: no small disk can be mounted";
  LoggedLines log;
  const auto tier = open(kMiB * 3 / 2);
  std::ofstream(dir() + "/other", std::ios::binary) << std::string(kMiB, 'x');  // not the cache's
  const uint64_t stored = fill(*tier, 0, 500);
  EXPECT_GT(stored, 50u);
  EXPECT_LT(stored, 300u);
  EXPECT_EQ(right_ones(*tier, 0, 500), stored);
  EXPECT_GE(std::filesystem::space(dir()).available, 2 * kMiB / 20);
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("the disk is full, but for a reserve"), std::string::npos) << log.lines()[0];
  EXPECT_FALSE(tier->try_admit(100));
  EXPECT_EQ(right_ones(*open(kMiB * 3 / 2), 0, 500), stored);
}

TEST_F(DiskTiers, AFullDiskEndsTheWritingWithOneWarningAndWhatIsThereIsServed) {
  const SmallDisk disk(dir(), "size=2m,mode=700");
  if (!disk.mounted()) GTEST_SKIP() << "NOT ROOT: no small disk can be mounted";
  LoggedLines log;
  const auto tier = open(kMiB * 3 / 2);
  const uint64_t before = fill(*tier, 0, 10);
  // Uses all that is left, including the reserve.
  std::ofstream(dir() + "/other", std::ios::binary) << std::string(3 * kMiB, 'x');
  ASSERT_EQ(std::filesystem::space(dir()).available, 0u);
  const uint64_t stored = before + fill(*tier, 10, 500);
  EXPECT_EQ(before, 10u);
  EXPECT_LT(stored, 50u);
  EXPECT_EQ(right_ones(*tier, 0, 500), stored);
  EXPECT_EQ(log.lines().size(), 1u);
  EXPECT_FALSE(tier->try_admit(100));
  EXPECT_EQ(right_ones(*open(kMiB * 3 / 2), 0, 500), stored) << "what was cut short is not served";
}

TEST_F(DiskTiers, AReadOnlyDiskTurnsTheTierOffWithOneWarningAndTheCacheOpensAllTheSame) {
  const SmallDisk disk(dir(), "size=8m,mode=700");
  if (!disk.mounted()) GTEST_SKIP() << "NOT ROOT: no small disk can be mounted";
  LoggedLines log;
  {
    const auto tier = open(4 * kMiB);
    fill(*tier, 0, 10);
  }
  ASSERT_TRUE(disk.make_read_only());
  EXPECT_EQ(try_open(4 * kMiB).status().code(), Code::kUnavailable);
  CacheOptions options;
  options.ram_bytes = kMiB;
  options.disk_bytes = 4 * kMiB;
  options.dir = dir();
  options.cache_id = id_of(1);
  const auto cache = open_cache(options);
  ASSERT_TRUE(cache.ok()) << cache.status().to_string();
  (*cache)->put(id_of(1), shared_columns(1, 10), 0.01);
  EXPECT_NE(looked_up(**cache, id_of(1)), nullptr) << "memory keeps on";
  ASSERT_EQ(log.lines().size(), 1u);
  EXPECT_NE(log.lines()[0].find("Read-only file system"), std::string::npos) << log.lines()[0];
  EXPECT_FALSE((*cache)->stats().disk.off.empty());
}

TEST_F(DiskTiers, AKilledWriterLeavesNothingThatMatters) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto opened = DiskTier::open({dir(), 4 * kMiB, id_of(1), ""});
    if (!opened.ok()) ::_exit(1);
    for (uint64_t i = 0;; ++i) (void)(*opened)->put(id_of(i % 100), entry_of(i % 100).span(), 0.01);
  }
  ASSERT_GT(child, 0);
  while (!std::filesystem::exists(file("000000.data")) || std::filesystem::file_size(file("000000.data")) < 50'000) {
    std::this_thread::yield();
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  const auto tier = open(4 * kMiB);
  EXPECT_GT(right_ones(*tier, 0, 100), 5u);
  EXPECT_EQ(fill(*tier, 0, 100), 100u);
  EXPECT_EQ(right_ones(*tier, 0, 100), 100u);
  EXPECT_FALSE(std::filesystem::exists(file("000001.index"))) << "the segment is gone on with";
}

TEST_F(DiskTiers, PlacesAreListedVerifiedAndCleared) {
  fill(*open(16 * kMiB, 1), 0, 10);
  auto used = open(16 * kMiB, 2);
  const auto caches = list_caches(dir());
  ASSERT_TRUE(caches.ok());
  ASSERT_EQ(caches->size(), 2u);
  for (const CacheInfo& cache : *caches) {
    const bool first = cache.name == id_of(1).to_string();
    EXPECT_EQ(cache.entries, first ? 10u : 0u);
    EXPECT_EQ(cache.in_use, !first);
    EXPECT_EQ(cache.description, "images(\"photos\")");
    EXPECT_EQ(cache.users, first ? std::vector<int>() : std::vector<int>{::getpid()});
  }
  CacheReport report;
  ASSERT_TRUE(verify_cache(dir(), id_of(1).to_string(), {}, report).ok());
  EXPECT_EQ(report.entries, 10u);
  EXPECT_EQ(report.damaged_count, 0u);

  const Status refused = clear_cache(dir(), id_of(2).to_string());
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_NE(refused.message().find("process " + std::to_string(::getpid())), std::string::npos) << refused.message();
  used.reset();
  EXPECT_TRUE(clear_cache(dir(), id_of(2).to_string()).ok());
  EXPECT_TRUE(clear_cache(dir(), id_of(1).to_string()).ok());
  EXPECT_EQ(clear_cache(dir(), id_of(1).to_string()).code(), Code::kNotFound);
  EXPECT_TRUE(list_caches(dir())->empty());
}

TEST_F(DiskTiers, DamageIsFoundByReadingEverything) {
  fill(*open(), 0, 10);
  std::fstream stream(file("000000.data"), std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(5000);
  stream.put('!');
  stream.close();
  CacheReport report;
  ASSERT_TRUE(verify_cache(dir(), id_of(1).to_string(), {}, report).ok());
  ASSERT_EQ(report.damaged_count, 1u);
  EXPECT_TRUE(report.damaged[0].where.starts_with("entry ")) << report.damaged[0].where;
  EXPECT_NE(report.damaged[0].what.find("damaged (checksum)"), std::string::npos);
}

}  // namespace
}  // namespace forebay
