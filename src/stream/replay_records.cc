#include "stream/replay_records.h"

#include <algorithm>
#include <chrono>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "base/hash.h"
#include "stream/record_bytes.h"
#include "stream/stream.h"

namespace forebay {

namespace {

// Records of a state that are read at the same time. Each has a reader of its own, which mostly
// waits for its server.
constexpr size_t kParallelReads = 16;

// Own records are retained after release() for ranks that are some steps late, up to
// 1 / kLateDivisor of the bytes of those in the buffer.
constexpr uint64_t kLateDivisor = 8;

}  // namespace

void LateRecords::add(int64_t number, std::shared_ptr<const LogRecord> record) {
  bytes_ += record->bytes();
  records_.emplace_back(number, std::move(record));
}

std::shared_ptr<const LogRecord> LateRecords::find(int64_t number) const {
  const auto found =
      std::find_if(records_.begin(), records_.end(), [&](const auto& one) { return one.first == number; });
  return found == records_.end() ? nullptr : found->second;
}

void LateRecords::trim(uint64_t most_bytes) {
  while (!records_.empty() && bytes_ > most_bytes) {
    bytes_ -= records_.front().second->bytes();
    records_.pop_front();
  }
}

void LateRecords::clear() {
  records_.clear();
  bytes_ = 0;
}

void ReplayRecords::begin(int64_t number) {
  const Lock lock(mutex_);
  // `records_` stays: restore() has already set it to the buffer of the new place.
  pinned_.clear();
  late_.clear();
  pinned_bytes_ = 0;
  seen_ = number;
  update_bytes();
}

Status ReplayRecords::retain(const Stream& stream, std::span<const int64_t> numbers, int64_t seen) {
  const Lock lock(mutex_);
  for (const int64_t number : numbers) {
    // The stream's lock is taken under this one, so no call under the stream's lock may take this
    // one.
    const RecordPtr record = stream.record(number);
    if (!record)
      return Status(Code::kNotFound,
                    fmt::format("record {} of {} is gone before it could be kept", number, log_->name()));
    // Places of other ranks' records are stored, too: any rank may write the state, and each must
    // be able to read all records again.
    Retained retained{{record->partition, record->offset, stream.offset_before(number)}, nullptr};
    if (share().mine(number)) store(*record, retained);
    Retained& place = records_[number];
    drop(place);
    place = std::move(retained);
  }
  // Set under the same lock as the records: may_still_add() must not turn false before bytes_of()
  // finds them.
  seen_ = std::max(seen_, seen);
  update_bytes();
  return {};
}

// A record for which neither memory nor the disk has space is read again from the log when a step
// has it.
void ReplayRecords::store(const LogRecord& record, Retained& retained) {
  if (options_.disk && own_bytes_ + record.bytes() > options_.memory_bytes) {
    retained.slot = options_.disk->write(record_bytes(record));
    return;
  }
  retained.record = std::make_shared<const LogRecord>(record.deep_copy());
  own_bytes_ += retained.record->bytes();
}

// Frees the memory and the disk space of a record.
void ReplayRecords::drop(Retained& retained) {
  if (retained.record) own_bytes_ -= retained.record->bytes();
  if (retained.slot) options_.disk->free(*retained.slot);
  retained = {};
}

void ReplayRecords::release(std::span<const int64_t> numbers) {
  const Lock lock(mutex_);
  for (const int64_t number : numbers) {
    const auto found = records_.find(number);
    if (found == records_.end()) continue;
    if (RecordPtr& record = found->second.record) {
      own_bytes_ -= record->bytes();
      // Ranks that are some steps late have planned steps that replay it.
      late_.add(number, std::move(record));
    }
    if (found->second.slot) options_.disk->free(*found->second.slot);
    records_.erase(found);
  }
  trim_late();
  update_bytes();
}

void ReplayRecords::trim_late() { late_.trim(share().ranks > 1 ? own_bytes_ / kLateDivisor : 0); }

void ReplayRecords::update_bytes() { bytes_->set(own_bytes_ + pinned_bytes_ + late_.bytes()); }

bool ReplayRecords::contains(int64_t number) const {
  const Lock lock(mutex_);
  return records_.contains(number);
}

ReplayRecords::RecordPtr ReplayRecords::record(int64_t number) const {
  const Lock lock(mutex_);
  const auto own = records_.find(number);
  if (own != records_.end() && own->second.record) return own->second.record;
  const auto pinned = pinned_.find(number);
  return pinned == pinned_.end() ? nullptr : pinned->second.record;
}

// ---- from rank to rank

std::vector<int64_t> ReplayRecords::pin(std::span<const int64_t> numbers) {
  const Lock lock(mutex_);
  std::vector<int64_t> missing;
  for (const int64_t number : numbers) {
    const auto retained = records_.find(number);
    if (retained == records_.end() || retained->second.record) continue;
    Pinned& pinned = pinned_[number];
    // Another step has pinned it already. A record is requested only once.
    if (pinned.steps++ > 0) continue;
    pinned.place = retained->second.place;
    missing.push_back(number);
  }
  return missing;
}

bool ReplayRecords::all_available(std::span<const int64_t> numbers) const {
  const Lock lock(mutex_);
  return std::all_of(numbers.begin(), numbers.end(), [&](int64_t number) FOREBAY_REQUIRES(mutex_) {
    const auto found = pinned_.find(number);
    return found == pinned_.end() || found->second.record;
  });
}

void ReplayRecords::unpin(std::span<const int64_t> numbers) {
  const Lock lock(mutex_);
  for (const int64_t number : numbers) {
    const auto found = pinned_.find(number);
    if (found == pinned_.end() || --found->second.steps > 0) continue;
    if (found->second.record) pinned_bytes_ -= found->second.record->bytes();
    pinned_.erase(found);
  }
  update_bytes();
}

void ReplayRecords::set_pinned(int64_t number, RecordPtr record) {
  const auto found = pinned_.find(number);
  if (found == pinned_.end() || found->second.record) return;  // no step waits for it any more
  pinned_bytes_ += record->bytes();
  found->second.record = std::move(record);
  update_bytes();
}

Status ReplayRecords::receive(int64_t number, const Buffer& bytes) {
  const Lock lock(mutex_);
  const auto found = pinned_.find(number);
  if (found == pinned_.end()) return {};
  FOREBAY_ASSIGN(const LogRecord record, parse_record(bytes, found->second.place.partition));
  if (record.offset != found->second.place.offset)
    return Status(Code::kCorrupt, fmt::format("another record than {} of {} was sent", number, log_->name()));
  set_pinned(number, std::make_shared<const LogRecord>(record.deep_copy()));
  return {};
}

Status ReplayRecords::read_from_log(int64_t number, const std::stop_token& stop) {
  Place place;
  {
    const Lock lock(mutex_);
    const auto found = pinned_.find(number);
    if (found == pinned_.end()) return {};
    place = found->second.place;
  }
  // Reads without the lock, which the steps need: the log may take half a minute.
  Result<RecordPtr> record = read_record(*log_, place, stop);
  const Lock lock(mutex_);
  const auto found = pinned_.find(number);
  // If the run continued elsewhere meanwhile, another record may be pinned under that number.
  if (found == pinned_.end() || found->second.place != place) return {};
  found->second.trimmed = record.status().code() == Code::kNotFound;
  if (!record.ok()) return record.status();
  set_pinned(number, *std::move(record));
  return {};
}

bool ReplayRecords::replace(int64_t number) {
  const Lock lock(mutex_);
  const auto found = pinned_.find(number);
  // The trimmed record may have been of a run that is over. The record that is pinned now needs no
  // replacement, and arrives in another way, so there is nothing to do.
  if (found == pinned_.end() || !found->second.trimmed) return true;
  std::vector<RecordPtr> own;
  for (const auto& [_, retained] : records_)
    if (retained.record) own.push_back(retained.record);
  if (own.empty()) return false;
  // The draw spreads the replacements over all records. It differs from rank to rank: no plan
  // depends on it, and replacements are counted.
  const uint64_t draw = hash128(fmt::format("replacement {}", number)).low;
  set_pinned(number, own[draw % own.size()]);
  return true;
}

Status ReplayRecords::read_from_disk(int64_t number) {
  std::optional<ReplayDisk::Slot> slot;
  {
    const Lock lock(mutex_);
    const auto found = records_.find(number);
    if (found != records_.end()) slot = found->second.slot;
  }
  if (!slot) return Status(Code::kNotFound, fmt::format("{} of {} is on no disk here", number, log_->name()));
  FOREBAY_ASSIGN(const Buffer bytes, options_.disk->read(*slot));
  return receive(number, bytes);
}

std::optional<Buffer> ReplayRecords::bytes_of(int64_t number) const {
  RecordPtr record;
  std::optional<ReplayDisk::Slot> slot;
  {
    const Lock lock(mutex_);
    const auto found = records_.find(number);
    if (found != records_.end()) {
      record = found->second.record;
      slot = found->second.slot;
    }
    if (!record && !slot) record = late_.find(number);
  }
  // Made into bytes without the lock: payloads may be large, and steps need the lock to look for
  // records.
  if (record) return record_bytes(*record);
  if (!slot) return std::nullopt;
  // The record may be released during the read, and its slot reused. The rank that asked detects
  // that.
  Result<Buffer> bytes = options_.disk->read(*slot);
  return bytes.ok() ? std::optional<Buffer>(*std::move(bytes)) : std::nullopt;
}

bool ReplayRecords::may_still_add(int64_t number) const {
  const Lock lock(mutex_);
  return share().mine(number) && number >= seen_;
}

// ---- from the log

std::vector<PlacedRecord> ReplayRecords::places(std::span<const int64_t> numbers) const {
  const Lock lock(mutex_);
  std::vector<PlacedRecord> places;
  for (const int64_t number : numbers) {
    const auto found = records_.find(number);
    if (found != records_.end()) places.push_back({number, found->second.place});
  }
  return places;
}

// A state is untrusted, and compare() takes only offsets of this log.
Status ReplayRecords::check(const RecordPlace& place) const {
  if (place.partition >= log_->partitions().size())
    return invalid_argument("this state does not say where its kept records lie");
  FOREBAY_RETURN_IF_ERROR(log_->check_offset(place.offset));
  return place.before.empty() ? Status() : log_->check_offset(place.before);
}

Status ReplayRecords::read_all(const std::vector<Retained*>& wanted) const {
  Mutex mutex;
  size_t next = 0;
  uint64_t bytes = 0;
  Status failure;
  const auto read_some = [&] {
    Lock lock(mutex);
    while (next < wanted.size() && failure.ok()) {
      Retained& retained = *wanted[next++];
      lock.unlock();
      Result<RecordPtr> record = read_record(*log_, retained.place, {});
      lock.lock();
      if (!record.ok()) {
        failure = record.status();
        return;
      }
      bytes += (*record)->bytes();
      // Memory limits what is read, too. Further records are read again when a step has them.
      if (!options_.disk || bytes <= options_.memory_bytes) retained.record = *std::move(record);
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      while (others.size() + 1 < std::min(kParallelReads, wanted.size())) others.emplace_back(read_some);
    } catch (const std::system_error&) {  // the existing threads do the rest
    }
    read_some();
  }
  return failure;
}

Result<ReplayRecords::Saved> ReplayRecords::read(std::span<const PlacedRecord> saved) const {
  Saved records;
  for (const auto& [number, place] : saved) {
    FOREBAY_RETURN_IF_ERROR(check(place));
    records.emplace(number, Retained{place, nullptr});
  }
  std::vector<Retained*> own;
  for (auto& [number, retained] : records)
    if (share().mine(number)) own.push_back(&retained);
  FOREBAY_RETURN_IF_ERROR(read_all(own));
  return records;
}

void ReplayRecords::restore(const Saved& saved) {
  const Lock lock(mutex_);
  for (auto& [number, retained] : records_) drop(retained);
  records_ = saved;
  own_bytes_ = 0;
  for (const auto& [number, retained] : records_) own_bytes_ += retained.record ? retained.record->bytes() : 0;
  update_bytes();
}

}  // namespace forebay
