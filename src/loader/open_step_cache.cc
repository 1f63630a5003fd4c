#include "loader/open_step_cache.h"

#include "base/byte_size.h"
#include "loader/cache_place.h"

namespace forebay {

namespace {

// check() has found sizes that are none.
uint64_t bytes_of(const OpSpec& op, const char* name, const char* otherwise) {
  const Json value = op.args.value(name, Json());
  if (value.is_number_unsigned() || value.is_number_integer()) return value.get<uint64_t>();
  return parse_byte_size(value.is_string() ? value.get<std::string>() : otherwise).value_or(0);
}

std::string text_of(const OpSpec& op, const char* name) {
  const Json value = op.args.value(name, Json());
  return value.is_string() ? value.get<std::string>() : "";
}

}  // namespace

Result<std::shared_ptr<TieredCache>> open_step_cache(const Description& description, size_t step, const Hash128& place,
                                                     uint64_t least_bytes) {
  const OpSpec& op = description.steps()[step];
  const Compression compression = compression_from_name(text_of(op, "compression")).value_or(Compression::kNone);
  return open_cache({.ram_bytes = bytes_of(op, "ram", "2GiB"),
                     .disk_bytes = bytes_of(op, "disk", "50GiB"),
                     .dir = text_of(op, "dir"),
                     .place = place,
                     .description = place_description(description, step),
                     .compression = compression,
                     .entry_bytes = compression == Compression::kNone ? least_bytes : 0});
}

}  // namespace forebay
