#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "pipeline/row_work.h"
#include "store/store.h"

// The part of RowWork that looks samples up in keyed stages and stores results there.

namespace forebay {

void RowWork::look_up(RowInput& input, const BatchJob& batch) const {
  if (input.bytes.looked_up) return;
  input.bytes = StoredBytes();
  input.bytes.looked_up = true;
  RowEntry& entry = input.entry;
  entry.missing.reset();
  entry.version.reset();
  entry.answered = nullptr;
  std::optional<VersionQuery> question;
  bool learns = false;
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    if (!stage.cache) continue;
    const std::optional<Identity> key = stage.keys->find(batch, input.begin);
    const bool is_here = key && stage.cache->has(key->hash);
    if (!entry.missing && stage.flights) {
      if (const auto flight = stage.keys->flight(batch, input.begin))
        entry.missing = RowEntry::MissingEntry{at, *flight, stage.flights};
    }
    if (!entry.may_proceed() && entry.missing->stage == at && !is_here) {
      input.bytes.looked_up = false;
      return;
    }
    if (key && find_in(at, *key, input, batch)) return;
    learns |= stage.keys->learns_versions();
    if (!key && !question) question = stage.keys->version_query(batch, input.begin);
  }
  if (learns) entry.version = std::make_shared<std::atomic<uint64_t>>(0);
  if (!question) return;
  input.bytes.set(std::move(question->fetch));
  entry.answered = std::move(question->answered);
}

bool RowWork::find_in(size_t at, const Identity& key, RowInput& input, const BatchJob& batch) const {
  const KeyedStage& stage = plan_->keyed_stage(at);
  const int64_t id = batch.rows()[static_cast<size_t>(input.begin)].id;
  StoredBytes& bytes = input.bytes;
  if (!bytes.find(*stage.cache, {key.hash, id, stage.keys->peers_know(key)}, at)) return false;
  // A peer's entry has to be transferred, and this process asks for it once.
  const bool comes_here = !bytes.is_hit() && bytes.store->remote();
  std::optional<RowEntry::MissingEntry>& missing = input.entry.missing;
  if (!comes_here && missing && missing->stage == at) missing.reset();
  return true;
}

bool RowWork::look_again(RowInput& input, const BatchJob& batch) const {
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    if (stage.keys == nullptr || stage.keys->arrivals() == 0) continue;
    const std::optional<Identity> key = stage.keys->find(batch, input.begin);
    StoredBytes found;
    if (!key || !found.find(*stage.cache, key->hash, at) || !found.is_hit()) continue;
    input.bytes.entry = std::move(found.entry);
    return true;
  }
  return false;
}

uint64_t RowWork::arrivals() const {
  uint64_t all = 0;
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    all += stage.keys ? stage.keys->arrivals() : 0;
  }
  return all;
}

bool RowWork::is_still_missing(const RowInput& input, const BatchJob& batch) const {
  const KeyedStage& stage = plan_->keyed_stage(input.entry.missing->stage);
  const std::optional<Identity> key = stage.keys->find(batch, input.begin);
  return key && !stage.cache->has(key->hash);
}

void RowWork::take_stored(RowInput& input, SingleFlight::Stored stored) const {
  StoredBytes& bytes = input.bytes;
  if (bytes.in_cache()) return;
  RowEntry& entry = input.entry;
  entry.answered = nullptr;
  if (entry.version) entry.version->store(stored.version, std::memory_order_relaxed);
  bytes.pieces.clear();
  bytes.pieces.push_back({{}, std::move(stored.bytes)});
  bytes.in_memory = true;
}

void RowWork::prepare_read(RowInput& input, const BatchJob& batch) const {
  StoredBytes& bytes = input.bytes;
  const bool asks = input.entry.answered != nullptr;
  if (!bytes.in_cache() && !asks) bytes.set(plan_->samples().fetch(batch.rows()[static_cast<size_t>(input.begin)].id));
  ReadRequest& request = bytes.pieces.front().request;
  if (!bytes.in_cache()) request.version = input.entry.version;
  // If the object's size is a guess, as much memory is claimed as an earlier read needed.
  if (!request.expected_size && !request.range && !asks)
    request.set_aside_bytes = std::max(request.set_aside_bytes.value_or(0), input.observed_bytes);
}

// Opens an entry that was read from disk or a peer. Returns false if it is damaged: the cache has
// dropped it, and the object itself has to be fetched.
bool RowWork::open_entry(RowInput& input) const {
  StoredBytes& bytes = input.bytes;
  if (!bytes.in_cache() || bytes.is_hit() || input.stage > 0) return true;
  Result<std::shared_ptr<const Columns>> columns =
      plan_->keyed_stage(bytes.entry->stage).cache->open(bytes.entry->key, std::move(bytes.pieces.front().bytes));
  if (columns.ok()) bytes.entry->columns = std::move(*columns);
  return columns.ok();
}

Status RowWork::store_row(size_t at, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                          WorkMemory& memory) const {
  const KeyedStage& stage = plan_->keyed_stage(at);
  // Values are computed whether or not the result is stored, since the output of later stages must
  // not depend on that.
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  if (!stage.cache) return {};
  if (const std::optional<Identity> key = stage.keys->store_key(batch, row, input.entry.version_read())) {
    stage.store(*key, record, input.extras, static_cast<double>(memory.meter().cpu_ns()) * 1e-9,
                batch.rows()[static_cast<size_t>(row)].id);
    stage.keys->on_stored(batch, row, *key);
  }
  // This notifies waiting tasks. No lock is held here.
  if (input.entry.missing && input.entry.missing->stage == at) input.entry.flight.reset();
  return {};
}

void RowWork::report_computed(const RowInput& input, const BatchJob& batch, const RowResult& result) const {
  if (result.verdict != Verdict::kDone && result.verdict != Verdict::kForeign) return;
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    if (stage.cache && at >= result.first_stage && at < result.end_stage) stage.keys->made(batch, input.begin);
  }
}

}  // namespace forebay
