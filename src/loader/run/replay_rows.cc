#include "loader/run/replay_rows.h"

#include <utility>
#include <vector>

#include "cache/entry_form.h"
#include "forebay/stats/rehearsal.h"
#include "pipeline/batch_job.h"

namespace forebay {

namespace {

constexpr uint64_t kResultOverhead = 400;  // node of the map, fields, overhead of the allocator

}  // namespace

// The id is the low half, since hash maps use that half.
Hash128 replay_key(const ReplaySample& sample) {
  return {static_cast<uint64_t>(sample.epoch), static_cast<uint64_t>(sample.id)};
}

void ReplayRows::retain(std::span<const ReplaySample> entered) {
  const Lock lock(mutex_);
  for (const ReplaySample& sample : entered) ++entries_[replay_key(sample)].times;
}

void ReplayRows::release(std::span<const ReplaySample> left) {
  std::vector<std::shared_ptr<const Columns>> dropped;  // destroyed after the lock is released
  const Lock lock(mutex_);
  for (const ReplaySample& sample : left) {
    const auto found = entries_.find(replay_key(sample));
    if (found == entries_.end() || --found->second.times > 0) continue;
    drop_result(found->second, dropped);
    entries_.erase(found);
  }
}

void ReplayRows::retain_only(std::span<const ReplaySample> buffer) {
  Entries before;  // destroyed after the lock is released
  const Lock lock(mutex_);
  before.swap(entries_);
  bytes_ = 0;
  results_ = 0;
  for (const ReplaySample& sample : buffer) {
    const Hash128 key = replay_key(sample);
    Entry& entry = entries_[key];
    ++entry.times;
    const auto was = before.find(key);
    if (entry.result || was == before.end() || !was->second.result) continue;
    set_result(entry, was->second.result, was->second.bytes);
  }
}

std::optional<EntryCache::Found> ReplayRows::find(const EntryRef& entry) {
  const Lock lock(mutex_);
  const auto found = entries_.find(entry.key);
  if (found == entries_.end() || !found->second.result) return std::nullopt;
  ++hits_;
  return Found{found->second.result, nullptr, {}};
}

bool ReplayRows::has(const Hash128& entry) const {
  const Lock lock(mutex_);
  const auto found = entries_.find(entry);
  return found != entries_.end() && found->second.result;
}

bool ReplayRows::try_admit(const Hash128& entry, uint64_t bytes) const {
  const Lock lock(mutex_);
  const auto found = entries_.find(entry);
  return found != entries_.end() && !found->second.result && has_room(bytes);
}

void ReplayRows::put(const EntryRef& ref, std::shared_ptr<const Columns> columns, double /*seconds*/, KeepIn) {
  const Hash128& entry = ref.key;
  // The entry gets a block of its own, because `columns` may be a part of larger memory.
  Result<Buffer> plain = encode_entry(entry, *columns, Compression::kNone);
  if (!plain.ok()) return;
  const uint64_t bytes = plain->size() + kResultOverhead;
  Result<Columns> own = decode_entry(entry, std::move(*plain));
  if (!own.ok()) return;
  auto result = std::make_shared<const Columns>(std::move(*own));
  const Lock lock(mutex_);
  const auto found = entries_.find(entry);
  // Meanwhile the sample may have left the buffer, or another thread may have stored its result.
  if (found == entries_.end() || found->second.result || !has_room(bytes)) return;
  set_result(found->second, std::move(result), bytes);
  ++puts_;
}

Result<std::shared_ptr<const Columns>> ReplayRows::open(const Hash128&, Buffer) {
  return internal_error("what a rehearsal keeps is in memory alone");
}

RehearsalStats ReplayRows::stats() const {
  const Lock lock(mutex_);
  return {hits_, made_again_, results_, bytes_, max_bytes_};
}

uint64_t ReplayRows::reclaim(uint64_t bytes) {
  std::vector<std::shared_ptr<const Columns>> dropped;
  uint64_t given = 0;
  const Lock lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end() && given < bytes; ++at)
    given += drop_result(at->second, dropped);
  return given;
}

void ReplayRows::set_result(Entry& entry, std::shared_ptr<const Columns> result, uint64_t bytes) {
  entry.result = std::move(result);
  entry.bytes = bytes;
  bytes_ += bytes;
  ++results_;
}

uint64_t ReplayRows::drop_result(Entry& entry, std::vector<std::shared_ptr<const Columns>>& dropped) {
  if (!entry.result) return 0;
  dropped.push_back(std::move(entry.result));
  entry.result.reset();
  bytes_ -= entry.bytes;
  --results_;
  return std::exchange(entry.bytes, 0);
}

std::optional<Identity> ReplayKeys::lookup_key(const BatchJob& batch, int64_t row) const {
  const std::optional<ReplaySample> replayed = batch.step().replayed_sample(row);
  return replayed ? std::optional(Identity(replay_key(*replayed), /*lasts=*/false)) : std::nullopt;
}

// A replayed sample whose result is missing is stored, too, such as after a resume, or if another
// rank had the result.
std::optional<Identity> ReplayKeys::store_key(const BatchJob& batch, int64_t row, std::optional<uint64_t>) const {
  if (std::optional<Identity> replayed = lookup_key(batch, row)) return replayed;
  const RowJob& job = batch.rows()[static_cast<size_t>(row)];
  // Replacements and padding never enter the replay buffer.
  if (job.attempt > 0 || batch.step().rows[static_cast<size_t>(row)].occurrence > 0) return std::nullopt;
  return Identity(replay_key({job.id, batch.step().at.epoch}), /*lasts=*/false);
}

void ReplayKeys::on_computed(const BatchJob& batch, int64_t row) const {
  if (batch.step().is_replayed(row)) results_->note_made_again();
}

}  // namespace forebay
