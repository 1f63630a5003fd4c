#include "arrow_codec/arrow_status.h"

#include <new>

#include <fmt/format.h>
#include <parquet/exception.h>

namespace forebay {

Status from_arrow(const arrow::Status& status, std::string_view what) {
  const std::string text = fmt::format("{}: {}", what, status.message());
  // Arrow does not report the requested size. The Allowance knows it, and callers check its refusal
  // first.
  if (status.IsOutOfMemory()) return out_of_budget(text, 0);
  if (status.IsNotImplemented()) return unsupported(text);
  // All bytes were in memory when Arrow read them, so any other error, even an IOError, is an error
  // of the data.
  return corrupt(text);
}

Status from_exception(const std::exception& error, std::string_view what) {
  if (const auto* with_status = dynamic_cast<const parquet::ParquetStatusException*>(&error))
    return from_arrow(with_status->status(), what);
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr)
    return out_of_budget(fmt::format("{}: no memory was left", what), 0);
  return corrupt(fmt::format("{}: {}", what, error.what()));
}

}  // namespace forebay
