#include "arrow_codec/element_text.h"

#include <iterator>

#include <arrow/array.h>
#include <arrow/util/decimal.h>
#include <fmt/format.h>

#include "arrow_codec/array_numbers.h"
#include "arrow_codec/decimal_values.h"
#include "base/convert.h"

namespace forebay {

namespace {

void append_value(bool value, std::string& out) { out += value ? "true" : "false"; }
void append_value(Float16 value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", half_to_float(value.bits));
}
template <typename T>
void append_value(T value, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{}", value);
}

template <typename Decimal>
Status append_decimal(const arrow::Array& array, int64_t index, std::string& out) {
  const auto& fixed = static_cast<const arrow::FixedSizeBinaryArray&>(array);
  out += decimal_text(Decimal(fixed.GetValue(index)), static_cast<const arrow::DecimalType&>(*array.type()).scale());
  return {};
}

}  // namespace

Status append_text(const arrow::Array& array, int64_t index, std::string& out) {
  switch (array.type_id()) {
    case arrow::Type::DECIMAL32: return append_decimal<arrow::Decimal32>(array, index, out);
    case arrow::Type::DECIMAL64: return append_decimal<arrow::Decimal64>(array, index, out);
    case arrow::Type::DECIMAL128: return append_decimal<arrow::Decimal128>(array, index, out);
    case arrow::Type::DECIMAL256: return append_decimal<arrow::Decimal256>(array, index, out);
    default: break;
  }
  return visit_numbers<Status>(array, [&](auto get) {
    append_value(get(index), out);
    return Status();
  });
}

}  // namespace forebay
