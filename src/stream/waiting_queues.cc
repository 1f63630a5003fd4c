#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "stream/waiting.h"

namespace forebay {

namespace {

class Queues final : public Waiting {
 public:
  Queues(const StreamOptions& options, size_t partitions, bool decides)
      : options_(options), oldest_go_(decides && options.policy == BufferPolicy::kDropOldest), space_(options.spill) {
    for (size_t p = 0; p < partitions; ++p) queues_.emplace_back(RecordQueue(space_, p));
  }

  Status add(LogRecord record) override {
    const size_t partition = record.partition;
    // The other half of the budget is for decisions. What the next one needs stays in memory, whatever it takes.
    const bool full = bytes() + record.bytes() > options_.bytes / 2 && records_ >= options_.decision_records;
    RecordQueue& records = queues_[partition].records;
    FOREBAY_RETURN_IF_ERROR(counted(records, [&] { return records.push(std::move(record), arrivals_++, full); }));
    ++records_;
    FOREBAY_RETURN_IF_ERROR(drop_decided(partition));
    // What a decision needs stays, whatever it takes.
    while (oldest_go_ && !decided_ && bytes() > options_.bytes && records_ > options_.decision_records)
      FOREBAY_RETURN_IF_ERROR(drop_oldest());
    return {};
  }

  // Half of the room is for whoever comes first; the other half is shared out, so that a fast partition leaves room to slow ones. What the next
  // decision needs is read in any case once it is waited for: a step may have its first records in the decision before, which then cannot go.
  bool wants(size_t partition, uint64_t in_decisions, bool awaited) const override {
    const Queue& queue = queues_[partition];
    if (space_ ? space_->has_room() && late_ == 0 : has_room(queue, in_decisions)) return true;
    if (decided_) return misses(partition);
    return oldest_go_ || ((in_decisions == 0 || awaited) && records_ < options_.decision_records);
  }

  uint64_t bytes() const override { return bytes_; }

  std::vector<size_t> counts() const override {
    std::vector<size_t> counts;
    for (const Queue& queue : queues_) counts.push_back(queue.records.size());
    return counts;
  }

  Result<Taken> take(const std::vector<size_t>& counts) override {
    Taken taken;
    taken.records.resize(queues_.size());
    for (size_t p = 0; p < queues_.size(); ++p) {
      Queue& queue = queues_[p];
      // Of a partition that only dropped there is a part, so that places move on behind what is gone.
      if (counts[p] == 0 && queue.dropped == 0) continue;
      DecisionPart part{p, queue.last_dropped, static_cast<int64_t>(counts[p]), std::exchange(queue.dropped, 0)};
      for (size_t i = 0; i < counts[p]; ++i) {
        FOREBAY_ASSIGN(LogRecord record, pop(queue));
        taken.records[p].push_back(std::move(record));
      }
      if (counts[p] > 0) part.last = taken.records[p].back().offset;
      taken.parts.push_back(std::move(part));
    }
    FOREBAY_RETURN_IF_ERROR(spill_late());
    return taken;
  }

  Result<std::optional<Taken>> take(const Decision& decided) override {
    for (const DecisionPart& part : decided.parts) {
      // All of it or nothing: what is taken out could not be put back.
      if (arrived(part.partition) < part.taken + part.dropped) return std::optional<Taken>();
    }
    std::vector<size_t> counts(queues_.size());
    for (const DecisionPart& part : decided.parts) counts[part.partition] = static_cast<size_t>(part.taken);
    FOREBAY_ASSIGN(Taken taken, take(counts));
    // Last offsets are compared, which is enough: logs only grow at their ends.
    for (size_t i = 0; i < decided.parts.size(); ++i) {
      if (i < taken.parts.size() && taken.parts[i] == decided.parts[i]) continue;
      return Status(Code::kCorrupt,
                    fmt::format("partition {} has other records than when they were first given: {} records behind its "
                                "place end with '{}', and ended with '{}'. They were trimmed, or it was made anew, so "
                                "that they cannot be given again; go on with a later state, or begin without one",
                                decided.parts[i].partition, decided.parts[i].taken + decided.parts[i].dropped,
                                i < taken.parts.size() ? taken.parts[i].last : "", decided.parts[i].last));
    }
    return std::optional<Taken>(std::move(taken));
  }

