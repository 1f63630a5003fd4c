#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "pipeline/row_work.h"
#include "store/store.h"

// The part of RowWork that looks samples up in keyed stages and stores results there.

namespace forebay {

namespace {

// If the object's size is a guess, requests at least as much memory as an earlier read needed.
SampleSource::Fetch sized(SampleSource::Fetch fetch, uint64_t found_bytes) {
  if (fetch.request.expected_size) return fetch;
  fetch.size = std::max(fetch.size, found_bytes);
  fetch.request.set_aside_bytes = fetch.size;
  return fetch;
}

std::optional<RowEntry::Wanted> wanted_of(const KeyedStage& stage, size_t at, const BatchJob& batch, int64_t row) {
  const std::optional<Hash128> key = stage.flights ? stage.keys->flight(batch, row) : std::nullopt;
  if (!key) return std::nullopt;
  return RowEntry::Wanted{at, *key, stage.flights};
}

}  // namespace

void RowWork::look_up(RowInput& input, const BatchJob& batch) const {
  RowEntry& entry = input.entry;
  if (std::exchange(entry.looked_up, true)) return;
  entry.found = {};
  entry.wanted.reset();
  entry.version.reset();
  std::optional<KeyQuestion> question;
  bool learns = false;
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    if (!stage.cache) continue;
    const std::optional<Identity> key = stage.keys->find(batch, input.begin);
    const bool is_here = key && stage.cache->has(key->hash);
    if (!entry.wanted) entry.wanted = wanted_of(stage, at, batch, input.begin);
    if (!entry.settled() && entry.wanted->stage == at && !is_here) {
      entry.looked_up = false;
      return;
    }
    if (key && find_in(at, *key, input, batch)) return;
    learns |= stage.keys->learns_versions();
    if (!key && !question) question = stage.keys->question(batch, input.begin);
  }
  if (learns) entry.version = std::make_shared<std::atomic<uint64_t>>(0);
  if (question) entry.found = std::move(*question);
}

bool RowWork::find_in(size_t at, const Identity& key, RowInput& input, const BatchJob& batch) const {
  const KeyedStage& stage = plan_->keyed_stage(at);
  const int64_t id = batch.rows()[static_cast<size_t>(input.begin)].id;
  std::optional<EntryCache::Found> found = stage.cache->find({key.hash, id, stage.keys->peers_know(key)});
  if (!found) return false;
  RowEntry& entry = input.entry;
  // A peer's entry has to be transferred, and this process asks for it once.
  const bool comes_here = !found->columns && found->store->remote();
  if (!comes_here && entry.wanted && entry.wanted->stage == at) entry.wanted.reset();
  if (found->columns) {
    entry.found = RowEntry::Hit{at, std::move(found->columns)};
    return true;
  }
  const ReadRequest& request = found->request;
  const uint64_t size =
      request.range ? request.range->length : request.expected_size.value_or(request.set_aside_bytes.value_or(0));
  entry.found = RowEntry::Stored{at, key.hash, {found->store, std::move(found->request), size}};
  return true;
}

bool RowWork::look_again(RowInput& input, const BatchJob& batch) const {
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    if (stage.keys == nullptr || stage.keys->arrivals() == 0) continue;
    const std::optional<Identity> key = stage.keys->find(batch, input.begin);
    std::optional<EntryCache::Found> found = key ? stage.cache->find(key->hash) : std::nullopt;
    if (!found || !found->columns) continue;
    input.entry.found = RowEntry::Hit{at, std::move(found->columns)};
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
  const KeyedStage& stage = plan_->keyed_stage(input.entry.wanted->stage);
  const std::optional<Identity> key = stage.keys->find(batch, input.begin);
  return key && !stage.cache->has(key->hash);
}

void RowWork::take_stored(RowInput& input, SingleFlight::Stored stored) const {
  if (input.entry.in_cache()) return;
  input.entry.found = {};
  if (input.entry.version) input.entry.version->store(stored.version, std::memory_order_relaxed);
  input.fetched = std::move(stored.bytes);
  input.fetched_all = true;
}

SampleSource::Fetch RowWork::fetch_of(const RowInput& input, const BatchJob& batch) const {
  const RowEntry& entry = input.entry;
  if (const auto* const stored = entry.stored())
    return stored->fetch.request.range ? stored->fetch : sized(stored->fetch, input.size);
  const auto* const question = entry.question();
  SampleSource::Fetch fetch =
      question != nullptr ? question->fetch : plan_->samples().fetch(batch.rows()[static_cast<size_t>(input.begin)].id);
  fetch.request.version = entry.version;
  return question != nullptr ? fetch : sized(std::move(fetch), input.size);
}

// Opens an entry that was read from disk or a peer. Returns false if it is damaged: the cache has
// dropped it, and the object itself has to be fetched.
bool RowWork::open_kept(RowInput& input) const {
  const auto* const stored = input.entry.stored();
  if (stored == nullptr || input.stage > 0) return true;
  const size_t at = stored->stage;
  Result<std::shared_ptr<const Columns>> columns =
      plan_->keyed_stage(at).cache->open(stored->key, std::move(input.fetched));
  if (columns.ok()) input.entry.found = RowEntry::Hit{at, std::move(*columns)};
  return columns.ok();
}

Status RowWork::keep_row(size_t at, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                         WorkMemory& memory) const {
  const KeyedStage& stage = plan_->keyed_stage(at);
  // Values are computed whether or not the result is stored, since the output of later stages must
  // not depend on that.
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  if (!stage.cache) return {};
  if (const std::optional<Identity> key = stage.keys->keep(batch, row, input.entry.version_read())) {
    stage.keep(*key, record, input.extras, static_cast<double>(memory.meter().cpu_ns()) * 1e-9,
               batch.rows()[static_cast<size_t>(row)].id);
    stage.keys->kept(batch, row, *key);
  }
  // This notifies waiting tasks. No lock is held here.
  if (input.entry.wanted && input.entry.wanted->stage == at) input.entry.making.reset();
  return {};
}

void RowWork::note_made(const RowInput& input, const BatchJob& batch, const RowResult& result) const {
  if (result.verdict != Verdict::kDone && result.verdict != Verdict::kForeign) return;
  for (const size_t at : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(at);
    if (stage.cache && at >= result.began && at < result.reached) stage.keys->made(batch, input.begin);
  }
}

}  // namespace forebay
