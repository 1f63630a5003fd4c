#include "stream/named_values.h"

#include <cstring>

#include <fmt/format.h>

#include "base/utf8.h"
#include "stream/numbers.h"

namespace forebay {

namespace {

std::string_view text_of_run(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Bytes for a message: printable and short.
std::string shown(std::span<const uint8_t> bytes) {
  constexpr size_t kMost = 40;
  const std::string_view text = text_of_run(bytes.first(std::min(bytes.size(), kMost)));
  for (const char c : text) {
    if (c < 0x20 || c > 0x7e) return fmt::format("{} bytes that are no text", bytes.size());
  }
  return fmt::format("'{}{}'", text, bytes.size() > kMost ? "…" : "");
}

Buffer part_of(const Buffer& owner, std::span<const uint8_t> bytes) {
  // An empty run may have no address to compute an offset from.
  if (bytes.empty()) return {};
  return owner.slice(static_cast<size_t>(bytes.data() - owner.data()), bytes.size());
}

/// The shape of a value of that many bytes, with its unknown first dimension filled in. Nothing if
/// the bytes do not fit.
std::optional<Shape> shape_of_bytes(const Field& field, size_t size) {
  Shape shape = field.shape;
  const bool open = shape[0] == Shape::kUnknown;
  // `each` becomes the size of one row. It is not 0: RecordFormat refuses dimensions below 1.
  if (open) shape[0] = 1;
  const size_t each = static_cast<size_t>(shape.elements()) * dtype_size(field.dtype);
  if (open) shape[0] = static_cast<int64_t>(size / each);
  if (open ? size % each != 0 : size != each) return std::nullopt;
  return shape;
}

Result<Value> array_of_named(const Field& field, std::span<const uint8_t> bytes) {
  const std::optional<Shape> shape = shape_of_bytes(field, bytes.size());
  if (!shape) {
    return corrupt(fmt::format("'{}' has {} bytes, which are no {} {}", field.name, bytes.size(),
                               dtype_name(field.dtype), field.shape.to_string()));
  }
  if (!elements_are_valid(field.dtype, bytes))
    return corrupt(fmt::format("'{}' has bytes other than 0 and 1, and is bool", field.name));
  Tensor tensor = Tensor::allocate(field.dtype, *shape);
  if (!bytes.empty()) std::memcpy(tensor.buffer.data(), bytes.data(), bytes.size());
  return Value::of(std::move(tensor));
}

}  // namespace

Result<std::vector<NamedValue>> named_values(std::span<const uint8_t> run) {
  std::vector<NamedValue> values;
  std::span<const uint8_t> name;
  bool named = false;
  while (!run.empty()) {
    uint32_t length = 0;
    if (run.size() < kNamedLength) return corrupt("named values that end in a length");
    std::memcpy(&length, run.data(), sizeof length);
    run = run.subspan(kNamedLength);
    if (length > run.size())
      return corrupt(fmt::format("named values that end {} bytes too early", length - run.size()));
    if (named)
      values.emplace_back(text_of_run(name), run.first(length));
    else
      name = run.first(length);
    named = !named;
    run = run.subspan(length);
  }
  if (named) return corrupt("a name without a value behind it");
  return values;
}

const std::span<const uint8_t>* find_named(const std::vector<NamedValue>& values, std::string_view name) {
  // If an entry has a name twice, the last value counts, as in JSON's objects.
  for (auto at = values.rbegin(); at != values.rend(); ++at) {
    if (at->first == name) return &at->second;
  }
  return nullptr;
}

Result<Value> value_of_named(const Field& field, std::span<const uint8_t> bytes, const Buffer& owner) {
  if (field.kind == FieldKind::kBytes) return Value::of_bytes(part_of(owner, bytes));
  if (field.kind == FieldKind::kText) {
    if (const auto at = first_not_utf8(bytes))
      return corrupt(fmt::format("'{}' is no UTF-8 at byte {}; declare it as \"bytes\"", field.name, *at));
    return Value::of_text(part_of(owner, bytes));
  }
  if (field.shape.rank() > 0) return array_of_named(field, bytes);
  Tensor tensor = Tensor::allocate(field.dtype, {});
  if (!number_from_text(field.dtype, text_of_run(bytes), tensor.buffer.data()))
    return corrupt(
        fmt::format("'{}' is {}, which is no {} as text", field.name, shown(bytes), dtype_name(field.dtype)));
  return Value::of(std::move(tensor));
}

}  // namespace forebay
