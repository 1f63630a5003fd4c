#include "runtime/lent_blocks.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/buffer_pool.h"

namespace forebay {
namespace {

/// A framework that lends what is wanted, and counts the blocks that it still has to keep.
class Framework {
 public:
  explicit Framework(LentBlocks& blocks) : blocks_(blocks) {}

  /// Returns the sizes that were wanted.
  std::vector<size_t> refill() {
    const LentBlocks::Exchange now = blocks_.exchange();
    for (const size_t bytes : now.wanted) EXPECT_TRUE(lend(bytes, 0));
    return now.wanted;
  }
  bool lend(size_t bytes, size_t shift) {
    const auto memory = std::shared_ptr<uint8_t>(new (std::align_val_t(64)) uint8_t[bytes + shift], [](uint8_t* block) {
      operator delete[](block, std::align_val_t(64));
    });
    lent_.push_back(memory);
    return blocks_.lend(memory.get() + shift, bytes, memory);
  }
  size_t kept() const {
    return static_cast<size_t>(std::ranges::count_if(lent_, [](const auto& block) { return !block.expired(); }));
  }
  bool owns(const uint8_t* address) const {
    return std::ranges::any_of(lent_, [&](const auto& block) { return block.lock().get() == address; });
  }

 private:
  LentBlocks& blocks_;
  std::vector<std::weak_ptr<uint8_t>> lent_;
};

struct Lending {
  std::shared_ptr<LentBlocks> blocks = std::make_shared<LentBlocks>();
  Framework framework{*blocks};
  std::shared_ptr<ByteBudget> budget = std::make_shared<ByteBudget>(1 << 20);
  std::shared_ptr<BufferPool> pool = std::make_shared<BufferPool>(budget, 0, Use::kBatches, blocks);

  Buffer acquire(size_t bytes) { return pool->acquire(bytes)->buffer; }
};

TEST(LentBlocks, the_first_batch_is_in_memory_of_the_process_and_the_next_in_what_was_lent) {
  Lending lending;
  const Buffer first = lending.acquire(3000);
  ASSERT_NE(first.data(), nullptr);
  EXPECT_EQ(lending.blocks->hand_over(first.data()), nullptr);
  EXPECT_EQ(lending.framework.refill(), std::vector<size_t>{4096});
  EXPECT_TRUE(lending.framework.owns(lending.acquire(3000).data()));
}

TEST(LentBlocks, a_block_that_the_user_never_had_is_filled_again) {
  Lending lending;
  ASSERT_TRUE(lending.framework.lend(4096, 0));
  const uint8_t* const address = lending.acquire(3000).data();
  EXPECT_EQ(lending.acquire(4096).data(), address);
  EXPECT_EQ(lending.framework.refill(), std::vector<size_t>());
}

TEST(LentBlocks, a_block_that_the_user_had_is_never_filled_again_and_is_replaced) {
  Lending lending;
  ASSERT_TRUE(lending.framework.lend(4096, 0));
  LentBlocks::Owner tensor;
  {
    const Buffer batch = lending.acquire(4096);
    std::memset(lending.blocks->hand_over(batch.data()).get(), 7, 4096);
    tensor = lending.blocks->hand_over(batch.data());
  }
  EXPECT_NE(lending.acquire(4096).data(), tensor.get()) << "the batch is dropped, and its tensor is not";
  EXPECT_EQ(static_cast<uint8_t*>(tensor.get())[4095], 7);
  EXPECT_EQ(lending.framework.refill(), (std::vector<size_t>{4096, 4096}));
  EXPECT_EQ(lending.framework.kept(), 3u);
  tensor.reset();
  EXPECT_EQ(lending.framework.kept(), 2u) << "nobody but the user kept it";
}

TEST(LentBlocks, a_steady_loop_wants_a_block_for_each_that_it_had) {
  Lending lending;
  size_t from_owner = 0;
  constexpr int kSteps = 50;
  for (int step = 0; step < kSteps; ++step) {
    lending.framework.refill();
    const Buffer image = lending.acquire(5000), label = lending.acquire(64);
    for (const Buffer* field : {&image, &label}) {
      from_owner += lending.blocks->hand_over(field->data()) != nullptr;
    }
    EXPECT_LE(lending.framework.kept(), 4u);
  }
  EXPECT_EQ(from_owner, 2u * (kSteps - 1));
}

TEST(LentBlocks, what_is_lent_serves_its_size_alone) {
  Lending lending;
  ASSERT_TRUE(lending.framework.lend(4096, 0));
  EXPECT_FALSE(lending.framework.owns(lending.acquire(2048).data()));
  EXPECT_FALSE(lending.framework.owns(lending.acquire(4097).data()));
  EXPECT_TRUE(lending.framework.owns(lending.acquire(2049).data()));
}

TEST(LentBlocks, a_block_without_alignment_is_not_taken) {
  Lending lending;
  EXPECT_FALSE(lending.framework.lend(4096, 16));
  EXPECT_EQ(lending.framework.kept(), 0u);
  EXPECT_NE(lending.acquire(4096).data(), nullptr);
}

TEST(LentBlocks, the_pool_keeps_and_charges_nothing_idle) {
  Lending lending;
  ASSERT_TRUE(lending.framework.lend(4096, 0));
  lending.acquire(4096);
  EXPECT_EQ(lending.budget->snapshot().used, 0u);
}

TEST(LentBlocks, buffers_keep_what_was_lent_alive) {
  auto lending = std::make_unique<Lending>();
  std::weak_ptr<void> owner;
  ASSERT_TRUE(lending->framework.lend(4096, 0));
  std::optional<Buffer> batch = lending->acquire(4096);
  owner = lending->blocks->hand_over(batch->data());
  lending.reset();
  EXPECT_FALSE(owner.expired());
  batch.reset();
  EXPECT_TRUE(owner.expired());
}

TEST(LentBlocks, threads_never_share_a_block) {
  Lending lending;
  for (int i = 0; i < 8; ++i) ASSERT_TRUE(lending.framework.lend(256, 0));
  std::atomic<int> running = 4;
  const auto work = [&](uint8_t mark) {
    for (int i = 0; i < 2000; ++i) {
      Buffer block = lending.acquire(256);
      std::memset(block.data(), mark, 256);
      if (i % 3 == 0) lending.blocks->hand_over(block.data());
      for (const uint8_t byte : block.span()) EXPECT_EQ(byte, mark);
    }
    --running;
  };
  std::vector<std::jthread> threads;
  for (uint8_t mark = 1; mark <= 4; ++mark) threads.emplace_back(work, mark);
  while (running > 0) lending.framework.refill();
}

}  // namespace
}  // namespace forebay
