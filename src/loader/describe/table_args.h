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

/// Returns the arguments of `parquet` and `arrow`, as a description holds them:
///
/// | argument  | content                                                                          |
/// |-----------|----------------------------------------------------------------------------------|
/// | `pattern` | a text, or a list of texts                                                       |
/// | `columns` | a list of texts; all columns if absent                                           |
/// | `filter`  | `[[column, op, value], …]`: all must hold; or a list of such lists              |
/// | `null`    | "error", a value, `{"mask": true}`, `{"value": …}` or `{"by_column": …}` |
/// | `types`   | `{column: type}`, with the words of parse_column_type()                          |
/// | `follow`  | true: includes rows of files that appear later                                   |
///
/// A list of filters selects rows that any of them selects. `by_column` maps columns to values.
///
/// A float without a JSON form is `{"float": "nan"}`, "inf" or "-inf"; bytes are `{"bytes":
/// "00ff"}`.
Json table_args(const TableOptions& options);

/// Parses the argument `null` of a table.
Result<NullPolicy> parse_nulls(const Json& json);

/// Parses the arguments of a table source; the caller sets the format.
Result<TableRequest> parse_table_request(const OpSpec& source);

/// Adds problems with the arguments, beyond their names.
void check_table(const OpSpec& source, std::vector<Problem>& problems);

/// Makes the source `arrow` over streams of the Arrow C data interface. It reads them in order. If
/// one fails, the caller still owns those after it.
Result<OpSpec> arrow_streams_step(std::span<void* const> streams, Json args);

Result<std::shared_ptr<const ChunkSource>> open_table_source(const OpSpec& source, TableRequest::Format format,
                                                             const OpenSourceOptions& options);

}  // namespace forebay
