#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/chunk_source.h"
#include "forebay/pipeline.h"
#include "format/table/open_table.h"
#include "loader/describe/open_source.h"
#include "pipeline/description.h"

namespace forebay {

/// The arguments of `parquet` and `arrow`, as a description holds them:
///
/// | argument  | is                                                                                              |
/// |-----------|-------------------------------------------------------------------------------------------------|
/// | `pattern` | a text, or a list of texts                                                                      |
/// | `columns` | a list of texts; all columns if absent                                                          |
/// | `filter`  | `[[column, op, value], …]`: all of them; or a list of such lists: one of them                   |
/// | `null`    | "error", a value, `{"mask": true}`, `{"value": …}` or `{"by_column": {column: value}}`          |
/// | `types`   | `{column: type}`, with the words of parse_column_type()                                         |
/// | `follow`  | true: rows of files that appear later, too                                                      |
///
/// A float that JSON does not know is `{"float": "nan"}`, "inf" or "-inf"; bytes are `{"bytes": "00ff"}`.
Json table_args(const TableOptions& options);

/// The argument `null` of a table.
Result<NullPolicy> parse_nulls(const Json& json);

/// What a source of tables asks for; its format is left to the caller.
Result<TableRequest> parse_table_request(const OpSpec& source);

/// What is wrong with the arguments in themselves, beyond their names.
void check_table(const OpSpec& source, std::vector<Problem>& problems);

/// The source `arrow` over streams of the Arrow C data interface, which are read here, in order. Where one fails, the ones behind it
/// remain the caller's.
Result<OpSpec> arrow_streams_step(std::span<void* const> streams, Json args);

Result<std::shared_ptr<const ChunkSource>> open_table_source(const OpSpec& source, TableRequest::Format format,
                                                             const OpenSourceOptions& options);

}  // namespace forebay
