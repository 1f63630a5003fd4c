#include "stream/ranks/assigned_reading.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "stream/read_record.h"
#include "stream/record_bytes.h"

namespace forebay {

AssignedReading::AssignedReading(std::shared_ptr<const RecordLog> log, std::shared_ptr<StreamGroup> group,
                                 RecordShelf::Limits limits)
    : log_(std::move(log)), group_(std::move(group)),
      shelf_(std::make_shared<RecordShelf>(log_->partitions().size(), group_->rank(), group_->ranks(), limits)),
      shared_log_(std::make_shared<AssignedLog>(
          log_, group_->rank(), group_->ranks(), shelf_,
          // A plain pointer suffices: the readers end before StreamGroup is closed.
          [group = group_.get()](int rank, std::vector<RankItem> wanted, const std::stop_token& stop) {
            return group->ask(RankRequest::Kind::kNotes, rank, std::move(wanted), stop);
          })) {}

void AssignedReading::attach(std::shared_ptr<Stream> stream) {
  stream_ = std::move(stream);
  stream_->on_release([shelf = shelf_](const LogRecord& record) { shelf->on_release(record); });
  exchange_ = std::make_unique<RecordExchange>(
      *this, [this](int rank, std::span<const int64_t> numbers, const std::stop_token& stop) {
        return group_->ask(RankRequest::Kind::kLogRecords, rank, record_items(numbers), stop);
      });
  group_->serve_shelf(shelf_, log_->partitions().size());
}

void AssignedReading::on_arrival(std::function<void()> arrived) {
  exchange_->on_arrival([this, arrived = std::move(arrived)] {
    if (Status failure = exchange_->failure(); !failure.ok()) stream_->fail(std::move(failure));
    arrived();
  });
}

void AssignedReading::start_fetch(std::span<const int64_t> numbers) {
  std::vector<int64_t> remote;
  for (const int64_t number : numbers) {
    const std::shared_ptr<const LogRecord> record = stream_->record(number);
    if (!record) continue;
    if (record->remote) {
      remote.push_back(number);
    } else {
      shelf_->remove(*record);
    }
  }
  exchange_->start_fetch(remote);
}

bool AssignedReading::all_available(std::span<const int64_t> numbers) const {
  return std::ranges::all_of(numbers, [&](int64_t number) {
    const std::shared_ptr<const LogRecord> record = stream_->record(number);
    return !record || !record->remote;
  });
}

int AssignedReading::owner(int64_t number) const {
  const std::shared_ptr<const LogRecord> record = stream_->record(number);
  // A record that was delivered need not be fetched.
  return record ? AssignedLog::reader_of(record->partition, group_->ranks()) : own_rank();
}

Status AssignedReading::receive(int64_t number, const Buffer& bytes) {
  const std::shared_ptr<const LogRecord> remote = stream_->record(number);
  if (!remote) return {};
  FOREBAY_ASSIGN(LogRecord record, parse_record(bytes, remote->partition));
  if (record.offset != remote->offset)
    return {Code::kCorrupt, fmt::format("another record than '{}' of {} came", remote->offset, log_->name())};
  // deep_copy() is not needed: all records of an answer are this rank's, and are released at about
  // the same time.
  stream_->fill(number, std::move(record));
  return {};
}

Status AssignedReading::read_from_log(int64_t number, const std::stop_token& stop) {
  const std::shared_ptr<const LogRecord> remote = stream_->record(number);
  if (!remote) return {};
  const RecordPlace place{remote->partition, remote->offset, stream_->offset_before(number)};
  FOREBAY_ASSIGN(const std::shared_ptr<const LogRecord> record, read_record(*log_, place, stop));
  stream_->fill(number, *record);
  return {};
}

// The items by which these records are requested from other ranks.
std::vector<RankItem> AssignedReading::record_items(std::span<const int64_t> numbers) const {
  std::vector<RankItem> items;
  for (const int64_t number : numbers) {
    const std::shared_ptr<const LogRecord> record = stream_->record(number);
    // A record that was delivered in the meantime gets an empty item, for which nothing is found.
    items.push_back(record ? RankItem{record->partition, RecordShelf::hash_of(record->offset)} : RankItem{});
  }
  return items;
}

void AssignedReading::close() {
  if (exchange_) exchange_->close();
}

}  // namespace forebay
