#pragma once

#include <cstdint>
#include <optional>

#include "base/source.h"

namespace forebay {

/// Learned versions that the hosts of a job share, so that an object that one of them has read is known to the others. Where a store tells no
/// versions, a random number of the source that read the object stands in the place of one; it holds in this job alone.
class SharedVersions : public LearnedVersions {
 public:
  /// What was learned of sample `id`, for tell() of another host's source. Nothing where nothing was learned.
  virtual std::optional<uint64_t> learned(int64_t id) const = 0;
  /// What another host has learned: identity(id) from here on, unless this source has learned something itself.
  virtual void tell(int64_t id, uint64_t learned) const = 0;
};

/// Those of a source; null where it learns no versions, or does not share them.
inline const SharedVersions* shared_versions(const Source& source) {
  return dynamic_cast<const SharedVersions*>(source.learned_versions());
}

}  // namespace forebay
