#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "ops/column/column.h"
#include "ops/column/number.h"
#include "ops/definition/registry.h"

namespace forebay {
namespace {

// A NaN is neither below nor above, and stays unchanged.
template <typename T>
void clip(const Elements& in, T low, T high, uint8_t* out) {
  map_elements<T, T>(in.data, out, in.count, [=](T x) {
    const T raised = x < low ? low : x;
    return high < raised ? high : raised;
  });
}

template <typename T>
void clip_small(const Elements& in, T low, T high, uint8_t* out) {
  map_elements<T, T>(in.data, out, in.count, [=](T value) {
    const float x = widen(value);
    return x < widen(low) ? low : widen(high) < x ? high : value;
  });
}

template <typename T>
T end_of(bool upper) {
  if constexpr (std::is_same_v<T, Half>) {
    return Half{static_cast<uint16_t>(upper ? 0x7c00 : 0xfc00)};
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return Bfloat16{static_cast<uint16_t>(upper ? 0x7f80 : 0xff80)};
  } else if constexpr (std::is_floating_point_v<T>) {
    return upper ? std::numeric_limits<T>::infinity() : -std::numeric_limits<T>::infinity();
  } else {
    return upper ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
  }
}

// A bound that is not given, or is beyond all values of the type, has no effect. Empty if the type
// cannot represent the bound.
template <typename T>
std::optional<T> bound_of(const Json& bound, bool upper) {
  if (bound.is_null()) return end_of<T>(upper);
  if (const auto exact = element_of<T>(bound)) return exact;
  if constexpr (std::is_integral_v<T>) {
    const double value = bound.get<double>();
    const auto end = static_cast<double>(end_of<T>(upper));
    if (upper ? value >= end : value <= end) return end_of<T>(upper);
  }
  return std::nullopt;
}

// The problem of a bound for such a field, and its remedy.
std::optional<std::pair<std::string, std::string>> bound_problem(const char* name, const Json& bound,
                                                                 const Field& field) {
  const bool fits = bound.is_null() || with_element(field.dtype, [&](auto type) {
                      return bound_of<decltype(type)>(bound, name == std::string_view("max")).has_value();
                    });
  if (fits) return std::nullopt;
  return std::pair(
      fmt::format("{} is {}, and the field '{}' is {}", name, json_text(bound), field.name, dtype_name(field.dtype)),
      fmt::format("give a number that it can hold, or put .cast(\"float32\", field=\"{}\") before .clip", field.name));
}

class Clip final : public ElementwiseOp {
 public:
  Clip(std::vector<std::string> fields, Json min, Json max)
      : ElementwiseOp(std::move(fields), ColumnNeed::kNumbers), min_(std::move(min)), max_(std::move(max)) {}

 private:
  std::optional<DType> output_dtype(const Field& field) const override { return field.dtype; }
  Status check_field(const Field& field) const override {
    for (const auto& [name, bound] : {std::pair("min", &min_), std::pair("max", &max_)}) {
      if (const auto wrong = bound_problem(name, *bound, field))
        return invalid_argument(fmt::format("{}; {}", wrong->first, wrong->second));
    }
    return {};
  }
  void make(size_t, const Columns& columns, size_t field, uint8_t* out) const override {
    with_element(columns.schema[field].dtype, [&](auto type) {
      using T = decltype(type);
      if constexpr (!std::is_same_v<T, bool>) {
        const T low = bound_of<T>(min_, false).value_or(end_of<T>(false));
        const T high = bound_of<T>(max_, true).value_or(end_of<T>(true));
        if constexpr (kIsSmallFloat<T>) {
          clip_small(elements(columns, field), low, high, out);
        } else {
          clip<T>(elements(columns, field), low, high, out);
        }
      }
    });
  }

  Json min_, max_;
};

void check_bound(const Args& args, const char* name, const Field& field, Problems& problems) {
  if (field.kind != FieldKind::kTensor || !args.has(name)) return;
  if (const auto wrong = bound_problem(name, args.json(name), field)) problems.add(wrong->first, wrong->second);
}

void infer_clip(const Args& args, Schema& schema, Problems& problems) {
  for (const char* name : {"min", "max"}) {
    if (args.has(name) && std::isnan(args.number(name)))
      return problems.add(fmt::format("{} is NaN", name), "give a number");
  }
  if (!args.has("min") && !args.has("max")) problems.add("neither min nor max is given", "give one of them, or both");
  if (args.has("min") && args.has("max") && args.number("min") > args.number("max")) {
    problems.add(fmt::format("min is {} and max is {}", json_text(args.json("min")), json_text(args.json("max"))),
                 "give a min that is not above max");
  }
  for (const size_t index : check_columns(args.names("field"), ColumnNeed::kNumbers, "clip", schema, problems)) {
    check_bound(args, "min", schema[index], problems);
    check_bound(args, "max", schema[index], problems);
  }
}

Result<std::unique_ptr<ColumnOp>> compile_clip(const Args& args, const Schema&) {
  return std::unique_ptr<ColumnOp>(std::make_unique<Clip>(args.names("field"), args.json("min"), args.json("max")));
}

}  // namespace

OpDef clip_op() {
  return make_op(
      {.name = "clip",
       .group = OpGroup::kColumn,
       .help = R"(Numbers below `min` become `min`, those above `max` become `max`. Shape and type stay; NaN stays NaN.

`check()` tells of limits that a column's type cannot hold, of min above max, and of columns that hold no numbers.)",
       .args = {{"min", ArgType::kLimit, false, nullptr, "the smallest number that comes out; no limit if not given"},
                {"max", ArgType::kLimit, false, nullptr,
                 "the largest; no limit if not given. A column of integers takes whole numbers; a limit beyond its "
                 "type does not limit."},
                column_arg("a column of numbers or a list of columns; lists and tensors go element by element",
                           ArgForm::kNamed)},
       .infer = infer_clip,
       .compile_columns = compile_clip,
       .each = true,
       .sizes = SizeEffect::kSame});
}

}  // namespace forebay
