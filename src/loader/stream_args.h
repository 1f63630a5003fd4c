#pragma once

#include <memory>
#include <vector>

#include "loader/open_source.h"
#include "stream/pushed_log.h"

namespace forebay {

/// What an `iterable` step carries: who pushes its records.
struct IterableAttachment {
  PushedLog::Open open;
};

void check_iterable(const OpSpec& source, std::vector<Problem>& found);
Result<std::shared_ptr<const Source>> open_iterable(const OpSpec& source, const OpenSourceOptions& options);

}  // namespace forebay
