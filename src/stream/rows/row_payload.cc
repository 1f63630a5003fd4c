#include "stream/rows/row_payload.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kWord = sizeof(uint64_t);

// Returns a multiple of 8, so that views of any dtype are aligned if the payload is.
size_t padded(size_t bytes) { return (bytes + kWord - 1) / kWord * kWord; }

uint64_t word_at(const Buffer& bytes, size_t at) {
  uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, kWord);
  return word;
}

// Values must be aligned for computing; records that were read from disk may begin at any byte.
Buffer aligned_payload(const Buffer& payload) {
  if (reinterpret_cast<uintptr_t>(payload.data()) % kWord == 0) return payload;
  Buffer copy = Buffer::allocate(payload.size());
  std::memcpy(copy.data(), payload.data(), payload.size());
  return copy;
}

Status error_in(const Buffer& payload, const std::string& key) {
  const uint64_t code = word_at(payload, 0);
  if (code > static_cast<uint64_t>(Code::kInternal)) return corrupt("a row that nobody wrote").with_key(key);
  std::string message(reinterpret_cast<const char*>(payload.data()) + kWord, payload.size() - kWord);
  return Status(static_cast<Code>(code), std::move(message)).with_key(key);
}

}  // namespace

RowPayload::RowPayload(Schema schema) : schema_(std::move(schema)), fixed_bytes_(kWord) {
  for (const Field& field : schema_) {
    FieldLayout place;
    place.varies = !field.fixed_shape();
    if (place.varies) place.each = item_bytes(field);
    if (!place.varies) place.fixed = row_bytes(field);
    fixed_bytes_ += place.varies ? kWord : padded(place.fixed);
    layouts_.push_back(place);
  }
}

size_t RowPayload::bytes(const Columns& columns, int64_t row) const {
  size_t bytes = fixed_bytes_;
  for (size_t i = 0; i < layouts_.size(); ++i) {
    if (!layouts_[i].varies) continue;
    const int64_t* const offset = columns.values[i].offset() + row;
    bytes += padded(static_cast<size_t>(offset[1] - offset[0]) * layouts_[i].each);
  }
  return bytes;
}

void RowPayload::write(const Columns& columns, int64_t row, uint8_t* out) const {
  std::memset(out, 0, kWord);
  out += kWord;
  for (size_t i = 0; i < layouts_.size(); ++i) {
    const FieldLayout& place = layouts_[i];
    const ColumnValues& column = columns.values[i];
    uint64_t size = place.fixed;
    size_t begin = static_cast<size_t>(row) * place.fixed;
    if (place.varies) {
      const int64_t* const offset = column.offset() + row;
      begin = static_cast<size_t>(offset[0]) * place.each;
      size = static_cast<uint64_t>(offset[1] - offset[0]) * place.each;
      std::memcpy(out, &size, kWord);
      out += kWord;
    }
    if (size > 0) std::memcpy(out, column.values.data() + begin, size);
    // Padding is cleared, so that equal rows are equal bytes and old memory is not sent to others.
    std::memset(out + size, 0, padded(size) - size);
    out += padded(size);
  }
}

Buffer RowPayload::of_error(const Status& status) {
  const auto code = static_cast<uint64_t>(status.code());
  Buffer payload = Buffer::allocate(kWord + status.message().size());
  std::memcpy(payload.data(), &code, kWord);
  std::memcpy(payload.data() + kWord, status.message().data(), status.message().size());
  return payload;
}

Status RowPayload::read(const Buffer& given, const std::string& key, Record& out) const {
  const auto cut_off = [&] { return corrupt("a row ends too early").with_key(key); };
  if (given.size() < kWord) return cut_off();
  if (word_at(given, 0) != 0) return error_in(given, key);
  const Buffer payload = aligned_payload(given);
  out.clear();
  size_t at = kWord;
  for (size_t i = 0; i < layouts_.size(); ++i) {
    uint64_t size = layouts_[i].fixed;
    if (layouts_[i].varies) {
      if (payload.size() - at < kWord) return cut_off();
      size = word_at(payload, at);
      at += kWord;
    }
    // A damaged size may be any number, also one for which padded() overflows.
    if (size > payload.size() - at || padded(size) > payload.size() - at || size % layouts_[i].each != 0)
      return cut_off();
    out.push_back(value_of_row(schema_[i], payload.slice(at, size)));
    at += padded(size);
  }
  return at == payload.size() ? Status() : corrupt("a row has more than its fields").with_key(key);
}

}  // namespace forebay
