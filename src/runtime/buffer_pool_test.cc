#include "runtime/buffer_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace forebay {
namespace {

constexpr size_t kLarge = (size_t{2} << 20) + 12345;  // mapped, not allocated

struct Fixture {
  explicit Fixture(uint64_t capacity, size_t max_idle = 16)
      : budget(std::make_shared<ByteBudget>(capacity)), pool(std::make_shared<BufferPool>(budget, max_idle)) {}
  uint64_t used(Use use) const { return budget->snapshot().of(use); }
  // Like the runner when it hands a batch to the user.
  Buffer hand_over(size_t size) { return std::move(pool->acquire(size)->buffer); }
  std::shared_ptr<ByteBudget> budget;
  std::shared_ptr<BufferPool> pool;
};

TEST(BufferPool, memory_is_used_again_when_the_last_reader_lets_go) {
  for (const size_t size : {size_t{1000}, kLarge}) {
    Fixture f(3 * kLarge);
    Buffer first = f.hand_over(size);
    std::memset(first.data(), 1, size);
    const uint8_t* address = first.data();
    Buffer second = first.slice(10, 20);
    first = Buffer();
    EXPECT_EQ(f.used(Use::kPool), 0u) << "a reader is left";
    second = Buffer();
    EXPECT_EQ(f.used(Use::kPool), size);
    const std::optional<BufferPool::Acquired> again = f.pool->acquire(size);
    EXPECT_EQ(again->buffer.data(), address);
    EXPECT_EQ(again->claim.bytes(), size);
    EXPECT_EQ(f.used(Use::kPool), 0u);
    EXPECT_EQ(f.used(Use::kBatches), size);
  }
}

/// Has a limited number of blocks.
class FewBlocks final : public BlockSource {
 public:
  uint8_t* allocate(size_t bytes) override {
    if (left == 0) return nullptr;
    --left;
    return own_->allocate(bytes);
  }
  void free(uint8_t* block, size_t bytes) override {
    ++left;
    own_->free(block, bytes);
  }
  int left = 1;

