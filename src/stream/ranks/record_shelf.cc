#include "stream/ranks/record_shelf.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "stream/record_bytes.h"

namespace forebay {

namespace {
constexpr size_t kMaxNotes = 1024;  // in one answer
uint64_t bytes_of(const RecordNote& note) { return sizeof(RecordNote) + note.offset.size(); }
uint64_t head_bytes_of(const LogRecord& record) { return record.bytes() - record.payload.size(); }
}  // namespace

RecordShelf::RecordShelf(size_t partitions, int rank, int ranks, Limits limits)
    : rank_(rank), ranks_(ranks), limits_(limits), bytes_(std::make_shared<StreamBytes>()), partitions_(partitions) {
  begin_run(0);
}

void RecordShelf::begin_run(uint64_t run) {
  const Lock lock(mutex_);
  run_ = run;
  for (Partition& partition : partitions_) {
    partition = {};
    partition.fetched.assign(static_cast<size_t>(ranks_), 0);
    partition.fetched[static_cast<size_t>(rank_)] = UINT64_MAX;  // this rank needs no notes
  }
  late_.clear();
  head_bytes_ = late_bytes_ = note_bytes_ = 0;
  update_bytes();
}

uint64_t RecordShelf::hash_of(const std::string& offset) { return hash64(offset.data(), offset.size()); }

void RecordShelf::add_note(size_t number, RecordNote note) {
  note_bytes_ += bytes_of(note);
  Partition& partition = partitions_[number];
  partition.notes.push_back(std::move(note));
  // A rank that is gone, or reads the partition itself by now, never fetches its notes.
  while (note_bytes_ > limits_.note_bytes && partition.notes.size() > 1)
    drop_notes(partition, partition.first_note + 1);
}

void RecordShelf::add(const std::vector<LogRecord>& records, const std::vector<LogGap>& gaps) {
  const Lock lock(mutex_);
  for (const LogGap& gap : gaps) add_note(gap.partition, {gap.until, true, gap.records.value_or(-1)});
  for (const LogRecord& record : records) {
    add_note(record.partition, {record.offset});
    if (partitions_[record.partition].records.try_emplace(hash_of(record.offset), Shelved{record}).second)
      head_bytes_ += head_bytes_of(record);
  }
  update_bytes();
}

std::optional<RecordShelf::Shelved> RecordShelf::extract(size_t partition, uint64_t offset_hash) {
  auto& records = partitions_[partition].records;
  const auto found = records.find(offset_hash);
  if (found == records.end()) return std::nullopt;
  Shelved shelved = std::move(found->second);
  records.erase(found);
  head_bytes_ -= head_bytes_of(shelved.record);
  if (shelved.late) {
    late_bytes_ -= shelved.record.payload.size();
    late_.erase(*shelved.late);
  }
  update_bytes();
  return shelved;
}

void RecordShelf::remove(const LogRecord& record) {
  std::optional<Shelved> gone;  // destroyed after the lock is released
  const Lock lock(mutex_);
  gone = extract(record.partition, hash_of(record.offset));
}

void RecordShelf::on_release(const LogRecord& record) {
  const Lock lock(mutex_);
  auto& records = partitions_[record.partition].records;
  const auto found = records.find(hash_of(record.offset));
  if (found == records.end() || found->second.late) return;
  // A copy, so that this record does not keep the larger buffer of its neighbours alive.
  found->second = {record.deep_copy(), late_.insert(late_.end(), {record.partition, found->first})};
  late_bytes_ += found->second.record.payload.size();
  trim_late();
  update_bytes();
}

void RecordShelf::trim_late() {
  while (!late_.empty() && late_bytes_ > limits_.late_bytes) {
    const Late oldest = late_.front();
    extract(oldest.partition, oldest.offset_hash);
  }
}

std::optional<Buffer> RecordShelf::notes_from(uint64_t run, int rank, size_t partition, uint64_t from) {
  const Lock lock(mutex_);
  if (run != run_ || partition >= partitions_.size() || rank < 0 || rank >= ranks_) return std::nullopt;
  Partition& state = partitions_[partition];
  uint64_t& fetched = state.fetched[static_cast<size_t>(rank)];
  fetched = std::max(fetched, from);
  drop_notes(state, *std::min_element(state.fetched.begin(), state.fetched.end()));
  if (from < state.first_note) return Buffer();
  if (from >= state.first_note + state.notes.size()) return std::nullopt;
  std::vector<RecordNote> sent;
  for (size_t i = from - state.first_note; i < state.notes.size() && sent.size() < kMaxNotes; ++i)
    sent.push_back(state.notes[i]);
  return encode_notes(sent);
}

void RecordShelf::drop_notes(Partition& partition, uint64_t below) {
  while (!partition.notes.empty() && partition.first_note < below) {
    note_bytes_ -= bytes_of(partition.notes.front());
    partition.notes.pop_front();
    ++partition.first_note;
  }
  update_bytes();
}

std::optional<Buffer> RecordShelf::take_record(uint64_t run, size_t partition, uint64_t offset_hash) {
  std::optional<Shelved> taken;
  {
    const Lock lock(mutex_);
    if (run != run_ || partition >= partitions_.size()) return std::nullopt;
    taken = extract(partition, offset_hash);
    if (!taken) return std::nullopt;
  }
  // Made into bytes without the lock, since payloads may be large.
  return record_bytes(taken->record);
}

bool RecordShelf::has_late_records() const {
  const Lock lock(mutex_);
  return !late_.empty();
}

}  // namespace forebay
