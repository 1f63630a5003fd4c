#include <numeric>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "stream/waiting.h"

namespace forebay {

namespace {

class Queues final : public WaitingRecords {
 public:
  Queues(const StreamOptions& options, size_t partitions, bool decides)
      : options_(options), drops_oldest_(decides && options.policy == BufferPolicy::kDropOldest),
        space_(options.spill) {
    for (size_t p = 0; p < partitions; ++p) queues_.emplace_back(RecordQueue(space_, p));
  }

  Status add(LogRecord record) override {
    const size_t partition = record.partition;
    // Half of the budget is for waiting records, and half for decisions. Records that the next
    // decision needs stay in memory, whatever their size.
    const bool full = bytes() + record.bytes() > options_.bytes / 2 && records_ >= options_.decision_records;
    RecordQueue& records = queues_[partition].records;
    FOREBAY_RETURN_IF_ERROR(counted(records, [&] { return records.push(std::move(record), arrivals_++, full); }));
    ++records_;
    FOREBAY_RETURN_IF_ERROR(drop_given(partition));
    // Records that a decision needs are not dropped, whatever their size.
    while (drops_oldest_ && !given_ && bytes() > options_.bytes && records_ > options_.decision_records)
      FOREBAY_RETURN_IF_ERROR(drop_oldest());
    return {};
  }

  // Half of the memory is open to every partition. The other half is divided among them, so that a
  // fast partition leaves memory to slow ones. Once the next decision is awaited, the records that
  // it needs are read in any case: a step may begin in the previous decision, whose records cannot
  // be released then.
  bool should_read(size_t partition, uint64_t in_decisions, bool awaited) const override {
    const Queue& queue = queues_[partition];
    if (space_ ? space_->has_room() && unspilled_ == 0 : has_room(queue, in_decisions)) return true;
    if (given_) return awaits_given(partition);
    return drops_oldest_ || ((in_decisions == 0 || awaited) && records_ < options_.decision_records);
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
      // A partition that only dropped records has a part, too, so that places move past the dropped
      // records.
      if (counts[p] == 0 && queue.dropped == 0) continue;
      DecisionPart part{p, queue.last_dropped, static_cast<int64_t>(counts[p]), std::exchange(queue.dropped, 0)};
      for (size_t i = 0; i < counts[p]; ++i) {
        FOREBAY_ASSIGN(LogRecord record, pop(queue));
        taken.records[p].push_back(std::move(record));
      }
      if (counts[p] > 0) part.last = taken.records[p].back().offset;
      taken.parts.push_back(std::move(part));
    }
    FOREBAY_RETURN_IF_ERROR(spill_remaining());
    return taken;
  }

  Result<std::optional<Taken>> take(const Decision& decided) override {
    for (const DecisionPart& part : decided.parts) {
      // Takes all of it or nothing: records that were taken out could not be put back.
      if (arrived(part.partition) < part.taken + part.dropped) return std::optional<Taken>();
    }
    std::vector<size_t> counts(queues_.size());
    for (const DecisionPart& part : decided.parts) counts[part.partition] = static_cast<size_t>(part.taken);
    FOREBAY_ASSIGN(Taken taken, take(counts));
    // Comparing the last offsets is enough: logs only grow at their ends.
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
    given_ = decided;
    for (size_t p = 0; p < queues_.size(); ++p) FOREBAY_RETURN_IF_ERROR(drop_given(p));
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

  // Counts the records after the last decision, including dropped ones: a decision also says how
  // many of them it did not take.
  int64_t arrived(size_t partition) const {
    return queues_[partition].dropped + static_cast<int64_t>(queues_[partition].records.size());
  }

  const DecisionPart* given_part(size_t partition) const { return given_ ? given_->part(partition) : nullptr; }

  // Whether records of the given decision have not arrived. Records that it only drops count, too:
  // they must arrive to be told apart from the next ones.
  bool awaits_given(size_t partition) const {
    const DecisionPart* const part = given_part(partition);
    return part != nullptr && arrived(partition) < part->taken + part->dropped;
  }

  // Drops records as they arrive, so that they take no memory, however many there are.
  Status drop_given(size_t partition) {
    const DecisionPart* const part = given_part(partition);
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

  // Moves unspilled records to the disk if it may have space again.
  Status spill_remaining() {
    if (unspilled_ == 0 || !space_->may_try()) return {};
    for (Queue& queue : queues_)
      FOREBAY_RETURN_IF_ERROR(counted(queue.records, [&] { return queue.records.spill_remaining(); }));
    return {};
  }

  // Makes a change to a queue and updates the totals of bytes in memory and of unspilled records.
  template <typename Change>
  std::invoke_result_t<Change> counted(RecordQueue& records, Change change) {
    bytes_ -= records.bytes();
    unspilled_ -= records.unspilled();
    std::invoke_result_t<Change> result = change();
    bytes_ += records.bytes();
    unspilled_ += records.unspilled();
    return result;
  }

  Status drop(Queue& queue) {
    FOREBAY_ASSIGN(const LogRecord record, pop(queue));
    queue.last_dropped = record.offset;
    ++queue.dropped;
    return {};
  }

  // Drops the oldest record of all partitions by arrival. Takes linear time in their number for
  // each record.
  Status drop_oldest() {
    Queue* oldest = nullptr;
    for (Queue& queue : queues_) {
      if (queue.records.empty()) continue;
      if (oldest == nullptr || queue.records.first_number() < oldest->records.first_number()) oldest = &queue;
    }
    return drop(*oldest);
  }

  const StreamOptions options_;
  const bool drops_oldest_;
  const std::shared_ptr<SpillSpace> space_;
  std::vector<Queue> queues_;
  std::optional<Decision> given_;  // the next decision, if it was made before or elsewhere
  uint64_t arrivals_ = 0, bytes_ = 0;
  size_t records_ = 0, unspilled_ = 0;
};

}  // namespace

std::unique_ptr<WaitingRecords> make_waiting_queues(const StreamOptions& options, size_t partitions, bool decides) {
  return std::make_unique<Queues>(options, partitions, decides);
}

}  // namespace forebay
