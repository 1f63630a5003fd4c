#include "stream/decided_records.h"

#include <algorithm>

namespace forebay {

namespace {

void advance(StreamPlace& place, const Decision& decision) {
  for (const DecisionPart& part : decision.parts) {
    if (!part.last.empty()) place.after[part.partition] = part.last;
    place.dropped[part.partition] += part.dropped;
  }
  place.number = decision.end();
}

}  // namespace

void DecidedRecords::begin(StreamPlace base) {
  base_ = std::move(base);
  decisions_.clear();
  bytes_ = 0;
}

void DecidedRecords::set_beginning(std::vector<std::string> after) {
  base_.after = std::move(after);
  base_.began_at_log_end = true;
}

int64_t DecidedRecords::end() const { return decisions_.empty() ? base_.number : decisions_.back().end(); }

void DecidedRecords::add(Decision decision, std::vector<std::vector<LogRecord>> records,
                         std::span<const MergedRecord> order) {
  Decided decided;
  decided.decision = std::move(decision);
  for (const auto& of_partition : records) decided.log_order.emplace_back(of_partition.size());
  for (const MergedRecord& at : order) {
    LogRecord& record = records[at.partition][at.index];
    decided.log_order[at.partition][at.index] = static_cast<uint32_t>(decided.records.size());
    decided.log_index.push_back(at.index);
    decided.bytes += record.bytes();
    decided.records.push_back(std::make_shared<const LogRecord>(std::move(record)));
  }
  decided.records.resize(static_cast<size_t>(decided.decision.size()));
  bytes_ += decided.bytes;
  missing_records_ += decided.decision.missing;
  decisions_.push_back(std::move(decided));
}

void DecidedRecords::report(DecisionObserver& observer, int64_t from) const {
  for (const Decided& decided : decisions_) {
    if (decided.decision.first >= from) observer.decided(decided.decision);
  }
}

std::optional<std::pair<size_t, size_t>> DecidedRecords::find(int64_t number) const {
  const auto at = std::upper_bound(decisions_.begin(), decisions_.end(), number,
                                   [](int64_t sought, const Decided& decided) { return sought < decided.end(); });
  if (at == decisions_.end() || number < at->decision.first) return std::nullopt;
  return std::pair(static_cast<size_t>(at - decisions_.begin()), static_cast<size_t>(number - at->decision.first));
}

DecidedRecords::RecordPtr DecidedRecords::record(int64_t number) const {
  const auto at = find(number);
  return at ? decisions_[at->first].records[at->second] : nullptr;
}

void DecidedRecords::fill(int64_t number, LogRecord whole) {
  const auto at = find(number);
  if (!at) return;
  Decided& decided = decisions_[at->first];
  RecordPtr& record = decided.records[at->second];
  if (!record || !record->remote) return;
  if (record->partition != whole.partition || record->offset != whole.offset) return;
  const uint64_t more = whole.bytes() - record->bytes();
  decided.bytes += more;
  bytes_ += more;
  record = std::make_shared<const LogRecord>(std::move(whole));
}

std::vector<int64_t> DecidedRecords::missing(int64_t from, int64_t to) const {
  std::vector<int64_t> numbers;
  for (const Decided& decided : decisions_) {
    if (decided.decision.missing == 0) continue;
    const int64_t end = std::min(to, decided.end());
    for (int64_t n = std::max(from, decided.decision.first); n < end; ++n) numbers.push_back(n);
  }
  return numbers;
}

std::string DecidedRecords::offset_before(int64_t number) const {
  const auto at = find(number);
  if (!at) return {};
  const Decided& decided = decisions_[at->first];
  // Not null: its step is being planned, and only delivered steps release records.
  const LogRecord& record = *decided.records[at->second];
  const uint32_t index = decided.log_index[at->second];
  if (index == 0) return place(decided.decision.first).after[record.partition];
  const uint32_t previous = decided.log_order[record.partition][index - 1];
  return decided.records[previous] ? decided.records[previous]->offset : decided.offsets[previous];
}

StreamPlace DecidedRecords::place(int64_t number) const {
  StreamPlace place = base_;
  for (const Decided& decided : decisions_) {
    if (number < decided.end()) {
      if (number > decided.decision.first) place.decision = decided.decision;
      break;
    }
    advance(place, decided.decision);
  }
  place.number = number;
  place.began_at_log_end = place.began_at_log_end && number == 0;
  return place;
}

std::vector<int64_t> DecidedRecords::dropped() const { return place(end()).dropped; }

std::vector<std::vector<DecidedRecords::RecordPtr>> DecidedRecords::take_delivered(int64_t number) {
  std::vector<std::vector<RecordPtr>> released;
  while (!decisions_.empty() && decisions_.front().end() <= number) {
    Decided& front = decisions_.front();
    advance(base_, front.decision);
    bytes_ -= front.bytes;
    released.push_back(std::move(front.records));
    decisions_.pop_front();
  }
  if (decisions_.empty()) return released;
  Decided& front = decisions_.front();  // a shuffled window is one long decision
  std::vector<RecordPtr>& records = released.emplace_back();
  // Goes backwards up to a released record, so that all calls together visit each record once.
  for (int64_t i = number - front.decision.first - 1; i >= 0 && front.records[static_cast<size_t>(i)]; --i) {
    RecordPtr& record = front.records[static_cast<size_t>(i)];
    const uint64_t bytes = record->bytes();
    front.bytes -= bytes;
    bytes_ -= bytes;
    if (front.offsets.empty()) front.offsets.resize(front.records.size());
    front.offsets[static_cast<size_t>(i)] = record->offset;
    records.push_back(std::move(record));
  }
  return released;
}

std::vector<std::vector<DecidedRecords::RecordPtr>> DecidedRecords::drop_records() {
  std::vector<std::vector<RecordPtr>> dropped;
  for (Decided& decided : decisions_) {
    dropped.emplace_back(decided.records.size()).swap(decided.records);
    decided.bytes = 0;
  }
  bytes_ = 0;
  return dropped;
}

}  // namespace forebay
