#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/byte_budget.h"
#include "runtime/memory.h"

namespace forebay {

/// The memory of a run and its division. All numbers are bytes.
struct MemoryPlan {
  /// For everything between storage and the user: what the run asks of the process. `beside` is not
  /// looked at, since the index and the accounts say it.
  Memory::Demand share = {};
  uint64_t window = 0;      ///< for the batches of the window; chunks of later ones leave so much free
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
