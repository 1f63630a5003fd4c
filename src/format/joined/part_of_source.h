#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/source.h"

namespace forebay {

struct JoinedPart;

/// The part of that name of a source whose parts lie side by side, or null.
const JoinedPart* find_joined_part(const Source& source, const std::string& name);

/// The number of sample `id` of a source in the data set of that part, if the source has parts side
/// by side. Otherwise, and for the part "", it is `id`.
int64_t row_in_part(const Source& source, const std::string& part, int64_t id);

/// The data set of a part of JoinedSamples, by the ids of these. The source itself if it has no
/// such part, and for the part "".
std::shared_ptr<const Source> part_of_source(std::shared_ptr<const Source> source, const std::string& part);

}  // namespace forebay
