#include "format/table/row_filter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "base/convert.h"
#include "format/table/compare.h"
#include "format/table/iso_time.h"

namespace forebay {

namespace {

constexpr std::array<std::pair<std::string_view, CompareOp>, 9> kOps = {{{"==", CompareOp::kEqual},
                                                                         {"!=", CompareOp::kNotEqual},
                                                                         {"<", CompareOp::kLess},
                                                                         {"<=", CompareOp::kLessEqual},
                                                                         {">", CompareOp::kGreater},
                                                                         {">=", CompareOp::kGreaterEqual},
                                                                         {"in", CompareOp::kIn},
                                                                         {"not in", CompareOp::kNotIn},
                                                                         {"=", CompareOp::kEqual}}};

bool is_list_op(CompareOp op) { return op == CompareOp::kIn || op == CompareOp::kNotIn; }
bool is_negated(CompareOp op) { return op == CompareOp::kNotEqual || op == CompareOp::kNotIn; }
bool is_equality(CompareOp op) { return op == CompareOp::kEqual || op == CompareOp::kNotEqual || is_list_op(op); }

bool is_float(DType dtype) { return dtype == DType::kFloat16 || dtype == DType::kFloat32 || dtype == DType::kFloat64; }
bool is_float(const Field& field) { return field.kind == FieldKind::kTensor && is_float(field.dtype); }

/// The value as messages show it.
std::string show(const FilterValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "True (a bool)" : "False (a bool)";
  if (const auto* number = std::get_if<int64_t>(&value)) return fmt::format("{} (an integer)", *number);
  if (const auto* number = std::get_if<double>(&value)) return fmt::format("{} (a float)", *number);
  return fmt::format("'{}' (a text)", std::get<std::string>(value));
}

/// Converts a value to a type that compare_exact() accepts.
template <typename T>
auto comparable(const T& value) {
  if constexpr (std::is_same_v<T, std::string>)
    return std::string_view(value);
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<double>(value);
  else
    return value;
}

template <typename A>
std::partial_ordering order_of(const A& a, const FilterValue& b) {
  return std::visit([&](const auto& value) { return compare_exact(comparable(a), comparable(value)); }, b);
}

bool is_satisfied(std::partial_ordering order, CompareOp op) {
  switch (op) {
    case CompareOp::kEqual: return order == 0;
    case CompareOp::kNotEqual: return order != 0;
    case CompareOp::kLess: return order < 0;
    case CompareOp::kLessEqual: return order <= 0;
    case CompareOp::kGreater: return order > 0;
    case CompareOp::kGreaterEqual: return order >= 0;
    default: return false;
  }
}

template <typename A>
bool is_among(const A& cell, const std::vector<FilterValue>& sorted) {
  const auto at = std::partition_point(sorted.begin(), sorted.end(),
                                       [&](const FilterValue& value) { return order_of(cell, value) > 0; });
  return at != sorted.end() && order_of(cell, *at) == 0;
}

template <typename A>
bool match(const RowCondition& condition, const A& cell) {
  if (is_list_op(condition.op)) return is_among(cell, condition.values) == (condition.op == CompareOp::kIn);
  return is_satisfied(order_of(cell, condition.values.front()), condition.op);
}

Status wrong_value(const Field& field, const FilterValue& value, std::string_view way) {
  return invalid_argument(
      fmt::format("filter: the column {} cannot be compared with {}; {}", field.to_string(), show(value), way));
}

Status prepare_value(const RowCondition& condition, const Field& field, std::optional<int64_t> ticks_per_day,
                     FilterValue& value) {
  const bool text = std::holds_alternative<std::string>(value), flag = std::holds_alternative<bool>(value);
  if (field.kind != FieldKind::kTensor) return text ? Status() : wrong_value(field, value, "give a text");
  if (field.dtype == DType::kBool) return flag ? Status() : wrong_value(field, value, "give True or False");
  if (flag) return wrong_value(field, value, "give a number");
  if (const auto* number = std::get_if<double>(&value); number != nullptr && std::isnan(*number)) {
    return invalid_argument(fmt::format(
        "filter: '{}' is compared with NaN, which equals nothing; leave that condition out", condition.column));
  }
  if (!text) return {};
  const auto time = ticks_per_day ? parse_iso_time(std::get<std::string>(value), *ticks_per_day) : std::nullopt;
  if (!time) {
    return wrong_value(
        field, value,
        ticks_per_day ? "give a time as in '2026-01-31' or '2026-01-31T12:30:00', or a number" : "give a number");
  }
  std::visit([&](auto ticks) { value = ticks; }, *time);
  return {};
}

bool sorts_before(const FilterValue& a, const FilterValue& b) {
  return std::visit([&](const auto& left) { return order_of(left, b) < 0; }, a);
}

/// Decides `x op values` for all x in [min, max] that are not null or NaN. Bounds of another type
/// decide nothing.
template <typename Bound>
Matches match_range(const RowCondition& condition, const Bound& min, const Bound& max) {
  const auto& values = condition.values;
  // All x are below the value if the result is < 0.
  const auto below = [&](const FilterValue& value) { return order_of(max, value); };
  const auto above = [&](const FilterValue& value) { return order_of(min, value); };
  const auto decided = [](bool all, bool none) { return all ? Matches::kAll : none ? Matches::kNone : Matches::kSome; };
  switch (condition.op) {
    case CompareOp::kLess: return decided(below(values[0]) < 0, above(values[0]) >= 0);
    case CompareOp::kLessEqual: return decided(below(values[0]) <= 0, above(values[0]) > 0);
    case CompareOp::kGreater: return decided(above(values[0]) > 0, below(values[0]) <= 0);
    case CompareOp::kGreaterEqual: return decided(above(values[0]) >= 0, below(values[0]) < 0);
    default: break;
  }
  const bool outside =
      std::ranges::all_of(values, [&](const FilterValue& value) { return below(value) < 0 || above(value) > 0; });
  // If both bounds equal one value, all rows have it.
  const bool inside =
      std::ranges::any_of(values, [&](const FilterValue& value) { return below(value) == 0 && above(value) == 0; });
  return is_negated(condition.op) ? decided(outside, inside) : decided(inside, outside);
}

template <typename T>
void match_numbers(const RowCondition& condition, const ColumnValues& column, std::span<uint8_t> matches) {
  const uint8_t* cells = column.values.data();
  const auto each = [&](auto test) {
    for (size_t i = 0; i < matches.size(); ++i) {
      T cell;
      std::memcpy(&cell, cells + i * sizeof(T), sizeof(T));
      matches[i] &= static_cast<uint8_t>(test(cell));
    }
  };
  if (is_list_op(condition.op)) return each([&](T cell) { return match(condition, cell); });
  std::visit(
      [&](const auto& value) {
        each([&, op = condition.op](T cell) {
          return is_satisfied(compare_exact(comparable(cell), comparable(value)), op);
        });
      },
      condition.values.front());
}

void match_halves(const RowCondition& condition, const ColumnValues& column, std::span<uint8_t> matches) {
  for (size_t i = 0; i < matches.size(); ++i) {
    uint16_t half;
    std::memcpy(&half, column.values.data() + i * sizeof half, sizeof half);
    matches[i] &= static_cast<uint8_t>(match(condition, static_cast<double>(half_to_float(half))));
  }
}

void match_texts(const RowCondition& condition, const ColumnValues& column, std::span<uint8_t> matches) {
  const int64_t* offsets = column.offset();
  const char* texts = reinterpret_cast<const char*>(column.values.data());
  for (size_t i = 0; i < matches.size(); ++i) {
    const std::string_view text(texts + offsets[i], static_cast<size_t>(offsets[i + 1] - offsets[i]));
    matches[i] &= static_cast<uint8_t>(match(condition, text));
  }
}

void match_column(const RowCondition& condition, const Field& field, const ColumnValues& column,
                  std::span<uint8_t> matches) {
  if (field.kind != FieldKind::kTensor) return match_texts(condition, column, matches);
  switch (field.dtype) {
    case DType::kBool: return match_numbers<uint8_t>(condition, column, matches);
    case DType::kUint8: return match_numbers<uint8_t>(condition, column, matches);
    case DType::kInt8: return match_numbers<int8_t>(condition, column, matches);
    case DType::kUint16: return match_numbers<uint16_t>(condition, column, matches);
    case DType::kInt16: return match_numbers<int16_t>(condition, column, matches);
    case DType::kUint32: return match_numbers<uint32_t>(condition, column, matches);
    case DType::kInt32: return match_numbers<int32_t>(condition, column, matches);
    case DType::kUint64: return match_numbers<uint64_t>(condition, column, matches);
    case DType::kInt64: return match_numbers<int64_t>(condition, column, matches);
    case DType::kFloat16: return match_halves(condition, column, matches);
    case DType::kBfloat16: return;  // not a type of table columns
    case DType::kFloat32: return match_numbers<float>(condition, column, matches);
    case DType::kFloat64: return match_numbers<double>(condition, column, matches);
  }
}

}  // namespace

std::optional<CompareOp> compare_op(std::string_view text) {
  const auto at = std::ranges::find(kOps, text, [](const auto& op) { return op.first; });
  return at == kOps.end() ? std::nullopt : std::optional(at->second);
}

std::string_view op_name(CompareOp op) {
  return std::ranges::find(kOps, op, [](const auto& each) { return each.second; })->first;
}

Status prepare(RowCondition& condition, const Field& field, std::optional<int64_t> ticks_per_day) {
  if (field.kind == FieldKind::kAny || field.string_list() ||
      (field.kind == FieldKind::kTensor && field.shape.rank() > 0)) {
    return invalid_argument(
        fmt::format("filter: the column {} holds several values a row; a condition compares one", field.to_string()));
  }
  if (field.kind == FieldKind::kTensor && field.dtype == DType::kBool && !is_equality(condition.op)) {
    return invalid_argument(
        fmt::format("filter: the column {} is true or false, and '{}' means nothing there; use "
                    "== or !=",
                    field.to_string(), op_name(condition.op)));
  }
  for (FilterValue& value : condition.values)
    FOREBAY_RETURN_IF_ERROR(prepare_value(condition, field, ticks_per_day, value));
  // A total order, because NaN was refused and all values are of one kind or numbers.
  std::ranges::sort(condition.values, sorts_before);
  return {};
}

Matches match_bounds(const RowCondition& condition, const Field& field, const FieldBounds& bounds, int64_t rows) {
  if (rows == 0 || bounds.nulls == rows) return Matches::kNone;
  Matches matches = Matches::kSome;
  if (condition.values.empty()) {
    matches = condition.op == CompareOp::kIn ? Matches::kNone : Matches::kAll;
  } else {
    matches = std::visit(
        [&](const auto& min) {
          using Bound = std::decay_t<decltype(min)>;
          const auto* max = std::get_if<Bound>(&bounds.max);
          if constexpr (std::is_same_v<Bound, std::monostate>)
            return Matches::kSome;
          else
            return max == nullptr ? Matches::kSome : match_range(condition, min, *max);
        },
        bounds.min);
  }
  // Statistics ignore NaN, for which only negated comparisons hold.
  const bool surprise = is_float(field) && matches == (is_negated(condition.op) ? Matches::kNone : Matches::kAll);
  if (surprise && !condition.values.empty()) return Matches::kSome;
  return matches == Matches::kAll && bounds.nulls != 0 ? Matches::kSome : matches;
}

void match_rows(const RowCondition& condition, const Field& field, const ColumnValues& column,
                std::span<const uint8_t> valid, std::span<uint8_t> matches) {
  match_column(condition, field, column, matches);
  for (size_t i = 0; i < valid.size() && i < matches.size(); ++i) matches[i] &= static_cast<uint8_t>(valid[i] != 0);
}

bool match_value(const RowCondition& condition, int64_t value) { return match(condition, value); }
bool match_value(const RowCondition& condition, std::string_view value) { return match(condition, value); }

}  // namespace forebay
