#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "loader/describe/open_source.h"

namespace forebay {

struct OpSpec;
struct Problem;

/// Checks and opens the sources `text` and `jsonl`. `pattern` is a text or a list of texts,
/// `fields` an object from name to type. `null` is as in tables, but without masks.
void check_text(const OpSpec& source, std::vector<Problem>& found);
void check_jsonl(const OpSpec& source, std::vector<Problem>& found);
Result<std::shared_ptr<const Source>> open_text_step(const OpSpec& source, const OpenSourceOptions& options);
Result<std::shared_ptr<const Source>> open_jsonl_step(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
