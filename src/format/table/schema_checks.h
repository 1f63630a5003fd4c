// Checks of the names in a UniteInput, and the errors about them. unite_schemas() calls them.

#pragma once

#include <string>
#include <string_view>

#include "format/table/known_fields.h"
#include "format/table/united_schema.h"

namespace forebay {

/// InvalidArgument if a file has a column with the name of a partition column or of its mask.
Status check_partition_names(const UniteInput& input);
bool is_partition(const UniteInput& input, const std::string& name);
/// InvalidArgument if a name in null= or types= occurs in no file.
Status check_option_names(const UniteInput& input, const KnownFields& known);
/// Warns if a column was chosen over a struct or its member of the same full name, because this is
/// not visible otherwise.
void warn_twofold_names(const UniteInput& input, const KnownFields& known);

/// The error for a table without a column that can be read.
Status no_readable_column(const UniteInput& input);
/// The error for a column, named in `argument`, that no file has or that cannot be read.
Status unknown_column(const UniteInput& input, const KnownFields& known, std::string_view argument,
                      const std::string& name);

}  // namespace forebay
