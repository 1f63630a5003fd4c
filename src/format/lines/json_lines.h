#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "format/json_nan.h"
#include "format/lines/json_fields.h"
#include "format/lines/line_source.h"

namespace forebay {

/// A reader of one JSON record per line, with a column for each of `fields`. InvalidArgument if two
/// fields conflict.
Result<std::shared_ptr<const LineReader>> json_line_reader(std::vector<JsonField> fields,
                                                           NanPolicy nan = NanPolicy::kError);

/// Infers the fields from the first slice, from at most kTypedRecords records. Lines that are not
/// JSON are ignored; Corrupt if there are no other lines. Reads from the store and waits.
constexpr int64_t kTypedRecords = 1000;
Result<std::vector<JsonField>> find_json_fields(const LineTable& table, NanPolicy nan, std::stop_token stop);

}  // namespace forebay
