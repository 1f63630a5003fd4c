#pragma once

#include <vector>

#include "forebay/materialize.h"
#include "format/materialized/manifest.h"
#include "pipeline/description.h"

namespace forebay {

/// InvalidArgument unless the steps after the cut decode pictures before any step looks at their
/// bytes.
Status check_restart_markers(const Description& description, size_t cut);
/// Checks options that do not depend on the data: compression, format, quality, limit, shards.
/// InvalidArgument.
Status check_options(const MaterializeOptions& options);

/// Checks whether these fields can be written in the requested format. check_options() must have
/// accepted the options. `is_table` says that the fields are those of a table. Unsupported, naming
/// a format that can hold them; InvalidArgument for a reserved name.
Status check_format(const MaterializeOptions& options, const std::vector<StoredField>& fields, bool is_table);

/// InvalidArgument if the finished data at a location may not be replaced: it has other steps, or
/// `update` is not set.
Status check_may_replace(bool same_steps, bool update);

}  // namespace forebay
