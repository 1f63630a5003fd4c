#pragma once

#include <vector>

#include "forebay/materialize.h"
#include "format/materialized/manifest.h"
#include "pipeline/description.h"

namespace forebay {

/// InvalidArgument unless what is behind the cut decodes pictures before it looks at them.
Status check_restart_markers(const Description& description, size_t cut);
/// What is wrong with what was asked for, whatever the data: compression, format, quality, limit, shards. InvalidArgument.
Status check_options(const MaterializeOptions& options);

/// Why these fields cannot be written in the format that is asked for, which check_options() has looked at; `in_chunks`: they are of a table.
/// Unsupported, with the format that can; InvalidArgument for a name that is taken.
Status check_format(const MaterializeOptions& options, const std::vector<StoredField>& fields, bool in_chunks);

/// Why what is finished at a place, and is of something else, may not be followed by this: of other steps, or `update` was not said. InvalidArgument.
Status check_may_follow(bool same_steps, bool update);

}  // namespace forebay
