#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <vector>

#include "format/json_nan.h"
#include "format/lines/json_fields.h"
#include "format/lines/line_source.h"

namespace forebay {

/// Records of JSON, one a line: a field for each of `fields`. InvalidArgument where these do not go together.
Result<std::shared_ptr<const LineReader>> json_line_reader(std::vector<JsonField> fields,
                                                           NanPolicy nan = NanPolicy::kError);

/// The fields of the first records: of the first slice, at most kTypedRecords of them. Lines that are no JSON do not count here; Corrupt
/// where there is no other. Reads; waits.
constexpr int64_t kTypedRecords = 1000;
Result<std::vector<JsonField>> find_json_fields(const LineTable& table, NanPolicy nan, std::stop_token stop);

}  // namespace forebay
