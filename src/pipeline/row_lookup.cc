#include <algorithm>
#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>
#include <utility>

#include "pipeline/row_work.h"
#include "store/store.h"

// The part of RowWork that looks samples up in keyed stages and stores results there. A stage is
// given by its index in BranchPlan::stages.

namespace forebay {

void RowWork::look_up(RowInput& input, const BatchJob& batch) const {
  if (input.bytes.looked_up) return;
  input.bytes = StoredBytes();
  input.bytes.looked_up = true;
  RowEntry& entry = input.entry;
  entry.missing.reset();
  entry.version.reset();
  entry.on_version_read = nullptr;
  std::optional<VersionQuery> query;
  bool learns_versions = false;
  for (const size_t index : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(index);
    if (!stage.cache || !stage.part.empty()) continue;
    const std::optional<Identity> key = stage.keys->lookup_key(batch, input.first_row);
    const bool is_cached = key && stage.cache->has(key->hash);
    if (!entry.missing) note_missing_entry(index, input, batch);
    if (entry.must_join_flight(index) && !is_cached) {
      input.bytes.looked_up = false;
      return;
    }
    if (key && find_in_stage(index, *key, input, batch)) return;
    learns_versions |= stage.keys->learns_versions();
    if (!key && !query) query = stage.keys->version_query(batch, input.first_row);
  }
  if (learns_versions) entry.version = std::make_shared<std::atomic<uint64_t>>(0);
  if (!query) return find_parts(input, batch);
  input.bytes.set(std::move(query->fetch));
  entry.on_version_read = std::move(query->on_read);
}

// Records the entry of the stage as the one that the row's task may have to make, if only one task
// makes it.
void RowWork::note_missing_entry(size_t index, RowInput& input, const BatchJob& batch) const {
  const KeyedStage& stage = plan_->keyed_stage(index);
  if (!stage.flights) return;
  if (const std::optional<Hash128> key = stage.keys->flight_key(batch, input.first_row))
    input.entry.missing = RowEntry::MissingEntry{index, *key, stage.flights};
}

// Finds the entry of one stage. Returns false if the cache does not have it.
bool RowWork::find_in_stage(size_t index, const Identity& key, RowInput& input, const BatchJob& batch) const {
  const KeyedStage& stage = plan_->keyed_stage(index);
  const int64_t id = batch.rows()[static_cast<size_t>(input.first_row)].id;
  StoredBytes& bytes = input.bytes;
  if (!bytes.find(*stage.cache, {key.hash, id, stage.keys->peers_know(key)}, index)) return false;
  // A peer's entry has to be transferred, and only one task of this process asks for it. The others
  // wait for that flight.
  const bool is_transferred = !bytes.entry_in_memory() && bytes.store->remote();
  std::optional<RowEntry::MissingEntry>& missing = input.entry.missing;
  if (!is_transferred && missing && missing->stage == index) missing.reset();
  return true;
}

// Finds the last entry of each part of a zip, and sets the pieces to what is to be read then. The
// versions of a part's objects are known from the start, or it has no entries.
void RowWork::find_parts(RowInput& input, const BatchJob& batch) const {
  StoredBytes found;
  for (const size_t index : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(index);
    if (!stage.cache || stage.part.empty() || find_part_entry(found, stage.begin) != nullptr) continue;
    const std::optional<Identity> key = stage.keys->lookup_key(batch, input.first_row);
    const bool is_cached = key && stage.cache->has(key->hash);
    if (!is_cached && !input.entry.missing) note_missing_entry(index, input, batch);
    if (input.entry.must_join_flight(index) && !is_cached) {
      input.bytes.looked_up = false;
      return;
    }
    const int64_t id = batch.rows()[static_cast<size_t>(input.first_row)].id;
    if (key) found.find_part(*stage.cache, {key->hash, id, stage.keys->peers_know(*key)}, index);
  }
  if (found.part_entries.empty()) return;
  StoredBytes& bytes = input.bytes;
  if (plan_->fetches) bytes.set(plan_->samples().fetch(batch.rows()[static_cast<size_t>(input.first_row)].id));
  for (size_t object = bytes.pieces.size(); object-- > 0;)
    if (is_replaced(found, object)) bytes.pieces.erase(bytes.pieces.begin() + static_cast<std::ptrdiff_t>(object));
  for (StoredBytes::Entry& one : found.part_entries)
    if (one.piece) *one.piece += bytes.pieces.size();
  bytes.pieces.insert(bytes.pieces.end(), std::move_iterator(found.pieces.begin()),
                      std::move_iterator(found.pieces.end()));
  bytes.part_entries = std::move(found.part_entries);
  bytes.store = bytes.pieces.empty() ? nullptr : bytes.pieces.front().store;
}

// The entry of a part whose stages begin there; null if it was not found.
const StoredBytes::Entry* RowWork::find_part_entry(const StoredBytes& bytes, size_t begin) const {
  const auto begins = [&](const StoredBytes::Entry& one) { return plan_->keyed_stage(one.stage).begin == begin; };
  const auto found = std::ranges::find_if(bytes.part_entries, begins);
  return found == bytes.part_entries.end() ? nullptr : &*found;
}

// True if the entry of a part replaces this object of the sample.
bool RowWork::is_replaced(const StoredBytes& bytes, size_t object) const {
  return std::ranges::any_of(bytes.part_entries, [&](const StoredBytes::Entry& one) {
    return plan_->keyed_stage(one.stage).object == object;
  });
}

// The bytes of each object of the sample; empty for those that entries of parts replace.
std::vector<Buffer> RowWork::objects_of(const StoredBytes& bytes) const {
  if (bytes.part_entries.empty()) return bytes.all();
  const auto pieces = static_cast<size_t>(
      std::ranges::count_if(bytes.part_entries, [](const StoredBytes::Entry& one) { return one.piece.has_value(); }));
  std::vector<Buffer> all;
  for (size_t piece = 0; piece + pieces < bytes.pieces.size();) {
    const bool replaced = is_replaced(bytes, all.size());
    all.push_back(replaced ? Buffer() : bytes.pieces[piece++].bytes);
  }
  return all;
}

bool RowWork::retry_lookup(RowInput& input, const BatchJob& batch) const {
  for (const size_t index : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(index);
    if (stage.keys == nullptr || stage.keys->arrivals() == 0) continue;
    const std::optional<Identity> key = stage.keys->lookup_key(batch, input.first_row);
    StoredBytes found;
    if (!key || !found.find(*stage.cache, key->hash, index) || !found.entry_in_memory()) continue;
    input.bytes.entry = std::move(found.entry);
    return true;
  }
  return false;
}

uint64_t RowWork::arrivals() const {
  uint64_t sum = 0;
  for (const size_t index : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(index);
    sum += stage.keys ? stage.keys->arrivals() : 0;
  }
  return sum;
}

bool RowWork::is_still_missing(const RowInput& input, const BatchJob& batch) const {
  const KeyedStage& stage = plan_->keyed_stage(input.entry.missing->stage);
  const std::optional<Identity> key = stage.keys->lookup_key(batch, input.first_row);
  return key && !stage.cache->has(key->hash);
}

void RowWork::take_stored(RowInput& input, SingleFlight::Stored stored) const {
  StoredBytes& bytes = input.bytes;
  if (bytes.has_any_entry()) return;
  RowEntry& entry = input.entry;
  entry.on_version_read = nullptr;
  if (entry.version) entry.version->store(stored.version, std::memory_order_relaxed);
  bytes.pieces.clear();
  bytes.pieces.push_back({{}, std::move(stored.bytes)});
  bytes.pieces_read = true;
}

void RowWork::prepare_read(RowInput& input, const BatchJob& batch) const {
  StoredBytes& bytes = input.bytes;
  const bool reads_version = input.entry.on_version_read != nullptr;
  if (!bytes.has_any_entry() && !reads_version)
    bytes.set(plan_->samples().fetch(batch.rows()[static_cast<size_t>(input.first_row)].id));
  if (!bytes.has_any_entry() && !bytes.pieces.empty()) bytes.pieces.front().request.version = input.entry.version;
  // If an object's size is a guess, as much memory is claimed as an earlier read of it needed.
  if (!reads_version) bytes.set_aside(input.observed_bytes);
}

// Opens the cache entries that were read from disk or a peer, if the row has any. Returns false if
// one is damaged: the cache has dropped it, and the object itself has to be fetched.
bool RowWork::open_entries(RowInput& input) const {
  StoredBytes& bytes = input.bytes;
  const auto open = [&](StoredBytes::Entry& entry) {
    if (entry.columns) return true;
    Result<std::shared_ptr<const Columns>> columns =
        plan_->keyed_stage(entry.stage).cache->open(entry.key, std::move(bytes.pieces[*entry.piece].bytes));
    if (columns.ok()) entry.columns = std::move(*columns);
    return columns.ok();
  };
  if (input.stage > 0) return true;
  return (!bytes.entry || open(*bytes.entry)) && std::ranges::all_of(bytes.part_entries, open);
}

// Stores the row's result in the stage, and ends the flight of the entry.
Status RowWork::store_row(size_t index, RowInput& input, const BatchJob& batch, int64_t row, Record& record,
                          WorkMemory& memory) const {
  const KeyedStage& stage = plan_->keyed_stage(index);
  // Values are computed whether or not the result is stored, since the output of later stages must
  // not depend on that. Those of other parts are no matter of this stage.
  for (size_t i = 0; i < record.size(); ++i)
    if (stage.part.empty() || stage.in_entry[i]) FOREBAY_RETURN_IF_ERROR(record[i].materialize(memory));
  if (!stage.cache) return {};
  if (const std::optional<Identity> key = stage.keys->store_key(batch, row, input.entry.version_read())) {
    stage.store(*key, record, input.extras, static_cast<double>(memory.meter().cpu_ns()) * 1e-9,
                batch.rows()[static_cast<size_t>(row)].id);
    stage.keys->on_stored(batch, row, *key);
  }
  // The end of the flight notifies waiting tasks, which take their runs' locks. None is held here.
  if (input.entry.missing && input.entry.missing->stage == index) input.entry.flight.reset();
  return {};
}

void RowWork::report_computed(const RowInput& input, const BatchJob& batch, const RowResult& result) const {
  if (result.verdict != Verdict::kDone && result.verdict != Verdict::kForeign) return;
  for (const size_t index : plan_->keyed) {
    const KeyedStage& stage = plan_->keyed_stage(index);
    if (stage.cache && index >= result.first_stage && index < result.end_stage)
      stage.keys->on_computed(batch, input.first_row);
  }
}

}  // namespace forebay
