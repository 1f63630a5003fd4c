#include "stream/ranks/assigned_rows.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "stream/read_record.h"
#include "stream/record_bytes.h"

namespace forebay {

std::vector<int64_t> AssignedRows::missing(std::span<const int64_t> numbers) const {
  std::vector<int64_t> missing;
  for (const int64_t number : numbers) {
    const std::shared_ptr<const LogRecord> record = stream_->record(number);
    if (!record) continue;
    if (record->away) {
      missing.push_back(number);
    } else {
      shelf_->taken(*record);
    }
  }
  return missing;
}

int AssignedRows::owner(int64_t number) const {
  const std::shared_ptr<const LogRecord> record = stream_->record(number);
  // A record that was delivered need not be brought.
  return record ? AssignedLog::reader_of(record->partition, ranks_) : rank_;
}

bool AssignedRows::here(std::span<const int64_t> numbers) const {
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) {
    const std::shared_ptr<const LogRecord> record = stream_->record(number);
    return !record || !record->away;
  });
}

Status AssignedRows::lend(int64_t number, const Buffer& bytes) {
  const std::shared_ptr<const LogRecord> place = stream_->record(number);
  if (!place) return {};
  FOREBAY_ASSIGN(LogRecord record, parse_record(bytes, place->partition));
  if (record.offset != place->offset)
    return {Code::kCorrupt, fmt::format("another record than '{}' of {} came", place->offset, log_->name())};
  // alone() is not needed: all records of an answer are this rank's, and are released at about the
  // same time.
  stream_->fill(number, std::move(record));
  return {};
}

Status AssignedRows::read_here(int64_t /*number*/) { return {}; }

Status AssignedRows::read_again(int64_t number, const std::stop_token& stop) {
  const std::shared_ptr<const LogRecord> away = stream_->record(number);
  if (!away) return {};
  const RecordPlace place{away->partition, away->offset, stream_->before(number)};
  FOREBAY_ASSIGN(const std::shared_ptr<const LogRecord> record, read_record(*log_, place, stop));
  stream_->fill(number, *record);
  return {};
}

std::vector<SharedRow> AssignedRows::asked_for(std::span<const int64_t> numbers) const {
  std::vector<SharedRow> asked;
  for (const int64_t number : numbers) {
    const std::shared_ptr<const LogRecord> record = stream_->record(number);
    // A record that was delivered in the meantime gets an empty request, which finds nothing.
    asked.push_back(record ? SharedRow{record->partition, RecordShelf::hash_of(record->offset)} : SharedRow{});
  }
  return asked;
}

}  // namespace forebay
