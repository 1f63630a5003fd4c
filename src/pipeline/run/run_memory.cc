#include "pipeline/run/run_memory.h"

namespace forebay {

namespace {
constexpr size_t kIdleChunks = 64;

// A share that the user gave holds everything. Others get the index and the accounts in addition.
Memory::Demand demand_of(const MemoryPlan& plan) {
  Memory::Demand demand = plan.share;
  if (demand.shared_limit == 0) return demand;
  demand.extra = plan.index;
  for (const ByteBudget::Account& each : plan.accounts) demand.extra += each.extra;
  return demand;
}

}  // namespace

RunMemory::RunMemory(Memory& memory, const MemoryPlan& plan, int threads, size_t idle_buffers,
                     const std::shared_ptr<BlockSource>& blocks)
    : window_bytes_(plan.window), ahead_bytes_(plan.ahead), bytes_per_thread_(plan.per_thread),
      has_entries_(std::ranges::any_of(plan.accounts, [](const auto& each) { return each.reserved > 0; })),
      account_(memory.open(demand_of(plan))), budget_(account_->budget()),
      batch_pool_(
          std::make_shared<BufferPool>(budget_, blocks->keeps_freed() ? 0 : idle_buffers, Use::kBatches, blocks)),
      chunk_pool_(std::make_shared<BufferPool>(budget_, kIdleChunks, Use::kChunks)),
      thread_memory_(existing(Use::kWorking, plan.per_thread * static_cast<uint64_t>(threads))),
      index_memory_(existing(Use::kIndex, plan.index)) {
  for (const ByteBudget::Account& each : plan.accounts) budget_->open(each);
}

std::optional<Claim> RunMemory::take(Use use, uint64_t bytes, MemoryReclaimer* others) const {
  std::optional<Claim> taken;
  while (!(taken = take(use, bytes)) && others != nullptr && others->reclaim(bytes)) {
  }
  return taken;
}

bool RunMemory::trim(uint64_t bytes) const {
  return batch_pool_->trim() || chunk_pool_->trim() || budget_->reclaim(ByteBudget::Kind::kIdle, bytes);
}

bool RunMemory::full() const {
  const ByteBudget::Snapshot now = budget_->snapshot();
  return now.used - now.idle + now.reserved >= now.capacity;
}

// Bytes that are held and bytes that the batches of the window will need are not available.
bool RunMemory::leaves_room(uint64_t bytes) const {
  const ByteBudget::Snapshot now = budget_->snapshot();
  const uint64_t held = now.of(Use::kBatches);
  const uint64_t taken = now.used - now.idle + now.reserved + (window_bytes_ > held ? window_bytes_ - held : 0);
  return taken + bytes <= now.capacity;
}

bool RunMemory::leaves_assembly_room(uint64_t bytes) const {
  if (!has_entries_ || max_assembly_bytes_ == 0) return true;
  const ByteBudget::Snapshot now = budget_->snapshot();
  const uint64_t entries = now.of(Use::kCaches) + now.reserved;
  // A batch does not fit next to the cache entries in any case. They are dropped for its assembly
  // whether or not others wait, so reading ahead at least saves time.
  if (entries + 2 * max_assembly_bytes_ > now.capacity) return true;
  return now.used - now.idle + now.reserved + bytes + max_assembly_bytes_ <= now.capacity;
}

bool RunMemory::may_fetch_ahead(uint64_t bytes) const {
  return budget_->snapshot().of(Use::kFetched) + bytes <= ahead_bytes_;
}

bool RunMemory::has_fetched() const { return budget_->snapshot().of(Use::kFetched) > 0; }

bool RunMemory::set_aside_for_threads(int threads) {
  const uint64_t needed = bytes_per_thread_ * static_cast<uint64_t>(threads), held = thread_memory_.bytes();
  return needed <= held || thread_memory_.try_grow(needed - held);
}

void RunMemory::close_pools() const {
  batch_pool_->close();
  chunk_pool_->close();
  budget_->close_accounts();
}

}  // namespace forebay
