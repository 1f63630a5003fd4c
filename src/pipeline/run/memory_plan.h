#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/byte_budget.h"
#include "runtime/memory.h"

namespace forebay {

/// The memory of a run and its division. All numbers are bytes.
struct MemoryPlan {
  /// The run's share of the memory of the process, for everything between storage and the user.
  /// `beside` is ignored, since RunMemory computes it from `index` and `accounts`.
  Memory::Demand share = {};
  uint64_t window = 0;      ///< for the batches of the window; chunks of later batches leave it free
  uint64_t ahead = 0;       ///< for reads ahead of the window
  uint64_t per_thread = 0;  ///< working memory that each compute thread keeps
  uint64_t index = 0;       ///< held by the index of the data set
  /// Memory outside the run that counts in its budget, and that other runs may use, too: cache
  /// entries, idle memory of stores and decoders.
  std::vector<ByteBudget::Account> accounts = {};
  /// Returns the share that is enough for every batch, for messages. Empty if that is not known.
  std::function<uint64_t()> enough = {};
};

}  // namespace forebay
