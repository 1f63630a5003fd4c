#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "pipeline/row_work.h"
#include "store/store.h"

// Rows and what is kept of samples: in the cache of a `.cache()`, and of old ones where a rehearsal comes in.

namespace forebay {

namespace {

// With memory for as much as an earlier read found, where the size is a guess.
SampleSource::Fetch sized(SampleSource::Fetch fetch, uint64_t found_bytes) {
  if (fetch.request.expected_size) return fetch;
  fetch.size = std::max(fetch.size, found_bytes);
  fetch.request.set_aside_bytes = fetch.size;
  return fetch;
}

}  // namespace

// What is kept of a sample that is no new one: in memory, as it is nowhere else.
bool RowWork::look_up_old(RowInput& input, const BatchJob& batch) const {
  if (!plan_->rehearsal_stage) return false;
  const std::optional<KeptSample> old = batch.step().old_sample(input.begin);
  const CacheStage& stage = std::get<CacheStage>(plan_->stages[*plan_->rehearsal_stage]);
  std::optional<EntryCache::Found> found = old && stage.cache ? stage.cache->find(entry_of_old(*old)) : std::nullopt;
  if (!found) return false;
  input.kept = std::move(found->columns);
  input.entry_stage = *plan_->rehearsal_stage;
  return true;
}

std::optional<Identity> RowWork::identify(const CacheStage& stage, int64_t id) const {
  const LearnedVersions* const versions = plan_->source->learned_versions();
  if (versions != nullptr && !plan_->fetches && stage.cache) return stage.entry_of_unread(*versions, id);
  return stage.entry(*plan_->source, id);
}

void RowWork::look_up(RowInput& input, const BatchJob& batch) const {
  if (std::exchange(input.looked_up, true)) return;
  if (look_up_old(input, batch)) return;
  const CacheStage* stage = plan_->cached();
  if (stage == nullptr) return;
  input.entry_stage = *plan_->cache_stage;
  input.entry_id = batch.rows()[static_cast<size_t>(input.begin)].id;
  input.entry = identify(*stage, input.entry_id);
  input.asks = Asks::kBytes;
  input.version.reset();
  if (flights_) input.flight_key = stage->flight_key(*plan_->source, input.entry_id);
  const bool is_here = input.entry && stage->cache->has(input.entry->hash);
  if (input.flight_key && !input.making && !input.beside && !is_here) {
    input.looked_up = false;
    return;
  }
  // Others are asked for what has to be read, and is known to them by the same name: versions that are learned are shared in a job, also those that
  // hold for it alone.
  const bool asks_others =
      input.entry && plan_->fetches && (input.entry->lasting || plan_->source->learned_versions() != nullptr);
  std::optional<EntryCache::Found> found =
      input.entry ? stage->find(*input.entry, input.entry_id, asks_others) : std::nullopt;
  if (!found) return ask_version(input);
  // An entry that another host has still has to come here, and is asked for once.
  if (found->columns || !found->store->remote()) input.flight_key.reset();
  input.kept = std::move(found->columns);
  if (input.kept) return;
  const ReadRequest& request = found->request;
  const uint64_t size =
      request.range ? request.range->length : request.expected_size.value_or(request.set_aside_bytes.value_or(0));
  input.kept_at = SampleSource::Fetch{found->store, std::move(found->request), size};
}

bool RowWork::is_kept_now(const RowInput& input) const {
  const CacheStage& stage = *plan_->cached();
  const std::optional<Identity> entry = identify(stage, input.entry_id);
  return entry && stage.cache->has(entry->hash);
}

void RowWork::take_stored(RowInput& input, SingleFlight::Stored stored) const {
  if (input.in_cache()) return;
  input.asks = Asks::kBytes;
  if (input.version) input.version->store(stored.version, std::memory_order_relaxed);
  input.fetched = std::move(stored.bytes);
  input.fetched_all = true;
}

// The sample is not at hand. Entries that an earlier run or another host has made of it may be used once the version of its object is known.
void RowWork::ask_version(RowInput& input) const {
  const LearnedVersions* const versions = plan_->source->learned_versions();
  if (versions == nullptr || !plan_->fetches) return;
  input.version = std::make_shared<std::atomic<uint64_t>>(0);
  if (input.entry || !versions->ask(input.entry_id) || !plan_->cached()->cache) return;
  const CacheStage& stage = *plan_->cached();
  if (auto other = stage.cache->find_version(versions->name(input.entry_id), input.entry_id)) {
    input.asks = Asks::kVersionOfOther;
    input.version_at = SampleSource::Fetch{other->store, std::move(other->request), sizeof(uint64_t)};
  } else if (stage.made_before(*versions, input.entry_id)) {
    input.asks = Asks::kVersion;
    input.version_at = versions->ask(input.entry_id);
  }
}

// What was asked for has been answered.
void RowWork::learn_version(const RowInput& input) const {
  const LearnedVersions& versions = *plan_->source->learned_versions();
  if (input.asks == Asks::kVersion)
    return versions.answered(input.entry_id, input.version->load(std::memory_order_relaxed));
  const std::optional<uint64_t> told = plan_->cached()->cache->version_of(versions.name(input.entry_id), input.fetched);
  if (told) versions.tell(input.entry_id, *told);
}

SampleSource::Fetch RowWork::fetch_of(const RowInput& input, const BatchJob& batch) const {
  if (input.kept_at) return input.kept_at->request.range ? *input.kept_at : sized(*input.kept_at, input.size);
  const bool asks = input.asks != Asks::kBytes;
  SampleSource::Fetch fetch =
      asks ? *input.version_at : plan_->samples().fetch(batch.rows()[static_cast<size_t>(input.begin)].id);
  fetch.request.version = input.version;
  return asks ? fetch : sized(std::move(fetch), input.size);
}

// What the cache keeps on disk. False where that is damaged: the cache has dropped it, and the object itself is to be fetched.
bool RowWork::open_kept(RowInput& input) const {
  if (!input.kept_at || input.kept || input.stage > 0) return true;
  Result<std::shared_ptr<const Columns>> kept = cache_of(input).cache->open(input.entry->hash, input.fetched);
  if (kept.ok()) input.kept = std::move(*kept);
  return kept.ok();
}

Status RowWork::keep_row(const CacheStage& stage, RowInput& input, int64_t id, Record& record,
                         WorkMemory& memory) const {
  // A replacement may have come in the place of what was looked up.
  std::optional<Identity> entry = input.entry_id == id ? input.entry : stage.entry(*plan_->source, id);
  if (input.version && stage.cache)
    entry = stage.entry_of(*plan_->source, id, input.version->load(std::memory_order_relaxed));
  if (!entry) return {};
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  stage.keep(*entry, record, input.extras, static_cast<double>(memory.meter().cpu_ns()) * 1e-9, id);
  if (input.version) stage.note_made(*plan_->source->learned_versions(), id, *entry);
  input.making.reset();  // tells those who wait; no lock is held here
  return {};
}

// Of old ones what was not kept, such as after a resume, or was with another rank; it is so from here on.
Status RowWork::rehearse_row(const CacheStage& stage, const BatchJob& batch, int64_t row, const Extras& extras,
                             Record& record, WorkMemory& memory, RowResult& result) const {
  // Of all samples, whether or not they are kept: what the steps behind make must not depend on it.
  for (Value& value : record) FOREBAY_RETURN_IF_ERROR(value.materialize(memory));
  const RowJob& job = batch.rows()[static_cast<size_t>(row)];
  const KeptSample sample = batch.step().old_sample(row).value_or(KeptSample{job.id, batch.step().at.epoch});
  const Row& planned = batch.step().rows[static_cast<size_t>(row)];
  // A replacement, or what only fills a step up, is nothing that a rehearsal keeps.
  const bool may_be_kept = batch.step().is_old(row) || (job.attempt == 0 && planned.occurrence == 0);
  const Hash128 entry = entry_of_old(sample);
  result.made_again += batch.step().is_old(row) ? 1 : 0;
  if (stage.cache && may_be_kept && stage.cache->wants(entry)) stage.keep({entry, false}, record, extras, 0);
  return {};
}

void RowWork::count_made_again(const RowResult& result) const {
  if (result.made_again == 0 || (result.verdict != Verdict::kDone && result.verdict != Verdict::kForeign)) return;
  const CacheStage& stage = std::get<CacheStage>(plan_->stages[*plan_->rehearsal_stage]);
  for (int64_t i = 0; stage.cache && i < result.made_again; ++i) stage.cache->note_made_again();
}

}  // namespace forebay
