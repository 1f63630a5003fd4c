#include <algorithm>
#include <deque>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "plan/merging.h"
#include "stream/waiting.h"

namespace forebay {

namespace {

// Retains those records since the last decision that have the smallest draws. That is a uniform
// sample, whatever the order of arrival, and it can be drawn again from the same records.
class SampledRecords final : public WaitingRecords {
 public:
  SampledRecords(const StreamOptions& options, size_t partitions, bool decides)
      : options_(options), decides_(decides), seen_(partitions), later_(partitions) {}

  Status add(LogRecord record) override {
    const size_t partition = record.partition;
    if (may_take(partition)) {
      add_to_sample(std::move(record));
    } else {
      bytes_ += record.bytes();
      // It arrived with requested records, and belongs to a later decision.
      later_[partition].push_back(std::move(record));
    }
    return {};
  }

  bool should_read(size_t partition, uint64_t /*in_decisions*/, bool /*awaited*/) const override {
    // At most the records of one read wait in addition to the sample, however fast records arrive.
    return later_[partition].empty() && may_take(partition);
  }

  uint64_t bytes() const override { return bytes_; }

  std::vector<size_t> counts() const override {
    std::vector<size_t> counts(seen_.size());
    for (const Drawn& drawn : sample_) ++counts[drawn.record.partition];
    return counts;
  }

  // Takes the whole sample: the draws determine the shares, and no other records can be chosen.
  Result<Taken> take(const std::vector<size_t>& /*counts*/) override {
    Taken taken;
    taken.records.resize(seen_.size());
    // Restores each partition's order of arrival.
    std::sort(sample_.begin(), sample_.end(), [](const Drawn& a, const Drawn& b) { return a.number < b.number; });
    for (Drawn& drawn : sample_) {
      bytes_ -= drawn.record.bytes();
      taken.records[drawn.record.partition].push_back(std::move(drawn.record));
    }
    sample_.clear();
    for (size_t p = 0; p < seen_.size(); ++p) {
      const Seen seen = std::exchange(seen_[p], {});
      if (seen.records == 0) continue;
      const auto count = static_cast<int64_t>(taken.records[p].size());
      taken.parts.push_back({p, seen.last, count, seen.records - count});
    }
    return taken;
  }

  Result<std::optional<Taken>> take(const Decision& decided) override {
    for (const DecisionPart& part : decided.parts) {
      // The sample covers that many records of each partition. There are never more: may_take()
      // admits no others.
      if (seen_[part.partition].records < part.taken + part.dropped) return std::optional<Taken>();
    }
    FOREBAY_ASSIGN(Taken taken, take(std::vector<size_t>()));
    if (taken.parts == decided.parts) return std::optional<Taken>(std::move(taken));
    return Status(Code::kCorrupt, fmt::format("the records behind record {} are others than when they were first given",
                                              decided.first));
  }

  Status begin_decision(int64_t first, const std::optional<Decision>& decided) override {
    first_ = first;
    decided_ = decided;
    for (std::deque<LogRecord>& later : later_) {
      while (!later.empty() && may_take(later.front().partition)) {
        bytes_ -= later.front().bytes();
        add_to_sample(std::move(later.front()));
        later.pop_front();
      }
    }
    return {};
  }

 private:
  struct Drawn {
    LogRecord record;
    uint64_t draw, number;
    friend bool operator<(const Drawn& a, const Drawn& b) {
      return std::pair(a.draw, a.number) < std::pair(b.draw, b.number);
    }
  };
  struct Seen {
    int64_t records = 0;
    std::string last;
  };

  bool may_take(size_t partition) const {
    // If a guide decides, a record's decision is not known before the guide gives it.
    if (!decided_) return decides_;
    const DecisionPart* const part = decided_->part(partition);
    return part != nullptr && seen_[partition].records < part->taken + part->dropped;
  }

  size_t most() const { return decided_ ? static_cast<size_t>(decided_->size()) : options_.decision_records; }

  void add_to_sample(LogRecord record) {
    Seen& seen = seen_[record.partition];
    ++seen.records;
    seen.last = record.offset;
    // Drawn by the place of the record, not by its arrival: the draw is the same on every rank, and
    // when the record is read again.
    Hasher place;
    place.update_value(record.partition);
    place.update(record.offset);
    Drawn drawn{{}, sampling_draw(options_.seed, first_, place.digest().low), number_++};
    if (sample_.size() >= most() && (sample_.empty() || !(drawn < sample_.front()))) return;
    drawn.record = record.deep_copy();  // releases the other records of the same read
    bytes_ += drawn.record.bytes();
    sample_.push_back(std::move(drawn));
    std::push_heap(sample_.begin(), sample_.end());
    if (sample_.size() <= most()) return;
    std::pop_heap(sample_.begin(), sample_.end());
    bytes_ -= sample_.back().record.bytes();
    sample_.pop_back();
  }

  const StreamOptions options_;
  const bool decides_;
  int64_t first_ = 0;
  std::optional<Decision> decided_;
  std::vector<Drawn> sample_;  // a heap, the largest draw first
  std::vector<Seen> seen_;
  std::vector<std::deque<LogRecord>> later_;  // of later decisions
  uint64_t bytes_ = 0, number_ = 0;
};

}  // namespace

std::unique_ptr<WaitingRecords> make_waiting_sample(const StreamOptions& options, size_t partitions, bool decides) {
  return std::make_unique<SampledRecords>(options, partitions, decides);
}

}  // namespace forebay
