#pragma once

#include <exception>
#include <string>
#include <string_view>

#include <arrow/result.h>
#include <arrow/status.h>

#include "forebay/result.h"
#include "forebay/status.h"

namespace forebay {

/// What Arrow said about `what` ("the column 'price'"), as ours: memory is OutOfBudget, what is not implemented Unsupported, all else
/// Corrupt.
Status from_arrow(const arrow::Status& status, std::string_view what);
/// The same for an exception that Arrow threw. Call it in a catch block.
Status from_exception(const std::exception& error, std::string_view what);

}  // namespace forebay

/// `FOREBAY_ASSIGN_ARROW(auto x, f(), what)`: x is the value of Arrow's result, or the function returns its error.
#define FOREBAY_ASSIGN_ARROW(lhs, expr, what) \
  FOREBAY_ASSIGN_ARROW_INNER(FOREBAY_CONCAT(arrow_, __LINE__), lhs, expr, what)
#define FOREBAY_ASSIGN_ARROW_INNER(tmp, lhs, expr, what)           \
  auto tmp = (expr);                                               \
  if (!tmp.ok()) return ::forebay::from_arrow(tmp.status(), what); \
  lhs = std::move(tmp).ValueUnsafe()
