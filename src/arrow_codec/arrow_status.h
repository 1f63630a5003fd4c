#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <arrow/result.h>
#include <arrow/status.h>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// Converts an Arrow error about `what` (such as "the column 'price'"). Memory errors become
/// OutOfBudget, NotImplemented becomes Unsupported, and all others become Corrupt.
Status from_arrow(const arrow::Status& status, std::string_view what);
/// The same for an exception that Arrow threw. Must be called in a catch block.
Status from_exception(const std::exception& error, std::string_view what);

}  // namespace forebay

/// `FOREBAY_ASSIGN_ARROW(auto x, f(), what)` assigns the value of Arrow's result to x, or returns
/// its error from the function.
#define FOREBAY_ASSIGN_ARROW(lhs, expr, what) \
  FOREBAY_ASSIGN_ARROW_INNER(FOREBAY_CONCAT(arrow_, __LINE__), lhs, expr, what)
#define FOREBAY_ASSIGN_ARROW_INNER(tmp, lhs, expr, what)           \
  auto tmp = (expr);                                               \
  if (!tmp.ok()) return ::forebay::from_arrow(tmp.status(), what); \
  lhs = std::move(tmp).ValueUnsafe()