  Status begin_decision(int64_t /*first*/, const std::optional<Decision>& decided) override {
    decided_ = decided;
    for (size_t p = 0; p < queues_.size(); ++p) FOREBAY_RETURN_IF_ERROR(drop_decided(p));
    return {};
  }

 private:
  struct Queue {
    explicit Queue(RecordQueue waiting) : records(std::move(waiting)) {}
    RecordQueue records;
    int64_t dropped = 0;  // since the last decision
    std::string last_dropped;
  };

  bool has_room(const Queue& queue, uint64_t in_decisions) const {
    const uint64_t used = bytes() + in_decisions;
    return used < options_.bytes / 2 ||
           (used < options_.bytes && queue.records.bytes() < options_.bytes / (2 * queues_.size()));
  }

  // Behind the last decision, those that were dropped included: a decision says how many of them it did not take.
  int64_t arrived(size_t partition) const {
    return queues_[partition].dropped + static_cast<int64_t>(queues_[partition].records.size());
  }

  const DecisionPart* decided_part(size_t partition) const { return decided_ ? decided_->part(partition) : nullptr; }

  // Also where all that it has of the partition was dropped: these must come to be told from the next ones.
  bool misses(size_t partition) const {
    const DecisionPart* const part = decided_part(partition);
    return part != nullptr && arrived(partition) < part->taken + part->dropped;
  }

  // However many these are, they take no room.
  Status drop_decided(size_t partition) {
    const DecisionPart* const part = decided_part(partition);
    Queue& queue = queues_[partition];
    while (part != nullptr && queue.dropped < part->dropped && !queue.records.empty())
      FOREBAY_RETURN_IF_ERROR(drop(queue));
    return {};
  }

  Result<LogRecord> pop(Queue& queue) {
    Result<LogRecord> record = counted(queue.records, [&] { return queue.records.pop(); });
    if (record.ok()) --records_;
    return record;
  }

  // Where the disk has room again.
  Status spill_late() {
    if (late_ == 0 || !space_->may_try()) return {};
    for (Queue& queue : queues_)
      FOREBAY_RETURN_IF_ERROR(counted(queue.records, [&] { return queue.records.spill_late(); }));
    return {};
  }

  // What a queue has in memory, and too late for the disk, changes by what is done with it.
  template <typename Change>
  std::invoke_result_t<Change> counted(RecordQueue& records, Change change) {
    bytes_ -= records.bytes();
    late_ -= records.late();
    std::invoke_result_t<Change> result = change();
    bytes_ += records.bytes();
    late_ += records.late();
    return result;
  }

  Status drop(Queue& queue) {
    FOREBAY_ASSIGN(const LogRecord record, pop(queue));
    queue.last_dropped = record.offset;
    ++queue.dropped;
    return {};
  }

  // The oldest by arrival over all partitions. Linear in these, for each record that is dropped.
  Status drop_oldest() {
    Queue* oldest = nullptr;
    for (Queue& queue : queues_) {
      if (queue.records.empty()) continue;
      if (oldest == nullptr || queue.records.first_number() < oldest->records.first_number()) oldest = &queue;
    }
    return drop(*oldest);
  }

  const StreamOptions options_;
  const bool oldest_go_;
  const std::shared_ptr<SpillSpace> space_;
  std::vector<Queue> queues_;
  std::optional<Decision> decided_;
  uint64_t arrivals_ = 0, bytes_ = 0;
  size_t records_ = 0, late_ = 0;
};

}  // namespace

std::unique_ptr<Waiting> waiting_in_queues(const StreamOptions& options, size_t partitions, bool decides) {
  return std::make_unique<Queues>(options, partitions, decides);
}

}  // namespace forebay
