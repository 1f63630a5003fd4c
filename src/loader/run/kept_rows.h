#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/entry_cache.h"
#include "base/kept_bytes.h"
#include "cache/hash_map.h"
#include "forebay/ledger.h"
#include "stream/rehearsal_itinerary.h"

namespace forebay {

/// What the steps before a `.rehearse(where="here")` made of the samples that are kept, in memory up to a budget: for as long as they are kept, and of no others. What
/// is not here is made again, so nothing depends on it. An entry is known by epoch and id of its sample. From any thread.
class KeptRows final : public EntryCache, public KeptResults, public KeptBytes {
 public:
  explicit KeptRows(uint64_t most_bytes) : most_bytes_(most_bytes) {}

  void hold(std::span<const KeptSample> entered) override;
  void let_go(std::span<const KeptSample> left) override;
  void hold_only(std::span<const KeptSample> kept) override;

  std::optional<Found> find(const Hash128& entry) override;
  void note_made_again() override { ++made_again_; }
  uint64_t puts() const override { return puts_; }
  bool has(const Hash128& entry) const override;
  bool wants(const Hash128& entry) const override;
  bool admits(uint64_t bytes) const override { return bytes_ + bytes <= most_bytes_; }
  void put(const Hash128& entry, std::shared_ptr<const Columns> columns, double seconds, KeepIn where,
           int64_t element) override;
  /// Nothing is elsewhere than in memory.
  Result<std::shared_ptr<const Columns>> open(const Hash128& entry, Buffer stored) override;

  RehearsalStats stats() const;
  uint64_t most_bytes() const { return most_bytes_; }
  uint64_t bytes() const override { return bytes_; }
  uint64_t give_back(uint64_t bytes) override;

 private:
  struct Held {
    int64_t times = 0;  // that its sample is kept
    std::shared_ptr<const Columns> columns = {};
    uint64_t bytes = 0;
  };
  using Entries = std::unordered_map<Hash128, Held, HashOfHash>;
  uint64_t drop(Held& held, std::vector<std::shared_ptr<const Columns>>& gone);

  const uint64_t most_bytes_;
  mutable std::mutex mutex_;
  Entries entries_;  // of all samples that are kept
  uint64_t hits_ = 0;
  std::atomic<uint64_t> made_again_ = 0, puts_ = 0;
  uint64_t rows_ = 0;                // that are there of them
  std::atomic<uint64_t> bytes_ = 0;  // of these
};

}  // namespace forebay
