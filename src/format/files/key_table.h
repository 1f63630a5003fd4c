#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Unsigned numbers in four bytes each, or in eight where one of them needs it.
class PackedInts {
 public:
  PackedInts() = default;
  /// `largest` is an upper bound of what will be pushed.
  PackedInts(size_t count, uint64_t largest);
  void push_back(uint64_t value) {
    if (wide_)
      eight_.push_back(value);
    else
      four_.push_back(static_cast<uint32_t>(value));
  }
  uint64_t operator[](size_t i) const { return wide_ ? eight_[i] : four_[i]; }
  size_t size() const { return wide_ ? eight_.size() : four_.size(); }
  uint64_t bytes() const { return four_.capacity() * sizeof(uint32_t) + eight_.capacity() * sizeof(uint64_t); }

 private:
  bool wide_ = false;
  std::vector<uint32_t> four_;
  std::vector<uint64_t> eight_;
};

/// The keys and sizes of a data set: the bytes of the keys plus 8 to 16 a sample, and 8 more where versions of objects are
/// kept. Immutable, so any thread may read it.
class KeyTable {
 public:
  KeyTable() = default;
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  /// In constant time. The view lives as long as the table.
  std::string_view key(int64_t id) const;
  /// The same, sharing the table's memory.
  Buffer key_buffer(int64_t id) const;
  uint64_t object_bytes(int64_t id) const { return sizes_[static_cast<size_t>(id)]; }
  /// ObjectInfo::version; 0 where it is not known, or none are kept.
  uint64_t object_version(int64_t id) const { return versions_.empty() ? 0 : versions_[static_cast<size_t>(id)]; }
  uint64_t index_bytes() const {
    return arena_bytes_ + ends_.bytes() + sizes_.bytes() + versions_.capacity() * sizeof(uint64_t);
  }
  /// Of keys and sizes in id order, whatever the versions of the objects.
  Hash128 version() const;
  /// Number of keys before `key` in byte order. Only for tables that were sorted.
  /// In logarithmic time.
  int64_t lower_bound(std::string_view key) const;

 private:
  friend class KeyTableBuilder;
  std::shared_ptr<uint8_t> arena_;
  uint64_t arena_bytes_ = 0;
  PackedInts ends_, sizes_;
  std::vector<uint64_t> versions_;
};

/// What identifies an object as Source::identity() needs it: what messages call it, its key, size and version. False where
/// the version is not known.
bool hash_object(Hasher& hasher, std::string_view display_name, const KeyTable& keys, int64_t id);
/// The same with a version that the table does not have.
void hash_object(Hasher& hasher, std::string_view display_name, const KeyTable& keys, int64_t id, uint64_t version);

/// Gathers keys in any order. One thread at a time.
class KeyTableBuilder {
 public:
  explicit KeyTableBuilder(bool keeps_versions = false) : keeps_versions_(keeps_versions) {}
  void add(std::string_view key, uint64_t object_bytes, uint64_t object_version = 0);
  /// Later sizes, where keys are known before them.
  void set_object_bytes(size_t i, uint64_t object_bytes) { entries_[i].object_bytes = object_bytes; }
  void set_object_version(size_t i, uint64_t version) { entries_[i].object_version = version; }
  size_t size() const { return entries_.size(); }
  std::string_view key(size_t i) const { return view(entries_[i]); }

  /// Ids follow the byte order of the keys. Sorts on several threads where there is enough to sort.
  KeyTable sorted() &&;
  /// Ids follow the order of the calls.
  KeyTable in_order() &&;

 private:
  struct Entry {
    uint64_t begin, length, object_bytes, object_version;
  };
  std::string_view view(const Entry& e) const { return {arena_.data() + e.begin, e.length}; }
  void sort_entries();
  KeyTable pack() const;

  bool keeps_versions_;
  std::string arena_;
  std::vector<Entry> entries_;
};

}  // namespace forebay
