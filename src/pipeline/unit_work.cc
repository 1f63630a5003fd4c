#include "pipeline/unit_work.h"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

#include "runtime/buffer_pool.h"
#include "store/store.h"

namespace forebay {

namespace {

// So that memory of one unit fits another whose rows are a few more or less.
uint64_t rounded(uint64_t bytes) {
  const uint64_t step = bytes < (uint64_t{1} << 20) ? 64 : 64 * 1024;
  return (bytes + step - 1) / step * step;
}

// The same where lists and texts make each unit another size: an eighth more at most.
uint64_t widely_rounded(uint64_t bytes) {
  const uint64_t step = std::max<uint64_t>(std::bit_floor(bytes) / 8, 64);
  return (bytes + step - 1) / step * step;
}

// An entry has the rows of its unit and a little more.
uint64_t most_entry_bytes(uint64_t decoded_bytes) { return decoded_bytes + decoded_bytes / 4 + (64 << 10); }

}  // namespace

uint64_t bytes_of(const std::vector<ReadRequest>& requests) {
  uint64_t bytes = 0;
  for (const ReadRequest& request : requests)
    bytes += request.range ? request.range->length : request.expected_size.value_or(0);
  return bytes;
}

void UnitWork::look_up(Unit& unit) const {
  if (std::exchange(unit.looked_up, true)) return;
  const UnitPlan& plan = *plan_->units;
  const std::optional<Hash128> entry = plan.entry(unit.number);
  std::optional<EntryCache::Found> found = entry ? plan.cache->find_of(*entry, unit.number) : std::nullopt;
  unit.cached = found.has_value();
  unit.read_later = false;
  if (found) {
    unit.rows = std::move(found->columns);
    unit.store = found->store;
    // An entry of another host, whose size it alone knows; what is larger than a little more than its rows is not taken.
    if (!unit.rows && found->request.set_aside_bytes && !found->request.expected_size)
      found->request.expected_size = most_entry_bytes(plan.source->unit_cost(unit.number).decoded_bytes);
    if (!unit.rows) unit.requests = {std::move(found->request)};
  } else {
    UnitSource::UnitFetch fetch = plan.source->unit_fetch(unit.number);
    unit.store = fetch.store;
    unit.requests = std::move(fetch.requests);
  }
  unit.stored.assign(unit.requests.size(), Buffer());
  unit.asked = 0;
}

UnitNeeds UnitWork::needs(const Unit& unit) const {
  const UnitPlan& plan = *plan_->units;
  const UnitSource& source = *plan.source;
  const uint64_t decoded = source.unit_cost(unit.number).decoded_bytes;
  const size_t side_by_side =
      plan.packed.packed_bytes(source.unit_begin(unit.number + 1) - source.unit_begin(unit.number));
  // An entry of the cache is used as it was read (unless it was compressed, and so is smaller than its rows); otherwise columns
  // are decoded and then packed, so they exist twice.
  const bool as_it_is = unit.cached && plan.caches_packed();
  const uint64_t stored = unit.read_later ? bytes_of(unit.requests) : 0;
  const uint64_t working = std::max(as_it_is ? 0 : decoded + stored, unit.needs);
  // One that is smaller was compressed: it is read apart, and unpacked into memory of its own.
  const uint64_t entry = stored >= side_by_side ? stored : 0;
  const uint64_t together = as_it_is ? entry : side_by_side;  // in the unit's own memory
  const bool sizes_differ = as_it_is && !plan.packed.apart().empty();
  const uint64_t packed = together == 0 ? 0 : sizes_differ ? widely_rounded(together) : rounded(together);
  const uint64_t apart = decoded - std::min(decoded, together);
  return {packed, apart, working};
}

UnitWork::Made UnitWork::make(const Unit& unit, WorkMemory& memory) const {
  Made made{cancelled("not made")};
  try {
    made.rows = decode(unit, memory, &made.cold);
  } catch (const std::bad_alloc&) {
    made.rows = system_lacks_memory();
  } catch (const std::exception& error) {
    made.rows = internal_error(error.what()).with_key(plan_->units->source->unit_name(unit.number));
  }
  return made;
}

Result<std::shared_ptr<const Columns>> UnitWork::decode(const Unit& unit, WorkMemory& memory, bool* cold) const {
  const UnitPlan& plan = *plan_->units;
  std::vector<Buffer> stored = unit.stored;
  for (size_t i = 0; i < unit.requests.size() && unit.read_later; ++i) {
    const int64_t begun = thread_cpu_ns();
    ReadRequest request = unit.requests[i];
    if (unit.cached && plan.caches_packed()) request.into = unit.memory;
    std::optional<Result<Buffer>> read = unit.store->read_now(request);
    *cold = !read;
    if (!read) return cancelled("not in the page cache");
    if (!read->ok()) return read->status();
    stored[i] = std::move(**read);
    plan_->fetch_counters->add(0, stored[i].size(), stored[i].size(), thread_cpu_ns() - begun);
  }
  if (!unit.cached) return plan.make(unit.number, std::move(stored), unit.memory, memory);
  std::shared_ptr<const Columns> entry = unit.rows;
  if (!entry) {
    FOREBAY_ASSIGN(entry, plan.cache->open(*plan.entry(unit.number), std::move(stored.front())));
  }
  return plan.finish(std::move(entry), unit.memory, memory);
}

}  // namespace forebay
