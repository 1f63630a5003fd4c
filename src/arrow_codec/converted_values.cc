#include "arrow_codec/converted_values.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include <arrow/array.h>
#include <arrow/util/bit_util.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "arrow_codec/recycling_pool.h"
#include "arrow_codec/table_plan.h"
#include "base/convert.h"

namespace forebay {

namespace {

using arrow::Type;

/// IEEE 754 half precision, for which C++ has no type.
struct Half {
  uint16_t bits;
};

template <typename T>
T loaded_as(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename To>
constexpr int kDigits = std::numeric_limits<To>::digits;
template <>
constexpr int kDigits<Half> = 11;

/// True if a float with this many binary digits represents the integer exactly.
template <std::integral T>
bool float_holds(T value, int digits) {
  const auto wide = static_cast<uint64_t>(value);
  const uint64_t size = std::is_signed_v<T> && value < 0 ? 0 - wide : wide;
  return size == 0 || 64 - std::countl_zero(size) - std::countr_zero(size) <= digits;
}

/// Returns false if `to` cannot hold the value exactly. A float made from a float is the nearest
/// one, if it is finite.
template <typename To, typename From>
bool convert(From value, To& to) {
  if constexpr (std::is_same_v<From, Half>) {
    return convert(half_to_float(value.bits), to);
  } else if constexpr (std::is_same_v<To, bool>) {
    to = value != 0;
    return value == 0 || value == 1;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    to = static_cast<To>(value);
    if constexpr (std::is_same_v<From, bool>)
      return true;
    else
      return std::in_range<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits), real = value;
    const double least = std::is_signed_v<To> ? -end : 0.0;
    // Written so that NaN never fits.
    const bool fits = real >= least && real < end && real == std::trunc(real);
    to = fits ? static_cast<To>(real) : To{};
    return fits;
  } else {
    float single = static_cast<float>(value);
    if constexpr (std::is_same_v<To, Half>) {
      to.bits = float_to_half(single);
      single = half_to_float(to.bits);
    } else {
      to = static_cast<To>(value);
    }
    if constexpr (std::is_integral_v<From>) {
      return std::is_same_v<From, bool> ||
             (float_holds(static_cast<int64_t>(value), kDigits<To>) && std::isfinite(single));
    } else {
      return std::is_same_v<To, double> || !std::isfinite(value) || std::isfinite(single);
    }
  }
}

// A cast to int64 changes only numbers beyond int64.
template <typename To>
bool convert(uint64_t value, To& to)
  requires(std::is_floating_point_v<To> || std::is_same_v<To, Half>)
{
  if (std::in_range<int64_t>(value)) return convert(static_cast<int64_t>(value), to);
  if constexpr (std::is_same_v<To, Half>) {
    to.bits = float_to_half(std::numeric_limits<float>::infinity());
    return false;
  } else {
    to = static_cast<To>(value);
    return float_holds(value, kDigits<To>);
  }
}

template <typename T>
bool parse(std::string_view text, T& to) {
  if constexpr (std::is_same_v<T, bool>) {
    to = text == "1" || text == "true" || text == "True";
    return to || text == "0" || text == "false" || text == "False";
  } else if constexpr (std::is_same_v<T, Half>) {
    float value = 0;
    return parse(text, value) && convert(value, to);
  } else {
    to = T{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc() && end == text.data() + text.size();
  }
}

/// All digits, without an exponent.
template <typename Decimal>
std::string plain_text(const Decimal& value, int32_t scale) {
  std::string digits = value.ToIntegerString();
  const bool negative = digits.starts_with('-');
  if (negative) digits.erase(0, 1);
  if (scale < 0 && digits != "0") digits.append(static_cast<size_t>(-scale), '0');
  if (scale > 0) {
    const auto fraction = static_cast<size_t>(scale);
    if (digits.size() <= fraction) digits.insert(0, fraction + 1 - digits.size(), '0');
    digits.insert(digits.size() - fraction, 1, '.');
  }
  return negative ? "-" + digits : digits;
}

/// True if no other decimal of that scale has the same nearest float.
bool is_unambiguous(double nearest, std::string_view text, int32_t scale) {
  return fmt::format("{:.{}f}", nearest, std::max(scale, 0)) == text;
}

template <typename Decimal>
bool nearest(const Decimal& value, int32_t scale, bool round, double& to) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  // A float64 preserves 15 digits, and powers of ten up to 10^22 are exact, so a single division
  // rounds only once.
  constexpr int64_t kExactLimit = 1'000'000'000'000'000;
  bool small = false;
  if constexpr (sizeof(Decimal) == 4)
    small = true;
  else
    small = value > Decimal(-kExactLimit) && value < Decimal(kExactLimit);
  if (scale >= 0 && scale <= 22 && small) {
    to = value.ToDouble(0) / powers[scale];
    return true;
  }
  const std::string text = plain_text(value, scale);
  if (!parse(std::string_view(text), to)) return false;
  return round || small || is_unambiguous(to, text, scale);
}

template <typename Decimal, typename To>
bool convert_decimal(const Decimal& value, int32_t scale, bool round, To& to) {
  if constexpr (std::is_same_v<To, bool>) {
    return false;
  } else if constexpr (std::is_integral_v<To>) {
    std::string text = plain_text(value, scale);
    if (const size_t point = text.find('.'); point != std::string::npos) {
      if (text.find_first_not_of('0', point + 1) != std::string::npos) return false;
      text.resize(point);
    }
    if (text == "-0") text = "0";
    return parse(std::string_view(text), to);
  } else {
    double real = 0;
    const bool fits = nearest(value, scale, round, real);
    if constexpr (std::is_same_v<To, double>) {
      to = real;
      return fits;
    } else {
      return convert(real, to) && fits;
    }
  }
}

/// Calls `visit(get)`, where `get` maps an index to a value of the array's C++ type.
template <typename Visit>
Result<LeafValues> with_numbers(const arrow::Array& array, Visit visit) {
  const arrow::ArrayData& data = *array.data();
  const uint8_t* from = data.buffers[1]->data();
  const auto values = [&]<typename T>(T) {
    return visit([from, &data](int64_t index) {
      return loaded_as<T>(from + static_cast<size_t>(data.offset + index) * sizeof(T));
    });
  };
  switch (array.type_id()) {
    case Type::BOOL:
      return visit([from, &data](int64_t index) { return arrow::bit_util::GetBit(from, data.offset + index); });
    case Type::UINT8: return values(uint8_t{});
    case Type::INT8: return values(int8_t{});
    case Type::UINT16: return values(uint16_t{});
    case Type::INT16: return values(int16_t{});
    case Type::UINT32: return values(uint32_t{});
    case Type::DATE32:
    case Type::TIME32:
    case Type::INT32: return values(int32_t{});
    case Type::UINT64: return values(uint64_t{});
    case Type::DATE64:
    case Type::TIME64:
    case Type::TIMESTAMP:
    case Type::DURATION:
    case Type::INT64: return values(int64_t{});
    case Type::HALF_FLOAT: return values(Half{});
    case Type::FLOAT: return values(float{});
    case Type::DOUBLE: return values(double{});
    default: return unsupported(fmt::format("values of type {} are not converted", array.type()->ToString()));
  }
}

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
  /// Calls `put(place, value)` for each element of the segments; it returns false if the value is
  /// lost.
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
  return with_numbers(array, [&](auto get) -> Result<LeafValues> {
    FOREBAY_ASSIGN(Converted<To> out, Converted<To>::of(count));
    return std::move(out).fill(segments, [&](int64_t index, To& to) { return convert(get(index), to); });
  });
}

template <typename To, typename Decimal>
Result<LeafValues> decimals(const arrow::Array& array, std::span<const Segment> segments, int64_t count, bool round) {
  const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  const int32_t scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
  FOREBAY_ASSIGN(Converted<To> out, Converted<To>::of(count));
  return std::move(out).fill(segments, [&](int64_t index, To& to) {
    // A null element may hold a number that does not fit.
    return array.IsNull(index) || convert_decimal(Decimal(fixed.GetValue(index)), scale, round, to);
  });
}

template <typename To>
Result<LeafValues> parsed(const arrow::Array& array, std::span<const Segment> segments, int64_t count) {
  FOREBAY_ASSIGN(const StringViews views, StringViews::of(array));
  FOREBAY_ASSIGN(Converted<To> out, Converted<To>::of(count));
  return std::move(out).fill(segments, [&](int64_t index, To& to) {
    const std::span<const uint8_t> bytes = views[index];
    return parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()), to);
  });
}

