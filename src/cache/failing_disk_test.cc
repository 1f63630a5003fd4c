// Tests a disk that begins to fail under a cache in use. The functions below replace the C
// library's, so this program's reads and writes of files pass through them.
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "cache/cache_test_support.h"

namespace {
std::atomic<int> write_error{0}, read_error{0};  // errno of every such call; 0: none

bool fails(const std::atomic<int>& error) {
  errno = error;
  return error != 0;
}
}  // namespace

extern "C" {
ssize_t pwrite(int fd, const void* from, size_t bytes, off_t offset) {
  return fails(write_error) ? -1 : ::syscall(SYS_pwrite64, fd, from, bytes, offset);
}
ssize_t pread(int fd, void* to, size_t bytes, off_t offset) {
  return fails(read_error) ? -1 : ::syscall(SYS_pread64, fd, to, bytes, offset);
}
ssize_t preadv2(int fd, const iovec* parts, int count, off_t offset, int flags) {
  return fails(read_error) ? -1 : ::syscall(SYS_preadv2, fd, parts, count, offset, 0L, flags);
}
}

namespace forebay {
namespace {

class FailingDisks : public testing::TestWithParam<int> {
 protected:
  FailingDisks() {
    CacheOptions options;
    options.disk_bytes = uint64_t{16} << 20;
    options.dir = folder_.path("caches");
    options.cache_id = id_of(1);
    cache_ = open_cache(options).value();
  }
  ~FailingDisks() override { write_error = read_error = 0; }

  void put(uint64_t from, uint64_t to) {
    for (uint64_t i = from; i < to; ++i) {
      if (cache_->try_admit({}, 1500)) cache_->put(id_of(i), shared_columns(i, 10), 0.01);
    }
  }
  uint64_t right_ones(uint64_t from, uint64_t to) {
    uint64_t right = 0;
    for (uint64_t i = from; i < to; ++i) {
      const auto columns = looked_up(*cache_, id_of(i));
      if (!columns) continue;
      EXPECT_TRUE(same_columns(*columns, columns_of_seed(i, 10)));
      ++right;
    }
    return right;
  }

  ScratchFolder folder_;
  LoggedLines log_;
  std::shared_ptr<TieredCache> cache_;
};

TEST_P(FailingDisks, ThatCannotBeWrittenAnyMoreAreReadOnWithOneWarning) {
  put(0, 20);
  ASSERT_EQ(right_ones(0, 20), 20u);
  write_error = GetParam();
  put(20, 60);
  EXPECT_EQ(right_ones(20, 60), 0u);
  EXPECT_EQ(right_ones(0, 20), 20u) << "what was kept before is served";
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_NE(log_.lines()[0].find(std::strerror(GetParam())), std::string::npos) << log_.lines()[0];
  EXPECT_NE(log_.lines()[0].find("the run continues"), std::string::npos) << log_.lines()[0];
}

TEST_P(FailingDisks, ThatCannotBeReadAnyMoreServeNothingWrong) {
  put(0, 20);
  read_error = GetParam();
  EXPECT_EQ(right_ones(0, 20), 0u);
  put(0, 20);
  EXPECT_EQ(right_ones(0, 20), 0u);
  ASSERT_EQ(log_.lines().size(), 1u);
  EXPECT_NE(log_.lines()[0].find("is off"), std::string::npos) << log_.lines()[0];
}

INSTANTIATE_TEST_SUITE_P(Errors, FailingDisks, testing::Values(EIO, EROFS, ENOSPC, EDQUOT),
                         [](const auto& one) { return std::string(::strerrorname_np(one.param)); });

}  // namespace
}  // namespace forebay
