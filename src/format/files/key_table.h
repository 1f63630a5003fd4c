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

/// An array of unsigned numbers in four bytes each, or in eight bytes each if one of them needs it.
class PackedInts {
 public:
  PackedInts() = default;
  /// `largest` is an upper bound of the numbers to be pushed.
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

/// The keys and sizes of a data set. It takes the bytes of the keys plus 8 to 16 bytes per sample,
/// and 8 more if it holds object versions. Immutable, so any thread may read it.
class KeyTable {
 public:
  KeyTable() = default;
  int64_t size() const { return static_cast<int64_t>(ends_.size()); }
  /// The key of a sample, in constant time. The view is valid as long as the table.
  std::string_view key(int64_t id) const;
  /// The key of a sample in a buffer that shares the table's memory.
  Buffer key_buffer(int64_t id) const;
  uint64_t object_bytes(int64_t id) const { return sizes_[static_cast<size_t>(id)]; }
  /// ObjectInfo::version; 0 if it is not known or the table holds no versions.
  uint64_t object_version(int64_t id) const { return versions_.empty() ? 0 : versions_[static_cast<size_t>(id)]; }
  uint64_t index_bytes() const {
    return arena_bytes_ + ends_.bytes() + sizes_.bytes() + versions_.capacity() * sizeof(uint64_t);
  }
  /// Hash of keys and sizes in id order. The versions of the objects do not change it.
  Hash128 version() const;
  /// Number of keys before `key` in byte order, in logarithmic time. Only for tables made by
  /// KeyTableBuilder::sorted().
  int64_t lower_bound(std::string_view key) const;

 private:
  friend class KeyTableBuilder;
  std::shared_ptr<uint8_t> arena_;
  uint64_t arena_bytes_ = 0;
  PackedInts ends_, sizes_;
  std::vector<uint64_t> versions_;
};

/// Hashes what Source::identity() needs of an object: its display name, key, size and version.
/// Returns false if the version is not known.
bool hash_object(Hasher& hasher, std::string_view display_name, const KeyTable& keys, int64_t id);
/// The same with a version that the table does not have.
void hash_object(Hasher& hasher, std::string_view display_name, const KeyTable& keys, int64_t id, uint64_t version);

/// Collects keys in any order and builds a KeyTable. One thread at a time.
class KeyTableBuilder {
 public:
  explicit KeyTableBuilder(bool keeps_versions = false) : keeps_versions_(keeps_versions) {}
  void add(std::string_view key, uint64_t object_bytes, uint64_t object_version = 0);
  /// Sets the size of key `i`, if it becomes known after the key.
  void set_object_bytes(size_t i, uint64_t object_bytes) { entries_[i].object_bytes = object_bytes; }
  void set_object_version(size_t i, uint64_t version) { entries_[i].object_version = version; }
  size_t size() const { return entries_.size(); }
  std::string_view key(size_t i) const { return view(entries_[i]); }

  /// Builds a table whose ids follow the byte order of the keys. Large tables are sorted on several
  /// threads.
  KeyTable sorted() &&;
  /// Builds a table whose ids follow the order of the calls to add().
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