 private:
  const std::shared_ptr<BlockSource> own_ = BlockSource::own_memory();
};

TEST(BufferPool, what_the_system_has_not_is_nothing_and_not_thrown) {
  Fixture f(1'000'000);
  const auto blocks = std::make_shared<FewBlocks>();
  const auto pool = std::make_shared<BufferPool>(f.budget, 16, Use::kBatches, blocks);
  std::optional<BufferPool::Acquired> first = pool->acquire(1000);
  ASSERT_TRUE(first);
  EXPECT_FALSE(pool->refused());
  EXPECT_FALSE(pool->acquire(3000));
  std::optional<Claim> reserved = pool->reserve(3000);
  ASSERT_TRUE(reserved);
  EXPECT_FALSE(pool->take_reserved(*reserved, 3000));
  reserved.reset();
  EXPECT_TRUE(pool->refused());
  EXPECT_EQ(f.used(Use::kBatches), 1000u);
  first.reset();
  EXPECT_EQ(f.used(Use::kPool), 1000u);
  EXPECT_TRUE(pool->acquire(3000)) << "what lies idle is given back to the system first";
  EXPECT_FALSE(pool->refused());
}

TEST(BufferPool, memory_that_is_a_little_larger_is_used_and_counted_whole) {
  Fixture f(1'000'000);
  for (const size_t size : {size_t{1000}, size_t{999}, size_t{875}}) {
    Buffer idle = f.hand_over(1000);
    const uint8_t* const address = idle.data();
    idle = Buffer();
    EXPECT_TRUE(f.pool->has_idle(size));
    const std::optional<BufferPool::Acquired> acquired = f.pool->acquire(size);
    EXPECT_EQ(acquired->buffer.data(), address);
    EXPECT_EQ(acquired->buffer.size(), size);
    EXPECT_EQ(f.used(Use::kBatches), 1000u);
  }
  EXPECT_EQ(f.used(Use::kPool), 1000u);
  EXPECT_FALSE(f.pool->has_idle(874)) << "too much of it would lie idle";
  EXPECT_FALSE(f.pool->has_idle(1001));
}

TEST(BufferPool, of_several_the_smallest_serves_and_of_its_size_the_one_used_last) {
  Fixture f(1'000'000);
  Buffer first = f.hand_over(1000), larger = f.hand_over(1050), last = f.hand_over(1000), small = f.hand_over(980);
  const uint8_t* const address = last.data();
  for (Buffer* each : {&first, &last, &larger, &small}) *each = Buffer();
  EXPECT_EQ(f.pool->acquire(990)->buffer.data(), address);
}

TEST(BufferPool, a_larger_one_counts_once_where_less_was_reserved) {
  Fixture f(1900);
  f.hand_over(1000);
  std::optional<Claim> reserved = f.pool->reserve(900);
  ASSERT_TRUE(reserved);
  {
    const BufferPool::Acquired acquired = std::move(*f.pool->take_reserved(*reserved, 900));
    EXPECT_EQ(acquired.claim.bytes(), 1000u);
    EXPECT_EQ(f.budget->snapshot().used, 1000u);
  }
  EXPECT_EQ(f.used(Use::kPool), 1000u);
}

TEST(BufferPool, of_sizes_that_differ_no_more_are_kept_than_were_in_use_at_once) {
  Fixture f(1'000'000);
  uint64_t seed = 1;
  const auto about_1000 = [&seed] {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(940 + (seed >> 33) % 120);
  };
  size_t fresh = 0;
  std::optional<BufferPool::Acquired> one, two;
  for (int i = 0; i < 1000; ++i) {
    std::optional<BufferPool::Acquired>& next = i % 2 == 0 ? one : two;
    const size_t size = about_1000();
    next.reset();
    fresh += f.pool->has_idle(size) ? 0 : 1;
    next = f.pool->acquire(size);
    ASSERT_LE(f.budget->snapshot().used, 2u * 1060u);
  }
  EXPECT_LT(fresh, 30u);
}

TEST(BufferPool, nothing_beyond_the_budget) {
  Fixture f(1000);
  std::optional<BufferPool::Acquired> first = f.pool->acquire(600);
  EXPECT_FALSE(f.pool->acquire(600));
  first.reset();
  EXPECT_EQ(f.used(Use::kPool), 600u);
  EXPECT_FALSE(f.pool->acquire(700)) << "idle memory of another size is in the way";
  EXPECT_TRUE(f.pool->trim());
  EXPECT_FALSE(f.pool->trim()) << "nothing is left to give back";
  EXPECT_TRUE(f.pool->acquire(700));
}

TEST(BufferPool, what_was_reserved_is_given_whatever_others_take) {
  Fixture f(1000);
  Buffer idle = f.hand_over(300);
  idle = Buffer();
  std::optional<Claim> reserved = f.pool->reserve(700);
  ASSERT_TRUE(reserved);
  EXPECT_FALSE(f.pool->reserve(1));
  EXPECT_FALSE(f.pool->acquire(200));
  const BufferPool::Acquired first = std::move(*f.pool->take_reserved(*reserved, 300)),
                             second = std::move(*f.pool->take_reserved(*reserved, 400));
  EXPECT_EQ(f.used(Use::kPool), 0u) << "the idle one was used";
  EXPECT_EQ(f.used(Use::kBatches), 700u);
  EXPECT_EQ(reserved->bytes(), 0u);
}

TEST(BufferPool, memory_that_finds_no_room_when_it_comes_back_is_freed) {
  Fixture f(1000);
  Buffer users = f.hand_over(800);
  const std::optional<BufferPool::Acquired> next = f.pool->acquire(800);  // the user's does not count
  users = Buffer();
  EXPECT_EQ(f.used(Use::kPool), 0u);
  EXPECT_LE(f.budget->snapshot().peak, 1000u);
}

TEST(BufferPool, keeps_at_most_so_many_idle_and_drops_the_longest_idle) {
  Fixture f(1'000'000, 2);
  Buffer a = f.hand_over(100), b = f.hand_over(200), c = f.hand_over(300);
  a = Buffer();
  b = Buffer();
  c = Buffer();
  EXPECT_EQ(f.used(Use::kPool), 500u);
}

TEST(BufferPool, after_close_nothing_is_kept_and_readers_stay_valid) {
  Fixture f(1'000'000);
  Buffer idle = f.hand_over(100), held = f.hand_over(200);
  idle = Buffer();
  f.pool->close();
  EXPECT_EQ(f.budget->snapshot().used, 0u);
  f.pool.reset();
  std::memset(held.data(), 5, held.size());
  held = Buffer();
  EXPECT_EQ(f.budget->snapshot().used, 0u);
}

TEST(BufferPool, an_empty_buffer_is_a_buffer) {
  Fixture f(10);
  const std::optional<BufferPool::Acquired> acquired = f.pool->acquire(0);
  ASSERT_TRUE(acquired);
  EXPECT_TRUE(acquired->buffer.empty());
  EXPECT_TRUE(acquired->buffer.owner());
}

TEST(BufferPool, is_aligned_for_simd) {
  Fixture f(10 * kLarge);
  for (const size_t size : {size_t{1}, size_t{63}, size_t{4097}, kLarge}) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(f.pool->acquire(size)->buffer.data()) % 64, 0u) << size;
  }
}

TEST(BufferPool, many_threads_take_and_give) {
  Fixture f(100'000);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 2000; ++i) {
        const auto size = static_cast<size_t>(1000 + (i + t) % 3);
        std::optional<BufferPool::Acquired> acquired = f.pool->acquire(size);
        if (!acquired) continue;
        acquired->buffer.data()[size - 1] = 1;
        acquired.reset();
        if (i % 100 == 0) f.pool->trim();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  f.pool->close();
  EXPECT_EQ(f.budget->snapshot().used, 0u);
  EXPECT_LE(f.budget->snapshot().peak, 100'000u);
}

}  // namespace
}  // namespace forebay
