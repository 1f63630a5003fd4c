#include "stream/kept_records.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace forebay {

namespace {

constexpr std::chrono::seconds kReadAgain{30};

}  // namespace

Status KeptRecords::keep(const Stream& stream, std::span<const int64_t> numbers) {
  const std::lock_guard lock(mutex_);
  for (const int64_t number : numbers) {
    const std::shared_ptr<const LogRecord> record = stream.record(number);
    if (!record)
      return Status(Code::kNotFound,
                    fmt::format("record {} of {} is gone before it could be kept", number, log_->name()));
    records_[number] = {std::make_shared<const LogRecord>(record->alone()), stream.before(number)};
  }
  count();
  return {};
}

void KeptRecords::let_go(std::span<const int64_t> numbers) {
  const std::lock_guard lock(mutex_);
  for (const int64_t number : numbers) records_.erase(number);
  count();
}

void KeptRecords::count() {
  uint64_t bytes = 0;
  for (const auto& [number, kept] : records_) bytes += kept.record->bytes();
  bytes_->set(bytes);
}

std::shared_ptr<const LogRecord> KeptRecords::record(int64_t number) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(number);
  return found == records_.end() ? nullptr : found->second.record;
}

std::string KeptRecords::places(std::span<const int64_t> numbers) const {
  const std::lock_guard lock(mutex_);
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const int64_t number : numbers) {
    const auto found = records_.find(number);
    if (found == records_.end()) continue;
    const Kept& kept = found->second;
    json.push_back({number, kept.record->partition, kept.record->offset, kept.before});
  }
  return json.dump();
}

Result<std::map<int64_t, KeptRecords::Kept>> KeptRecords::parse_places(const std::string& text) const {
  const auto json = nlohmann::ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto wrong = [] { return invalid_argument("this state does not say where its kept records lie"); };
  if (!json.is_array()) return wrong();
  std::map<int64_t, Kept> records;
  for (const auto& one : json) {
    const bool good = one.is_array() && one.size() == 4 && one[0].is_number_integer() && one[1].is_number_unsigned() &&
                      one[2].is_string() && one[3].is_string() &&
                      one[1].template get<size_t>() < log_->partitions().size();
    if (!good) return wrong();
    auto record = std::make_shared<LogRecord>();
    record->partition = one[1].template get<size_t>();
    record->offset = one[2].template get<std::string>();
    Kept kept{std::move(record), one[3].template get<std::string>()};
    FOREBAY_RETURN_IF_ERROR(log_->check_offset(kept.record->offset));
    if (!kept.before.empty()) FOREBAY_RETURN_IF_ERROR(log_->check_offset(kept.before));
    records.emplace(one[0].template get<int64_t>(), std::move(kept));
  }
  return records;
}

// In the order of the log, one reading for each run of records; what lies far apart is sought anew.
Status KeptRecords::read_partition(size_t partition, std::vector<Kept*> wanted) const {
  std::sort(wanted.begin(), wanted.end(),
            [&](const Kept* a, const Kept* b) { return log_->compare(a->record->offset, b->record->offset) < 0; });
  const auto until = std::chrono::steady_clock::now() + kReadAgain;
  for (Kept* kept : wanted) {
    FOREBAY_ASSIGN(const std::unique_ptr<LogReader> reader, log_->read_after({{partition, kept->before}}));
    for (bool found = false; !found;) {
      LogReader::Limits one;
      one.records = 1;
      FOREBAY_ASSIGN(std::vector<LogRecord> records, reader->read({partition}, one, {}));
      for (LogRecord& record : records) {
        if (found || log_->compare(record.offset, kept->record->offset) < 0) continue;
        if (record.offset != kept->record->offset)
          return Status(Code::kNotFound,
                        fmt::format("{}: partition '{}' has forgotten '{}', which was kept for rehearsal; begin a new "
                                    "run, or keep more of the log",
                                    log_->name(), log_->partitions()[partition], kept->record->offset));
        kept->record = std::make_shared<const LogRecord>(record.alone());
        found = true;
      }
      if (!found && (reader->ended() || std::chrono::steady_clock::now() > until))
        return unavailable(fmt::format("{}: '{}' of partition '{}', which was kept for rehearsal, cannot be read: {}",
                                       log_->name(), kept->record->offset, log_->partitions()[partition],
                                       reader->troubled().empty() ? "it does not come" : reader->troubled()));
    }
  }
  return {};
}

Status KeptRecords::read_places(const std::string& json) {
  FOREBAY_ASSIGN(auto records, parse_places(json));
  std::map<size_t, std::vector<Kept*>> by_partition;
  for (auto& [number, kept] : records) by_partition[kept.record->partition].push_back(&kept);
  for (auto& [partition, wanted] : by_partition) FOREBAY_RETURN_IF_ERROR(read_partition(partition, std::move(wanted)));
  const std::lock_guard lock(mutex_);
  records_ = std::move(records);
  count();
  return {};
}

}  // namespace forebay
