#include "arrow_codec/converted_values.h"

#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include <arrow/array.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "arrow_codec/array_numbers.h"
#include "arrow_codec/convert_number.h"
#include "arrow_codec/decimal_values.h"
#include "arrow_codec/recycling_pool.h"
#include "arrow_codec/table_plan.h"

namespace forebay {

namespace {

using arrow::Type;

/// The output of values of type T, and the mask of exact ones.
template <typename T>
class Converted {
 public:
  static Result<Converted> of(int64_t count) {
    Converted out;
    FOREBAY_ASSIGN(out.values_, take_memory(static_cast<size_t>(count) * sizeof(T)));
    FOREBAY_ASSIGN(out.exact_, take_memory(static_cast<size_t>(count)));
    return out;
  }
  /// Calls `put(place, value)` for each element of the segments; `put` returns false if
  /// `value` cannot be held exactly.
  template <typename Put>
  LeafValues fill(std::span<const Segment> segments, Put put) && {
    auto* to = reinterpret_cast<T*>(values_.data());
    uint8_t* exact = exact_.data();
    bool all = true;
    for (const Segment& segment : segments) {
      for (int64_t index = segment.start; index < segment.start + segment.length; ++index, ++to, ++exact) {
        T value{};
        *exact = put(index, value) ? 1 : 0;
        all = all && *exact != 0;
        std::memcpy(static_cast<void*>(to), &value, sizeof value);
      }
    }
    return {std::move(values_), true, all ? Buffer() : std::move(exact_)};
  }

 private:
  Buffer values_, exact_;
};

template <typename To>
Result<LeafValues> numbers(const arrow::Array& array, std::span<const Segment> segments, int64_t count) {
  return visit_numbers<Result<LeafValues>>(array, [&](auto get) -> Result<LeafValues> {
    FOREBAY_ASSIGN(Converted<To> out, Converted<To>::of(count));
    return std::move(out).fill(segments, [&](int64_t index, To& to) { return convert_number(get(index), to); });
  });
}

template <typename To, typename Decimal>
Result<LeafValues> decimals(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                            FloatRounding rounding) {
  const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  const int32_t scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  FOREBAY_ASSIGN(Converted<To> out, Converted<To>::of(count));
  return std::move(out).fill(segments, [&](int64_t index, To& to) {
    // A null element may hold a number that does not fit.
    return array.IsNull(index) || convert_decimal(Decimal(fixed.GetValue(index)), scale, rounding, to);
  });
}

template <typename To>
Result<LeafValues> parsed(const arrow::Array& array, std::span<const Segment> segments, int64_t count) {
  FOREBAY_ASSIGN(const StringViews views, StringViews::of(array));
  FOREBAY_ASSIGN(Converted<To> out, Converted<To>::of(count));
  return std::move(out).fill(segments, [&](int64_t index, To& to) {
    const std::span<const uint8_t> bytes = views[index];
    return parse_number(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), to);
  });
}

template <typename To>
Result<LeafValues> as_type(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                           FloatRounding rounding) {
  switch (array.type_id()) {
    case Type::DECIMAL32: return decimals<To, arrow::Decimal32>(array, segments, count, rounding);
    case Type::DECIMAL64: return decimals<To, arrow::Decimal64>(array, segments, count, rounding);
    case Type::DECIMAL128: return decimals<To, arrow::Decimal128>(array, segments, count, rounding);
    case Type::DECIMAL256: return decimals<To, arrow::Decimal256>(array, segments, count, rounding);
    case Type::STRING:
    case Type::LARGE_STRING:
    case Type::STRING_VIEW: return parsed<To>(array, segments, count);
    default: return numbers<To>(array, segments, count);
  }
}

/// Converts ticks of one unit to ticks of another.
Result<LeafValues> times(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                         const TimeType& from, const TimeType& to) {
  const bool finer = to.ticks_per_day >= from.ticks_per_day;
  const int64_t factor = finer ? to.ticks_per_day / from.ticks_per_day : from.ticks_per_day / to.ticks_per_day;
  return visit_numbers<Result<LeafValues>>(array, [&](auto get) -> Result<LeafValues> {
    if constexpr (!std::is_integral_v<decltype(get(0))>) {
      return internal_error("times are no integers");
    } else {
      FOREBAY_ASSIGN(Converted<int64_t> out, Converted<int64_t>::of(count));
      return std::move(out).fill(segments, [&](int64_t index, int64_t& ticks) {
        const auto value = static_cast<int64_t>(get(index));
        if (finer) return !__builtin_mul_overflow(value, factor, &ticks);
        ticks = value / factor;
        return value % factor == 0;
      });
    }
  });
}

}  // namespace

Result<LeafValues> converted_values(const arrow::Array& array, std::span<const Segment> segments, int64_t count,
                                    const ColumnType& to, FloatRounding rounding) {
  if (to.time) {
    FOREBAY_ASSIGN(const ColumnType own, leaf_type(*array.type()));
    if (!own.time) return internal_error("a column that holds no times is read as one");
    return times(array, segments, count, *own.time, *to.time);
  }
  switch (to.dtype) {
    case DType::kBool: return as_type<bool>(array, segments, count, rounding);
    case DType::kUint8: return as_type<uint8_t>(array, segments, count, rounding);
    case DType::kInt8: return as_type<int8_t>(array, segments, count, rounding);
    case DType::kUint16: return as_type<uint16_t>(array, segments, count, rounding);
    case DType::kInt16: return as_type<int16_t>(array, segments, count, rounding);
    case DType::kUint32: return as_type<uint32_t>(array, segments, count, rounding);
    case DType::kInt32: return as_type<int32_t>(array, segments, count, rounding);
    case DType::kUint64: return as_type<uint64_t>(array, segments, count, rounding);
    case DType::kInt64: return as_type<int64_t>(array, segments, count, rounding);
    case DType::kFloat16: return as_type<Float16>(array, segments, count, rounding);
    case DType::kFloat32: return as_type<float>(array, segments, count, rounding);
    case DType::kFloat64: return as_type<double>(array, segments, count, rounding);
    default: return unsupported(fmt::format("tables are not read as {}", dtype_name(to.dtype)));
  }
}

}  // namespace forebay