template <typename To>
Result<LeafValues> as_type(const arrow::Array& array, std::span<const Segment> segments, int64_t count, bool round) {
  switch (array.type_id()) {
    case Type::DECIMAL32: return decimals<To, arrow::Decimal32>(array, segments, count, round);
    case Type::DECIMAL64: return decimals<To, arrow::Decimal64>(array, segments, count, round);
    case Type::DECIMAL128: return decimals<To, arrow::Decimal128>(array, segments, count, round);
    case Type::DECIMAL256: return decimals<To, arrow::Decimal256>(array, segments, count, round);
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
  return with_numbers(array, [&](auto get) -> Result<LeafValues> {
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
                                    const ColumnType& to, bool round) {
  if (to.time) {
    FOREBAY_ASSIGN(const ColumnType own, leaf_type(*array.type()));
    if (!own.time) return internal_error("a column that holds no times is read as one");
    return times(array, segments, count, *own.time, *to.time);
  }
  switch (to.dtype) {
    case DType::kBool: return as_type<bool>(array, segments, count, round);
    case DType::kUint8: return as_type<uint8_t>(array, segments, count, round);
    case DType::kInt8: return as_type<int8_t>(array, segments, count, round);
    case DType::kUint16: return as_type<uint16_t>(array, segments, count, round);
    case DType::kInt16: return as_type<int16_t>(array, segments, count, round);
    case DType::kUint32: return as_type<uint32_t>(array, segments, count, round);
    case DType::kInt32: return as_type<int32_t>(array, segments, count, round);
    case DType::kUint64: return as_type<uint64_t>(array, segments, count, round);
    case DType::kInt64: return as_type<int64_t>(array, segments, count, round);
    case DType::kFloat16: return as_type<Half>(array, segments, count, round);
    case DType::kFloat32: return as_type<float>(array, segments, count, round);
    case DType::kFloat64: return as_type<double>(array, segments, count, round);
    default: return unsupported(fmt::format("tables are not read as {}", dtype_name(to.dtype)));
  }
}

namespace {

void append_value(bool value, std::string& out) { out += value ? "true" : "false"; }
void append_value(Half value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", half_to_float(value.bits));
}
template <typename T>
void append_value(T value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

template <typename Decimal>
void append_decimal(const arrow::Array& array, int64_t index, std::string& out) {
  const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  out += plain_text(Decimal(fixed.GetValue(index)), static_cast<const arrow::DecimalType&>(*array.type()).scale());
}

}  // namespace

void append_text(const arrow::Array& array, int64_t index, std::string& out) {
  switch (array.type_id()) {
    case Type::DECIMAL32: return append_decimal<arrow::Decimal32>(array, index, out);
    case Type::DECIMAL64: return append_decimal<arrow::Decimal64>(array, index, out);
    case Type::DECIMAL128: return append_decimal<arrow::Decimal128>(array, index, out);
    case Type::DECIMAL256: return append_decimal<arrow::Decimal256>(array, index, out);
    default: break;
  }
  (void)with_numbers(array, [&](auto get) -> Result<LeafValues> {
    append_value(get(index), out);
    return LeafValues{};
  });
}

void join_int96(std::span<const int64_t> seconds, std::span<const int64_t> nanoseconds, int64_t ticks, int64_t* out,
                uint8_t* exact) {
  constexpr int64_t kBillion = 1'000'000'000;
  for (size_t i = 0; i < seconds.size(); ++i) {
    // The overflowed nanoseconds give the fraction of a second, because both readings overflow
    // alike.
    const uint64_t part =
        static_cast<uint64_t>(nanoseconds[i]) - static_cast<uint64_t>(seconds[i]) * uint64_t{kBillion};
    const auto unit = static_cast<uint64_t>(kBillion / ticks);
    // Before 1970 it counts backwards from the next second, because the product alone may not fit
    // although the sum does.
    const bool before = seconds[i] < 0;
    const int64_t rest = static_cast<int64_t>(part / unit) - (before ? ticks : 0);
    int64_t whole = 0;
    const bool fits = part < uint64_t{kBillion} && part % unit == 0 &&
                      !__builtin_mul_overflow(seconds[i] + (before ? 1 : 0), ticks, &whole) &&
                      !__builtin_add_overflow(whole, rest, &whole);
    out[i] = whole;
    exact[i] = fits ? 1 : 0;
  }
}

}  // namespace forebay
