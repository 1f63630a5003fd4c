#pragma once

#include <cassert>
#include <utility>
#include <variant>

#include "forebay/status.h"

namespace forebay {

/// A value, or the error that prevented it. value() and the operators require ok().
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit on purpose
  Result(Status status) : state_(std::in_place_index<1>, std::move(status)) { assert(!this->status().ok()); }  // NOLINT

  bool ok() const { return state_.index() == 0; }
  Status status() const { return ok() ? Status() : std::get<1>(state_); }

  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Status> state_;
};

}  // namespace forebay

#define FOREBAY_CONCAT_INNER(a, b) a##b
#define FOREBAY_CONCAT(a, b) FOREBAY_CONCAT_INNER(a, b)
/// `FOREBAY_ASSIGN(auto x, f());` assigns the value of f() to x, or returns its error from the
/// enclosing function.
#define FOREBAY_ASSIGN(lhs, expr) FOREBAY_ASSIGN_INNER(FOREBAY_CONCAT(result_, __LINE__), lhs, expr)
#define FOREBAY_ASSIGN_INNER(tmp, lhs, expr) \
  auto tmp = (expr);                         \
  if (!tmp.ok()) return tmp.status();        \
  lhs = std::move(tmp).value()
