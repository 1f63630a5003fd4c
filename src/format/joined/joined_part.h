#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/source.h"
#include "forebay/status.h"
#include "format/files/key_table.h"

namespace forebay {

class ObjectLists;

/// A data set beside others (zip): its samples give some of the fields of the joined ones.
///
/// Most parts have a sample for each joined one. A part with draws of its own has not: any of its
/// samples may come with any joined one. Then ids number all combinations: with n joined samples and
/// m samples of such a part, id i + n * j is the i-th joined sample with the j-th of the part. Only
/// the ids below n count as the samples of the zip; plans add the draws (pipeline/partner_draws.h).
struct JoinedPart {
  std::string name;    ///< in messages
  std::string prefix;  ///< before the names of its fields: "mask/"
  std::shared_ptr<const Source> source;
  /// Its sample for each joined one. Null: that of the same number.
  std::shared_ptr<const PackedInts> rows = nullptr;
  bool drawn = false;  ///< it has draws of its own
  /// How often it has these samples, one pass after the other.
  int64_t passes = 1;
  // Set by number_draws(); `count` is 0 if no part has draws of its own.
  int64_t stride = 1;  ///< distance of two ids that differ by one in the number of this part
  int64_t count = 0;   ///< of these numbers

  int64_t row(int64_t id) const {
    int64_t number = count == 0 ? id : id / stride % count;
    if (passes > 1) number %= pass_size();
    return rows ? static_cast<int64_t>((*rows)[static_cast<size_t>(number)]) : number;
  }
  /// The number of its samples in a pass before it is joined: all, or the chosen ones in `rows`.
  int64_t pass_size() const { return rows ? static_cast<int64_t>(rows->size()) : source->size(); }
  /// The number of its samples in all passes.
  int64_t own_size() const { return passes * pass_size(); }
  /// True if a field of its samples needs their stored objects.
  bool fetches() const;
  /// The source, if each of its samples is any number of stored objects; else null.
  const ObjectLists* object_lists() const;
};

/// Numbers the combinations of `size` joined samples with those of parts that have draws of their
/// own. InvalidArgument if such a part is empty, or if there are more than 2^62 combinations.
Status number_draws(std::vector<JoinedPart>& parts, int64_t size);
/// The fields of all parts, in order.
Schema joined_schema(const std::vector<JoinedPart>& parts);
/// Made of the versions of all parts, and of the samples that belong together.
Hash128 joined_version(const std::vector<JoinedPart>& parts, int64_t size);
uint64_t joined_index_bytes(const std::vector<JoinedPart>& parts);
/// "photos/1.jpg (mask: masks/1.png)".
std::string joined_key(const std::vector<JoinedPart>& parts, int64_t id);
Status check_joined_intact(const std::vector<JoinedPart>& parts);

}  // namespace forebay
