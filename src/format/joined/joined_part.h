#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/source.h"
#include "format/files/key_table.h"

namespace forebay {

/// A data set beside others (zip): its samples give some of the fields of the joined ones.
struct JoinedPart {
  std::string name;    ///< in messages
  std::string prefix;  ///< before the names of its fields: "mask/"
  std::shared_ptr<const Source> source;
  /// Its sample for each joined one. Null: that of the same number.
  std::shared_ptr<const PackedInts> rows = nullptr;

  int64_t row(int64_t id) const { return rows ? static_cast<int64_t>((*rows)[static_cast<size_t>(id)]) : id; }
  /// True if a field of its samples needs their stored objects.
  bool fetches() const;
};

/// The fields of all parts, in order.
Schema joined_schema(const std::vector<JoinedPart>& parts);
/// Made of the versions of all parts, and of the samples that belong together.
Hash128 joined_version(const std::vector<JoinedPart>& parts, int64_t size);
uint64_t joined_index_bytes(const std::vector<JoinedPart>& parts);
/// "photos/1.jpg (mask: masks/1.png)".
std::string joined_key(const std::vector<JoinedPart>& parts, int64_t id);
Status check_joined_intact(const std::vector<JoinedPart>& parts);

}  // namespace forebay
