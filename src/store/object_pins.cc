#include "store/object_pins.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/hash.h"
#include "runtime/fork_guard.h"

namespace forebay {

namespace {
constexpr size_t kFirstSlots = 1024;
// 0 marks a free slot, so no key may hash to it.
uint64_t hash_of(std::string_view text) { return std::max<uint64_t>(hash128(text).low, 1); }
}  // namespace

// The number of sets is a power of two, so that a mask finds a set and growing splits each set into
// two.
ObjectPins::ObjectPins(size_t capacity) : capacity_(std::bit_ceil(std::max(capacity, kWays))) {}

ObjectPins::Pin* ObjectPins::find(uint64_t key) {
  if (pins_.empty()) return nullptr;
  // The lowest bits of a key choose its set of eight slots: a look-up reads 128 bytes, however many
  // pins there are.
  Pin* const ways = &pins_[(key & (pins_.size() / kWays - 1)) * kWays];
  Pin* const found = std::find_if(ways, ways + kWays, [&](const Pin& pin) { return pin.key == key; });
  return found == ways + kWays ? nullptr : found;
}

ObjectPins::Pin* ObjectPins::slot_for(uint64_t key) {
  if (pins_.empty()) pins_.resize(std::min(kFirstSlots, capacity_));
  while (true) {
    Pin* const ways = &pins_[(key & (pins_.size() / kWays - 1)) * kWays];
    Pin* const free = std::find_if(ways, ways + kWays, [](const Pin& pin) { return pin.key == 0; });
    if (free != ways + kWays) return free;
    if (pins_.size() >= capacity_) {
      --used_;
      return ways + (key >> 60) % kWays;  // which pin is forgotten depends only on the keys
    }
    grow();
  }
}

void ObjectPins::grow() {
  std::vector<Pin> previous(pins_.size() * 2);
  previous.swap(pins_);
  // Each set is split into two, so that none can overflow.
  for (const Pin& pin : previous) {
    if (pin.key != 0) *slot_for(pin.key) = pin;
  }
}

Status ObjectPins::check(std::string_view key, std::string_view tag) {
  if (tag.empty()) return {};
  const uint64_t key_hash = hash_of(key), tag_hash = hash_of(tag);
  const Lock lock(mutex_);
  if (const Pin* const pin = find(key_hash)) {
    if (pin->tag == tag_hash) return {};
    return corrupt(
        "changed since it was first read: its ETag is another one now; data sets must not change while they are read: "
        "write new versions under new names, or close the loaders that use it and start again");
  }
  // Two objects of the same hash would look like one that changed; with a million objects, less
  // than once in 10^7 runs.
  *slot_for(key_hash) = {key_hash, tag_hash};
  ++used_;
  return {};
}

std::shared_ptr<void> ObjectPins::begin_reading(std::shared_ptr<void> owner) {
  const Lock lock(mutex_);
  ++readers_;
  return {this, [this, owner = std::move(owner), generation = process_generation()](void*) {
            // The lock may be held by a thread that does not exist in this fork.
            if (process_generation() != generation) return;
            const Lock relock(mutex_);
            if (--readers_ > 0) return;
            pins_.clear();
            used_ = 0;
          }};
}

void ObjectPins::forget(std::string_view key) {
  const Lock lock(mutex_);
  if (Pin* const pin = find(hash_of(key))) {
    *pin = {};
    --used_;
  }
}

size_t ObjectPins::size() const {
  const Lock lock(mutex_);
  return used_;
}

}  // namespace forebay
