#include "format/files/key_table.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <system_error>
#include <thread>

namespace forebay {

namespace {
constexpr size_t kSortInParallel = 50'000;
constexpr uint64_t kFourBytes = UINT32_MAX;
}  // namespace

PackedInts::PackedInts(size_t count, uint64_t largest) : wide_(largest > kFourBytes) {
  if (wide_)
    eight_.reserve(count);
  else
    four_.reserve(count);
}

std::string_view KeyTable::key(int64_t id) const {
  const auto i = static_cast<size_t>(id);
  const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
  return {reinterpret_cast<const char*>(arena_.get()) + begin, ends_[i] - begin};
}

Buffer KeyTable::key_buffer(int64_t id) const {
  const std::string_view text = key(id);
  return Buffer(reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())), text.size(), arena_);
}

Hash128 KeyTable::version() const {
  Hasher hasher;
  for (int64_t id = 0; id < size(); ++id) {
    const std::string_view text = key(id);
    // Lengths are hashed, so that "ab", "c" differs from "a", "bc".
    hasher.update_value(static_cast<uint64_t>(text.size()));
    hasher.update(text);
    hasher.update_value(object_bytes(id));
  }
  return hasher.digest();
}

bool hash_object(Hasher& hasher, std::string_view display_name, const KeyTable& keys, int64_t id) {
  if (keys.object_version(id) == 0) return false;
  hash_object(hasher, display_name, keys, id, keys.object_version(id));
  return true;
}

void hash_object(Hasher& hasher, std::string_view display_name, const KeyTable& keys, int64_t id, uint64_t version) {
  for (const std::string_view text : {display_name, keys.key(id)}) {
    hasher.update_value(static_cast<uint64_t>(text.size()));
    hasher.update(text);
  }
  hasher.update_value(keys.object_bytes(id));
  hasher.update_value(version);
}

int64_t KeyTable::lower_bound(std::string_view wanted) const {
  int64_t low = 0, high = size();
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (key(middle) < wanted)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

void KeyTableBuilder::add(std::string_view key, uint64_t object_bytes, uint64_t object_version) {
  entries_.push_back({arena_.size(), key.size(), object_bytes, object_version});
  arena_ += key;
}

KeyTable KeyTableBuilder::sorted() && {
  sort_entries();
  return pack();
}

KeyTable KeyTableBuilder::in_order() && { return pack(); }

void KeyTableBuilder::sort_entries() {
  const auto before = [this](const Entry& a, const Entry& b) { return view(a) < view(b); };
  const auto first = entries_.begin();
  const size_t count = entries_.size();
  const size_t parts = count < kSortInParallel ? 1 : std::clamp<size_t>(std::thread::hardware_concurrency(), 1, 8);
  const auto bound = [&](size_t part) { return first + static_cast<std::ptrdiff_t>(count * part / parts); };
  {
    std::vector<std::jthread> threads;
    for (size_t part = 1; part < parts; ++part) {
      const auto sort_part = [=] { std::sort(bound(part), bound(part + 1), before); };
      try {
        threads.emplace_back(sort_part);
      } catch (const std::system_error&) {
        // If no further thread can be started, this thread sorts the part.
        sort_part();
      }
    }
    std::sort(bound(0), bound(1), before);
  }
  std::vector<Entry> merged;
  for (size_t part = 1; part < parts; ++part) {
    merged.clear();
    // Keys are distinct, so the order does not depend on the number of threads.
    std::merge(first, bound(part), bound(part), bound(part + 1), std::back_inserter(merged), before);
    std::ranges::copy(merged, first);
  }
}

KeyTable KeyTableBuilder::pack() const {
  uint64_t largest = 0;
  for (const Entry& entry : entries_) largest = std::max(largest, entry.object_bytes);
  KeyTable table;
  table.arena_bytes_ = arena_.size();
  // One byte more, so that an empty arena has an address too.
  table.arena_ = std::shared_ptr<uint8_t>(new uint8_t[arena_.size() + 1], std::default_delete<uint8_t[]>());
  table.ends_ = PackedInts(entries_.size(), arena_.size());
  table.sizes_ = PackedInts(entries_.size(), largest);
  if (keeps_versions_) table.versions_.reserve(entries_.size());
  uint64_t end = 0;
  for (const Entry& entry : entries_) {
    std::memcpy(table.arena_.get() + end, arena_.data() + entry.begin, entry.length);
    end += entry.length;
    table.ends_.push_back(end);
    table.sizes_.push_back(entry.object_bytes);
    if (keeps_versions_) table.versions_.push_back(entry.object_version);
  }
  return table;
}

}  // namespace forebay
