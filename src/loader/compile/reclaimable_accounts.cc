#include "loader/compile/reclaimable_accounts.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/byte_size.h"
#include "cache/budget_limits.h"
#include "forebay/stats/cache.h"
#include "format/table/load_codecs.h"
#include "store/store.h"

namespace forebay {

namespace {

uint64_t limit_of(const TieredCache& cache, std::optional<uint64_t> memory) {
  // A cache may be shared with another loader whose budget is larger. This loader counts only its
  // own limit.
  return std::min(cache.stats().ram.budget_bytes, max_cache_bytes(memory));
}

}  // namespace

void add_reclaimable_accounts(const ExecutionPlan& plan, const std::vector<std::shared_ptr<TieredCache>>& caches,
                              std::optional<uint64_t> memory, std::vector<ByteBudget::Account>& accounts) {
  const auto add = [&](ByteBudget::Account account) {
    if (account.memory) accounts.push_back(std::move(account));
  };
  bool any_chunks = false;
  std::set<const Store*> stores;
  for (const auto& branch : plan.branches()) {
    any_chunks |= branch->chunks != nullptr;
    for (const Store* const store : branch->stores())
      if (stores.insert(store).second) add({Use::kReads, store->idle_memory()});
  }
  if (any_chunks) {
    if (const Result<const TableCodecs*> codecs = load_table_codecs(); codecs.ok()) {
      // The codecs live as long as the process.
      add({.use = Use::kColumns,
           .memory = std::shared_ptr<ReclaimableMemory>(std::shared_ptr<void>(), &(*codecs)->idle_memory()),
           .extra = 32 * kMiB});  // limit of the column decoder's pool
    }
  }
  // All caches together may set aside no more than one, or no memory would be left for read-ahead.
  uint64_t left = max_cache_bytes(memory);
  for (const auto& cache : caches) {
    const uint64_t most = limit_of(*cache, memory), reserved = std::min(most, left);
    left -= reserved;
    add({Use::kCaches, cache->entries(), ByteBudget::Kind::kEntries, most, reserved, /*extra=*/most});
    add({Use::kIndex, cache->index(), ByteBudget::Kind::kEntries});
  }
}

}  // namespace forebay
